/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Makes ledgers from records as text, for the tests of the fold. */
#pragma once

#include <check.h>
#include <string.h>

#include "core/decide/past.h"
#include "core/json/parse.h"
#include "core/record/ledger.h"

#define RUN "0123456789abcdef0123456789abcdef"
#define LEDGER_ID "00112233445566aa"

static inline JsonObject *
parse_json(const char *text)
{
	JsonObject *object = NULL;
	g_autoptr(GError) error = NULL;
	bool ok = gbe_json_parse_object(text, strlen(text), "record", &object, &error);

	ck_assert_msg(ok, "%s: %s", text, ok ? "" : error->message);
	return object;
}

static inline void
put(GbeLedger *ledger, const char *text)
{
	g_autoptr(JsonObject) object = parse_json(text);
	g_autoptr(GError) error = NULL;
	bool ok = gbe_ledger_add(ledger, object, &error);

	ck_assert_msg(ok, "%s: %s", text, ok ? "" : error->message);
}

static inline GbeLedger *
ledger_new(void)
{
	GbeLedger *ledger = gbe_ledger_new();

	put(ledger, "{\"sequence\":1,\"kind\":\"ledger\",\"id\":\"" LEDGER_ID "\",\"format\":1}");
	return ledger;
}

/* Deployment 'a' is "os-aaaa....0". Newly allocated. */
static inline char *
deployment_id(char letter)
{
	g_autofree char *checksum = g_strnfill(64, letter);

	return g_strdup_printf("os-%s.0", checksum);
}

/* @more: additional members, or NULL. */
static inline void
take_over(GbeLedger *ledger, guint64 sequence, char letter, const char *more)
{
	g_autofree char *id = deployment_id(letter);
	g_autofree char *text =
	    g_strdup_printf("{\"sequence\":%" G_GUINT64_FORMAT
			    ",\"kind\":\"take-over\",\"deployment\":{\"id\":\"%s\"},"
			    "\"run\":\"" RUN "\"%s%s}",
			    sequence, id, more != NULL ? "," : "", more != NULL ? more : "");

	put(ledger, text);
}

static inline GbeFacts *
fold(const GbeLedger *ledger)
{
	GbeFacts *facts = gbe_facts_new();

	gbe_ledger_fold(ledger, facts);
	return facts;
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* For tests of retention: shows the removed backups as one line of text. */
#pragma once

#include "lib/facts.h"

#include "core/decide/retention.h"

#include <check.h>

/* The names of the removed backups, oldest first, separated by blanks, in short forms: "a3" is A's backup of run 3. */
static inline char *
removed(const GbeFacts *facts)
{
	g_autoptr(GArray) removals = gbe_retention_apply(facts);
	GString *text = g_string_new(NULL);

	for (guint i = 0; i < removals->len; i++) {
		const GbeRemoval *removal = &g_array_index(removals, GbeRemoval, i);
		const GbeManifest *backup = removal->backup;

		ck_assert_ptr_nonnull(removal->reason);
		if (i > 0)
			g_string_append_c(text, ' ');
		if (backup->deployment.id == NULL || backup->origin == GBE_ORIGIN_MANUAL)
			g_string_append(text, backup->name);
		else
			g_string_append_printf(text, "%c%" G_GUINT64_FORMAT,
					       backup->deployment.id[4], backup->sequence);
	}
	return g_string_free(text, false);
}

#define assert_removed(facts, expected)                                                            \
	do {                                                                                       \
		g_autofree char *got_ = removed(facts);                                            \
		ck_assert_str_eq(got_, expected);                                                  \
	} while (0)

/* A is booted in run 50, listed, green and mature. */
static inline GbeFacts *
device(void)
{
	GbeFacts *facts = facts_booted('a', 50);

	(void)facts_list(facts, 'a', 1000);
	(void)facts_owner(facts, 'a', 50, 90);
	(void)facts_record(facts, 'a', 1, 1, GBE_VERDICT_GREEN);
	return facts;
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A ledger of any lines, without their checksums. Each valid record is folded; numbers never decrease. The kept part,
 * read again, is a ledger that keeps the same. */
#include "core/record/ledger.h"
#include "core/decide/past.h"
#include "lib/fuzz-json.h"

static GbeLedger *
read_lines(const char *bytes, gsize size)
{
	GbeLedger *ledger = gbe_ledger_new();
	guint64 number = 0;

	for (gsize i = 0; i < size; number++) {
		const char *newline = memchr(bytes + i, '\n', size - i);
		gsize len = newline != NULL ? (gsize)(newline - bytes) - i : size - i;
		g_autoptr(JsonObject) object = NULL;
		g_autoptr(GError) error = NULL;

		if (!gbe_json_parse_object(bytes + i, len, "line", &object, &error) ||
		    !gbe_ledger_add(ledger, object, &error))
			gbe_ledger_add_hole(ledger, number + 1, error->message);
		i += len + 1;
	}
	return ledger;
}

static void
fold(const GbeLedger *ledger, GbeFacts *facts)
{
	gbe_ledger_fold(ledger, facts);
	if (facts->next_sequence <= ledger->last && ledger->last < GBE_LEDGER_SEQUENCE_MAX)
		fuzz_fail("a number is given out twice");
	if (facts->runs->len != facts->take_overs->len)
		fuzz_fail("a take-over without a run");
	if (ledger->holes && !facts->holes)
		fuzz_fail("a hole is forgotten");
}

int
LLVMFuzzerTestOneInput(const guint8 *bytes, gsize size)
{
	g_autoptr(GbeLedger) ledger = read_lines((const char *)bytes, size);
	g_autoptr(GbeLedger) kept = gbe_ledger_new();
	g_autoptr(GbeFacts) facts = gbe_facts_new();
	g_autoptr(GbeFacts) again = gbe_facts_new();
	g_autoptr(GPtrArray) needed = NULL;

	fold(ledger, facts);
	needed = gbe_ledger_needed(ledger, facts);
	for (guint i = 0; i < needed->len; i++)
		if (!gbe_ledger_add(kept, ((GbeLedgerRecord *)needed->pdata[i])->object, NULL))
			fuzz_fail("what is kept is no record");
	fold(kept, again);
	if (facts->request.kind != again->request.kind)
		fuzz_fail("a request comes back to life, or is forgotten");
	if (g_strcmp0(facts->undo.name, again->undo.name) != 0)
		fuzz_fail("what was displaced is forgotten");
	return 0;
}

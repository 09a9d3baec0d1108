/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "etcd/finding.h"
#include "lib/findings.h"
#include "lib/unit.h"

#include <string.h>

static void
add(GbeFindings *findings, GbeSeverity severity, const char *code, guint64 at)
{
	gbe_findings_add(findings, severity, code, "member/wal/x", GBE_PLACE_RECORD, at, GBE_YES,
			 GBE_NO, "number %" G_GUINT64_FORMAT, at);
}

START_TEST(keeps_what_was_found)
{
	g_auto(GbeFindings) findings = {0};
	g_autofree char *text = NULL;
	const GbeFinding *first;

	gbe_findings_init(&findings);
	ck_assert_int_eq(gbe_findings_worst(&findings), GBE_FINDING_NOTE);
	ck_assert_ptr_null(gbe_findings_first(&findings));
	add(&findings, GBE_FINDING_WARNING, "wal-torn", 7);
	add(&findings, GBE_FINDING_DAMAGE, "wal-crc", 8);
	add(&findings, GBE_FINDING_UNKNOWN, "wal-unknown-format", 9);
	ck_assert_int_eq(gbe_findings_worst(&findings), GBE_FINDING_DAMAGE);
	first = gbe_findings_first(&findings);
	ck_assert_str_eq(first->code, "wal-crc");
	ck_assert_ptr_eq(findings_find(&findings, "wal-crc"), first);
	ck_assert_ptr_null(findings_find(&findings, "wal-gap"));
	text = gbe_finding_to_text(first);
	ck_assert_str_eq(text, "member/wal/x, record at byte 8: number 8");
	ck_assert_ptr_nonnull(strstr(gbe_finding_advice(first), "restore"));
	ck_assert_str_ne(gbe_finding_advice(first), gbe_finding_advice(findings.items->pdata[0]));
}
END_TEST

/* "Unknown" is worse than a warning, and less than damage. */
START_TEST(worst)
{
	g_auto(GbeFindings) findings = {0};

	gbe_findings_init(&findings);
	add(&findings, GBE_FINDING_UNKNOWN, "a", 1);
	add(&findings, GBE_FINDING_WARNING, "b", 2);
	ck_assert_int_eq(gbe_findings_worst(&findings), GBE_FINDING_UNKNOWN);
	ck_assert_str_eq(gbe_findings_first(&findings)->code, "a");
}
END_TEST

/* Memory is bounded for any number of findings, and severe findings are kept. */
START_TEST(bounded)
{
	g_auto(GbeFindings) findings = {0};

	gbe_findings_init(&findings);
	for (guint64 i = 0; i < 1000; i++)
		add(&findings, GBE_FINDING_NOTE, "note", i);
	for (guint64 i = 0; i < GBE_FINDINGS_MAX / 2; i++)
		add(&findings, GBE_FINDING_DAMAGE, "damage", i);
	ck_assert_uint_eq(findings.items->len, GBE_FINDINGS_MAX);
	ck_assert_uint_eq(findings.dropped, 1000 + GBE_FINDINGS_MAX / 2 - GBE_FINDINGS_MAX);
	ck_assert_uint_eq(findings_find(&findings, "note")->at, 0);
	ck_assert_uint_eq(findings_find(&findings, "damage")->at, 0);
	for (guint64 i = 0; i < 1000; i++)
		add(&findings, GBE_FINDING_DAMAGE, "damage", i);
	ck_assert_uint_eq(findings.items->len, GBE_FINDINGS_MAX);
	ck_assert_ptr_null(findings_find(&findings, "note"));
}
END_TEST

START_TEST(words)
{
	ck_assert_str_eq(gbe_severity_to_string(GBE_FINDING_UNKNOWN), "unknown");
	ck_assert_str_eq(gbe_severity_to_string(GBE_FINDING_DAMAGE), "damage");
	ck_assert_str_eq(gbe_place_to_string(GBE_PLACE_ROW), "row");
	ck_assert_str_eq(gbe_place_to_string(GBE_PLACE_FILE), "file");
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("etcd-finding");
	TCase *all = tcase_create("all");

	tcase_add_test(all, keeps_what_was_found);
	tcase_add_test(all, worst);
	tcase_add_test(all, bounded);
	tcase_add_test(all, words);
	suite_add_tcase(suite, all);
	return gbe_unit_main(suite);
}

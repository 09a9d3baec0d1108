/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "core/decide/protection.h"

#include "lib/unit.h"

/* All is well. */
static GbeStartFacts
good(void)
{
	return (GbeStartFacts){.service = "etcd.service",
			       .prerun = GBE_YES,
			       .service_known = true,
			       .ordered = GBE_YES};
}

typedef struct {
	void (*change)(GbeStartFacts *f, GPtrArray *n);
	GbeProtectionState state;
	bool certain, off;
	const char *says; /* in the reason */
} Case;

#define CHANGE(name, what)                                                                         \
	static void name(GbeStartFacts *f, GPtrArray *n)                                           \
	{                                                                                          \
		what;                                                                              \
	}
#define ADD(kind, text) gbe_notice_add(n, GBE_NOTICE_##kind, NULL, "%s", text)
CHANGE(nothing, (void)f)
CHANGE(no_service, f->service = NULL)
CHANGE(empty_service, f->service = "")
CHANGE(not_installed, f->prerun = GBE_NO)
CHANGE(masked, f->prerun = GBE_UNKNOWN)
CHANGE(unknown_service, f->service_known = false)
CHANGE(without_etcd, f->service_known = false;
       f->without_etcd = "k3s.service keeps its data in SQLite";
       f->without_etcd_hint = "start k3s with --cluster-init")
CHANGE(without_etcd_but_known, f->without_etcd = "k3s.service keeps its data in SQLite")
CHANGE(not_ordered, f->ordered = GBE_NO)
CHANGE(not_asked, f->ordered = GBE_UNKNOWN)
CHANGE(other, f->other = "etcd (pid 7, mine.service)")
CHANGE(skipped, f->skipped = true)
CHANGE(unprotected, f->unprotected = "microshift.service")
CHANGE(not_understood, unprotected(f, n); f->unprotected_why = "not supported: it is a pod")
CHANGE(ambiguous, f->ambiguous = "MicroShift and k3s are here"; f->unprotected = "k3s.service")
CHANGE(ambiguous_and_none, ambiguous(f, n); f->service_known = false)
CHANGE(masked_and_unknown, masked(f, n); f->service_known = false)
CHANGE(masked_and_not_ordered, masked(f, n); f->ordered = GBE_NO)
CHANGE(no_data, ADD(NO_DATA, "there is no etcd data"))
CHANGE(data_is_file, ADD(UNREAD, "it is no directory"))
CHANGE(other_data, ADD(OTHER_DATA, "it has other data open"))
CHANGE(partial, ADD(PARTIAL, "there is a pipe"))
CHANGE(no_ostree, ADD(SYSTEM, "no ostree here"))
CHANGE(without_program, ADD(STAGED, "the update does not carry it"))
CHANGE(store_away, ADD(STORE_AWAY, "the store is away"))
CHANGE(no_exchange, ADD(EXCHANGE, "it cannot exchange"))
CHANGE(nobody_judges, ADD(GREENBOOT, "greenboot is not installed"))
CHANGE(no_good, ADD(NO_BACKUP, "there is no good backup"))
CHANGE(damaged, ADD(DAMAGED, "the manifest of backup one"))
CHANGE(unhealthy, ADD(UNHEALTHY, "it has failed"))
CHANGE(untold, ADD(UNTOLD, "nobody listens"))
CHANGE(was_unhealthy, ADD(WAS_UNHEALTHY, "it had failed"); ADD(WAS_UNTOLD, "nobody listened"))
CHANGE(others, ADD(REHEARSAL, "a"); ADD(LAST, "b");
       gbe_notice_check(n, "space", GBE_LEVEL_BAD, "d"))
CHANGE(failed, ADD(FAILED, "restore of one failed: why"))
CHANGE(was_held, ADD(WAS_HELD, "start of the data held: why"))
CHANGE(periodic, ADD(PERIODIC, "none was taken"))
CHANGE(offsite, ADD(OFFSITE, "no snapshot was proved"))
CHANGE(offsite_and_periodic, offsite(f, n); periodic(f, n))
CHANGE(offsite_and_warned, ADD(WARNING, "look here"); offsite(f, n))
CHANGE(offsite_and_untold, untold(f, n); offsite(f, n))
CHANGE(offsite_and_no_good, offsite(f, n); no_good(f, n))
CHANGE(warned, ADD(WARNING, "look here"))
CHANGE(warned_twice, warned(f, n); ADD(LISTED, "not this"); ADD(LOCKED, "nor this"))
CHANGE(warned_and_untold, warned(f, n); untold(f, n))
CHANGE(held, no_good(f, n); ADD(HELD, "mount it"))
CHANGE(held_and_masked, masked(f, n); held(f, n))
CHANGE(held_next, ADD(NEXT_START, "the next start holds etcd back"))
CHANGE(warned_and_masked, warned(f, n); f->prerun = GBE_UNKNOWN)
CHANGE(untold_and_damaged, untold(f, n); damaged(f, n))

static const Case cases[] = {
    {nothing, GBE_PROTECTED, true, false, NULL},
    {not_asked, GBE_PROTECTED, true, false, NULL},
    {was_unhealthy, GBE_PROTECTED, true, false, NULL},
    {others, GBE_PROTECTED, true, false, NULL},
    {no_service, GBE_NOT_PROTECTED, true, true, "is off"},
    {empty_service, GBE_NOT_PROTECTED, true, true, "is off"},
    {not_installed, GBE_NOT_PROTECTED, true, true, "not installed"},
    {masked, GBE_NOT_PROTECTED, true, true, "masked"},
    {unknown_service, GBE_NOT_PROTECTED, true, true, "there is no etcd.service"},
    {without_etcd, GBE_NOT_PROTECTED, true, true, "k3s.service keeps its data in SQLite"},
    {without_etcd_but_known, GBE_PROTECTED, true, false, NULL},
    {masked_and_unknown, GBE_NOT_PROTECTED, true, true, "masked"},
    {masked_and_not_ordered, GBE_NOT_PROTECTED, true, true, "masked"},
    {not_ordered, GBE_NOT_PROTECTED, true, true, "does not wait"},
    {other, GBE_NOT_PROTECTED, true, true, "mine.service"},
    {skipped, GBE_NOT_PROTECTED, true, false, "greenboot-etcd.skip"},
    {unprotected, GBE_NOT_PROTECTED, true, false, "microshift.service is here and not protected"},
    {not_understood, GBE_NOT_PROTECTED, true, false, "not protected: not supported: it is a pod"},
    {ambiguous, GBE_NOT_PROTECTED, true, false, "MicroShift and k3s are here"},
    {ambiguous_and_none, GBE_NOT_PROTECTED, true, true, "MicroShift and k3s are here"},
    {no_data, GBE_NOT_PROTECTED, true, false, "no etcd data"},
    {data_is_file, GBE_NOT_PROTECTED, true, false, "no directory"},
    {other_data, GBE_NOT_PROTECTED, true, false, "other data"},
    {partial, GBE_NOT_PROTECTED, true, false, "a pipe"},
    {no_ostree, GBE_NOT_PROTECTED, true, false, "no ostree here"},
    {without_program, GBE_NOT_PROTECTED, true, false, "does not carry"},
    {store_away, GBE_NOT_PROTECTED, true, false, "the store is away"},
    {no_exchange, GBE_NOT_PROTECTED, true, false, "cannot exchange"},
    {nobody_judges, GBE_NOT_PROTECTED, true, false, "greenboot is not installed"},
    {no_good, GBE_NOT_PROTECTED, true, false, "no good backup"},
    {damaged, GBE_NEEDS_YOU, true, false, "manifest of backup one"},
    {unhealthy, GBE_NEEDS_YOU, true, false, "it has failed"},
    {failed, GBE_NEEDS_YOU, true, false, "restore of one failed: why"},
    {was_held, GBE_NEEDS_YOU, true, false, "held: why"},
    {periodic, GBE_NEEDS_YOU, true, false, "none was taken"},
    {offsite, GBE_NEEDS_YOU, true, false, "no snapshot was proved"},
    {offsite_and_periodic, GBE_NEEDS_YOU, true, false, "none was taken"},
    {offsite_and_warned, GBE_NEEDS_YOU, true, false, "no snapshot was proved"},
    {offsite_and_untold, GBE_NEEDS_YOU, true, false, "no snapshot was proved"},
    {offsite_and_no_good, GBE_NOT_PROTECTED, true, false, "no good backup"},
    {held, GBE_NEEDS_YOU, true, false, "mount it"},
    {held_and_masked, GBE_NEEDS_YOU, true, true, "mount it"},
    {held_next, GBE_NEEDS_YOU, true, false, "holds etcd back"},
    {untold, GBE_NEEDS_YOU, false, false, "nobody listens"},
    {warned, GBE_NEEDS_YOU, false, false, "look here"},
    {warned_twice, GBE_NEEDS_YOU, false, false, "look here"},
    {warned_and_untold, GBE_NEEDS_YOU, false, false, "nobody listens"},
    {warned_and_masked, GBE_NOT_PROTECTED, true, true, "masked"},
    {untold_and_damaged, GBE_NEEDS_YOU, true, false, "manifest of backup one"},
};

START_TEST(each)
{
	const Case *c = &cases[_i];
	g_autoptr(GPtrArray) notices = gbe_notices_new();
	GbeStartFacts facts = good();
	GbeProtection *protection;

	c->change(&facts, notices);
	gbe_notices_of_start(&facts, notices);
	protection = gbe_protection_judge(notices, false);
	ck_assert_int_eq(protection->state, c->state);
	ck_assert_int_eq(protection->certain, c->certain);
	ck_assert_int_eq(protection->reason != NULL, c->says != NULL);
	ck_assert_int_eq(protection->hint != NULL, c->says != NULL);
	if (c->says != NULL)
		ck_assert_msg(strstr(protection->reason, c->says) != NULL, "%s",
			      protection->reason);
	/* The hint names the problem. */
	if (c->state == GBE_NEEDS_YOU)
		ck_assert_msg(strstr(protection->hint, c->says) != NULL, "%s", protection->hint);
	ck_assert_int_eq(gbe_protection_off(notices) != NULL, c->off);
	gbe_fields_free(&gbe_protection_items, protection);
}
END_TEST

static void
judge(GPtrArray *notices, bool member, const char *covered)
{
	GbeProtection *protection = gbe_protection_judge(notices, member);

	ck_assert_int_eq(protection->state, GBE_NOT_PROTECTED);
	if (covered == NULL)
		ck_assert_ptr_null(protection->covered);
	else
		ck_assert_msg(strstr(protection->covered, covered) != NULL, "%s",
			      protection->covered);
	gbe_fields_free(&gbe_protection_items, protection);
}

START_TEST(member)
{
	g_autoptr(GPtrArray) notices = gbe_notices_new();
	g_autoptr(GPtrArray) none = gbe_notices_new();

	gbe_notice_add(notices, GBE_NOTICE_SYSTEM, NULL, "no ostree here");
	judge(notices, false, NULL);
	judge(notices, true, "from the other members");
	/* Without a store, backups do not work. */
	gbe_notice_add(notices, GBE_NOTICE_STORE_AWAY, NULL, "the store is away");
	judge(notices, true, NULL);
	gbe_notice_add(none, GBE_NOTICE_NO_BACKUP, NULL, "there is no good backup");
	judge(none, true, NULL);
}
END_TEST

/* Each kind has a check and a level, and a hint is a part of the line. */
START_TEST(list)
{
	g_autoptr(GPtrArray) notices = gbe_notices_new();
	g_autoptr(GPtrArray) lines = NULL;
	const GbeNotice *notice;

	for (guint kind = 0; kind < GBE_NOTICE_PREFLIGHT; kind++)
		gbe_notice_add(notices, (GbeNoticeKind)kind, kind % 2 == 0 ? "do it" : NULL,
			       "number %u", kind);
	gbe_notice_check(notices, "space", GBE_LEVEL_OK, "%s free", "all");
	ck_assert_uint_eq(notices->len, GBE_N_NOTICES);
	for (guint i = 0; i < notices->len; i++) {
		notice = notices->pdata[i];
		ck_assert_msg(notice->check != NULL, "%u", i);
		ck_assert(notice->level != GBE_LEVEL_OK || i == GBE_NOTICE_PREFLIGHT);
		ck_assert_int_eq(strstr(notice->line, "; do it") != NULL, notice->hint != NULL);
	}
	ck_assert_str_eq(notice->check, "space");
	ck_assert_str_eq(notice->line, "all free");
	lines = gbe_notices_lines(notices, GBE_IN_MOTD);
	g_ptr_array_set_free_func(lines, g_free);
	ck_assert_uint_gt(lines->len, 0);
	ck_assert_str_eq(lines->pdata[0], "number 0; do it");
	for (guint i = 0, n = 0; i < notices->len; i++)
		if (gbe_notice_is_in(notices->pdata[i], GBE_IN_MOTD))
			ck_assert_str_eq(lines->pdata[n++],
					 ((const GbeNotice *)notices->pdata[i])->line);
}
END_TEST

START_TEST(words)
{
	ck_assert_str_eq(gbe_words_get(&gbe_protection_words, GBE_PROTECTED), "protected");
	ck_assert_str_eq(gbe_words_get(&gbe_protection_words, GBE_NOT_PROTECTED), "not-protected");
	ck_assert_str_eq(gbe_words_get(&gbe_protection_words, GBE_NEEDS_YOU), "needs-you");
	ck_assert_str_eq(gbe_level_to_string(GBE_LEVEL_OK), "ok");
	ck_assert_str_eq(gbe_level_to_string(GBE_LEVEL_NOTE), "note");
	ck_assert_str_eq(gbe_level_to_string(GBE_LEVEL_UNKNOWN), "unknown");
	ck_assert_str_eq(gbe_level_to_string(GBE_LEVEL_BAD), "bad");
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("core-protection");
	TCase *tcase = tcase_create("protection");

	tcase_add_loop_test(tcase, each, 0, G_N_ELEMENTS(cases));
	tcase_add_test(tcase, member);
	tcase_add_test(tcase, list);
	tcase_add_test(tcase, words);
	suite_add_tcase(suite, tcase);
	return gbe_unit_main(suite);
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "core/decide/protection.h"

#include "lib/unit.h"

/* All is well. */
static GbeProtectionFacts
good(void)
{
	return (GbeProtectionFacts){.service = "etcd.service",
				    .prerun = GBE_YES,
				    .service_known = true,
				    .ordered = GBE_YES,
				    .data_dir = "/var/lib/etcd",
				    .data = GBE_YES,
				    .last_good = true,
				    .health = GBE_HEALTH_HEALTHY,
				    .health_why = "healthy"};
}

typedef struct {
	void (*change)(GbeProtectionFacts *facts);
	GbeProtectionState state;
	bool certain, off;
	const char *says; /* in the reason */
} Case;

#define CHANGE(name, what)                                                                         \
	static void name(GbeProtectionFacts *f)                                                    \
	{                                                                                          \
		what;                                                                              \
	}
CHANGE(nothing, (void)f)
CHANGE(no_service, f->service = NULL)
CHANGE(empty_service, f->service = "")
CHANGE(not_installed, f->prerun = GBE_NO)
CHANGE(masked, f->prerun = GBE_UNKNOWN)
CHANGE(unknown_service, f->service_known = false)
CHANGE(not_ordered, f->ordered = GBE_NO)
CHANGE(not_asked, f->ordered = GBE_UNKNOWN)
CHANGE(other, f->other = "etcd (pid 7, mine.service)")
CHANGE(skipped, f->skipped = true)
CHANGE(unprotected, f->unprotected = "microshift.service")
CHANGE(not_understood, unprotected(f); f->unprotected_why = "not supported: it is a pod")
CHANGE(ambiguous, f->ambiguous = "MicroShift and k3s are here"; f->unprotected = "k3s.service")
CHANGE(ambiguous_and_none, ambiguous(f); f->service_known = false)
CHANGE(no_data, f->data = GBE_NO)
CHANGE(data_is_file, f->data = GBE_UNKNOWN; f->data_why = "it is no directory")
CHANGE(no_ostree, f->system = "no ostree here")
CHANGE(store_away, f->store = "the store is away")
CHANGE(nobody_judges, f->greenboot = "greenboot is not installed")
CHANGE(no_good, f->last_good = false)
CHANGE(damaged, f->damaged = "one")
CHANGE(unhealthy, f->health = GBE_HEALTH_UNHEALTHY; f->health_why = "it has failed")
CHANGE(untold, f->health = GBE_HEALTH_CANNOT_TELL; f->health_why = "nobody listens")
CHANGE(health_not_asked, f->health = GBE_HEALTH_NOT_ASKED; f->health_why = NULL)
CHANGE(failed, f->failed = "restore of one failed: why")
CHANGE(periodic, f->periodic = "none was taken")
CHANGE(offsite, f->offsite = "no snapshot was proved")
CHANGE(offsite_and_periodic, periodic(f); offsite(f))
CHANGE(offsite_and_warned, offsite(f); f->warning = "look here")
CHANGE(offsite_and_untold, offsite(f); untold(f))
CHANGE(offsite_and_no_good, offsite(f); f->last_good = false)
CHANGE(warned, f->warning = "look here")
CHANGE(held, f->held = "mount it"; f->last_good = false)
CHANGE(held_next, f->holds = true)
CHANGE(warned_and_masked, f->warning = "look here"; f->prerun = GBE_UNKNOWN)
CHANGE(untold_and_damaged, untold(f); f->damaged = "one")

static const Case cases[] = {
    {nothing, GBE_PROTECTED, true, false, NULL},
    {not_asked, GBE_PROTECTED, true, false, NULL},
    {health_not_asked, GBE_PROTECTED, true, false, NULL},
    {no_service, GBE_NOT_PROTECTED, true, true, "is off"},
    {empty_service, GBE_NOT_PROTECTED, true, true, "is off"},
    {not_installed, GBE_NOT_PROTECTED, true, true, "not installed"},
    {masked, GBE_NOT_PROTECTED, true, true, "masked"},
    {unknown_service, GBE_NOT_PROTECTED, true, true, "there is no etcd.service"},
    {not_ordered, GBE_NOT_PROTECTED, true, true, "does not wait"},
    {other, GBE_NOT_PROTECTED, true, true, "mine.service"},
    {skipped, GBE_NOT_PROTECTED, true, false, "greenboot-etcd.skip"},
    {unprotected, GBE_NOT_PROTECTED, true, false, "microshift.service is here and not protected"},
    {not_understood, GBE_NOT_PROTECTED, true, false, "not protected: not supported: it is a pod"},
    {ambiguous, GBE_NOT_PROTECTED, true, false, "MicroShift and k3s are here"},
    {ambiguous_and_none, GBE_NOT_PROTECTED, true, true, "MicroShift and k3s are here"},
    {no_data, GBE_NOT_PROTECTED, true, false, "no etcd data in /var/lib/etcd"},
    {data_is_file, GBE_NOT_PROTECTED, true, false, "no directory"},
    {no_ostree, GBE_NOT_PROTECTED, true, false, "no ostree here"},
    {store_away, GBE_NOT_PROTECTED, true, false, "the store is away"},
    {nobody_judges, GBE_NOT_PROTECTED, true, false, "greenboot is not installed"},
    {no_good, GBE_NOT_PROTECTED, true, false, "no good backup"},
    {damaged, GBE_NEEDS_YOU, true, false, "manifest of backup one"},
    {unhealthy, GBE_NEEDS_YOU, true, false, "it has failed"},
    {failed, GBE_NEEDS_YOU, true, false, "restore of one failed: why"},
    {periodic, GBE_NEEDS_YOU, true, false, "none was taken"},
    {offsite, GBE_NEEDS_YOU, true, false, "no snapshot was proved"},
    {offsite_and_periodic, GBE_NEEDS_YOU, true, false, "none was taken"},
    {offsite_and_warned, GBE_NEEDS_YOU, true, false, "no snapshot was proved"},
    {offsite_and_untold, GBE_NEEDS_YOU, true, false, "no snapshot was proved"},
    {offsite_and_no_good, GBE_NOT_PROTECTED, true, false, "no good backup"},
    {held, GBE_NEEDS_YOU, true, false, "mount it"},
    {held_next, GBE_NEEDS_YOU, true, false, "holds etcd back"},
    {untold, GBE_NEEDS_YOU, false, false, "nobody listens"},
    {warned, GBE_NEEDS_YOU, false, false, "look here"},
    {warned_and_masked, GBE_NOT_PROTECTED, true, true, "masked"},
    {untold_and_damaged, GBE_NEEDS_YOU, true, false, "manifest of backup one"},
};

START_TEST(each)
{
	const Case *c = &cases[_i];
	GbeProtectionFacts facts = good();
	GbeProtection protection, off = {.state = GBE_PROTECTED};

	c->change(&facts);
	gbe_protection_judge(&facts, &protection);
	ck_assert_int_eq(protection.state, c->state);
	ck_assert_int_eq(protection.certain, c->certain);
	ck_assert_int_eq(protection.reason != NULL, c->says != NULL);
	ck_assert_int_eq(protection.hint != NULL, c->says != NULL);
	if (c->says != NULL)
		ck_assert_msg(strstr(protection.reason, c->says) != NULL, "%s", protection.reason);
	ck_assert_int_eq(gbe_protection_is_off(&facts, &off), c->off);
	gbe_protection_clear(&protection);
	gbe_protection_clear(&off);
}
END_TEST

START_TEST(member)
{
	GbeProtectionFacts facts = good();
	GbeProtection protection;

	facts.system = "no ostree here";
	gbe_protection_judge(&facts, &protection);
	ck_assert_ptr_null(protection.covered);
	gbe_protection_clear(&protection);
	facts.member = true;
	gbe_protection_judge(&facts, &protection);
	ck_assert_int_eq(protection.state, GBE_NOT_PROTECTED);
	ck_assert_msg(strstr(protection.covered, "from the other members") != NULL, "%s",
		      protection.covered);
	gbe_protection_clear(&protection);
	/* Without a store, backups do not work. */
	facts.store = "the store is away";
	gbe_protection_judge(&facts, &protection);
	ck_assert_ptr_null(protection.covered);
	gbe_protection_clear(&protection);
}
END_TEST

START_TEST(words)
{
	ck_assert_str_eq(gbe_protection_to_string(GBE_PROTECTED), "protected");
	ck_assert_str_eq(gbe_protection_to_string(GBE_NOT_PROTECTED), "not-protected");
	ck_assert_str_eq(gbe_protection_to_string(GBE_NEEDS_YOU), "needs-you");
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("core-protection");
	TCase *tcase = tcase_create("protection");

	tcase_add_loop_test(tcase, each, 0, G_N_ELEMENTS(cases));
	tcase_add_test(tcase, member);
	tcase_add_test(tcase, words);
	suite_add_tcase(suite, tcase);
	return gbe_unit_main(suite);
}

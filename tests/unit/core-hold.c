/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The table of holds: each kind has texts and a way back, and a step is shown only if it is complete. */
#include "core/decide/hold.h"

#include "lib/unit.h"

#include <string.h>

static const GbeHoldFacts all = {
    .service = "etcd.service",
    .mount = "var-lib-etcd.mount",
    .end = "kill 7",
    .old = "/old",
    .command = "cluster leave",
    .backup = "one",
    .spare = "two",
    .store = "var-store.mount",
    .reboot = "systemctl reboot",
    .newer = "rpm-ostree rollback",
};

START_TEST(every_kind_is_complete)
{
	const GbeHoldFacts least = {.service = "etcd.service"};

	for (guint hold = GBE_HOLD_NO + 1; hold < GBE_N_HOLDS; hold++) {
		g_autoptr(GPtrArray) steps = gbe_hold_steps((GbeHold)hold, &all);
		g_autoptr(GPtrArray) few = gbe_hold_steps((GbeHold)hold, &least);
		g_autofree char *text = gbe_hold_steps_text(steps);

		ck_assert_ptr_nonnull(gbe_hold_words.words[hold]);
		ck_assert_ptr_nonnull(gbe_holds[hold].what);
		ck_assert(g_str_has_suffix(gbe_holds[hold].safe, "."));
		ck_assert_uint_gt(steps->len, 0);
		ck_assert_ptr_null(strpbrk(text, "{}"));
		/* Without facts, no step is shown that could not work. */
		for (guint i = 0; i < few->len; i++)
			ck_assert_ptr_null(strpbrk(few->pdata[i], "{}"));
	}
}
END_TEST

/* The service is started last, wherever the steps leave etcd stopped. */
START_TEST(the_service_starts_last)
{
	for (guint hold = GBE_HOLD_NO + 1; hold < GBE_N_HOLDS; hold++) {
		g_autoptr(GPtrArray) steps = gbe_hold_steps((GbeHold)hold, &all);
		const char *last = steps->pdata[steps->len - 1];

		/* These two commands start it. */
		if (hold == GBE_HOLD_MEMBER || hold == GBE_HOLD_LEAVING)
			continue;
		ck_assert_str_eq(last, "systemctl start etcd.service");
	}
}
END_TEST

START_TEST(no_backup_no_restore)
{
	GbeHoldFacts facts = all;
	g_autoptr(GPtrArray) with = gbe_hold_steps(GBE_HOLD_CORRUPT, &facts);
	g_autoptr(GPtrArray) without = NULL;

	ck_assert_str_eq(with->pdata[0], "greenboot-etcd restore one --stop");
	facts.backup = NULL;
	without = gbe_hold_steps(GBE_HOLD_FAILED, &facts);
	ck_assert_str_eq(without->pdata[0],
			 "systemctl mask --runtime greenboot-etcd-prerun.service");
}
END_TEST

/* etcd does not survive corrupt data, so a start without protection is no way back. */
START_TEST(no_way)
{
	GbeHoldFacts facts = {.service = "etcd.service"};
	GPtrArray *without = gbe_hold_steps(GBE_HOLD_CORRUPT, &facts);
	GbeHeld held = {GBE_HOLD_NO};

	ck_assert_uint_eq(without->len, 0);
	gbe_held_set(&held, GBE_HOLD_CORRUPT, NULL, without);
	ck_assert_str_eq(held.text, "the data has a fault that etcd does not survive; read ETCD IS "
				    "HELD BACK in greenboot-etcd-guide(7)");
	gbe_held_clear(&held);
}
END_TEST

START_TEST(one_text)
{
	GbeHeld held = {GBE_HOLD_NO};

	gbe_held_set(&held, GBE_HOLD_MOUNT, NULL, gbe_hold_steps(GBE_HOLD_MOUNT, &all));
	ck_assert_str_eq(
	    held.text, "the data directory was a mount point and its mount is missing; run "
		       "`systemctl start var-lib-etcd.mount`, then `systemctl start etcd.service`");
	gbe_held_clear(&held);
	ck_assert_int_eq(held.kind, GBE_HOLD_NO);
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("core-hold");
	TCase *tcase = tcase_create("hold");

	tcase_add_test(tcase, every_kind_is_complete);
	tcase_add_test(tcase, the_service_starts_last);
	tcase_add_test(tcase, no_backup_no_restore);
	tcase_add_test(tcase, no_way);
	tcase_add_test(tcase, one_text);
	suite_add_tcase(suite, tcase);
	return gbe_unit_main(suite);
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Every operation by hand. lib/operations.h has the cases that each of them gets. A new operation is a line in the table.
 */
#include "lib/operations.h"

/* ---- the operations ---- */

static bool
take_backup(GbeApp *app, GError **error)
{
	const GbeByHandBackup options = {.dry_run = dry};
	g_auto(GbeByHandResult) result = {0};

	return gbe_by_hand_backup(app, &options, &result, error);
}

static bool
restore(GbeApp *app, GbeByHandRestore options, GError **error)
{
	g_auto(GbeByHandResult) result = {0};

	options.dry_run = dry;
	return gbe_by_hand_restore(app, &options, &result, error);
}

static bool
restore_kept(GbeApp *app, GError **error)
{
	return restore(app, (GbeByHandRestore){.name = "kept"}, error);
}

static bool
restore_last_good(GbeApp *app, GError **error)
{
	return restore(app, (GbeByHandRestore){.target = GBE_BY_HAND_LAST_GOOD}, error);
}

static bool
restore_and_discard(GbeApp *app, GError **error)
{
	return restore(app, (GbeByHandRestore){.name = "kept", .skip_backup = true}, error);
}

static bool
restore_and_keep(GbeApp *app, GError **error)
{
	return restore(app, (GbeByHandRestore){.name = "kept", .keep_existing = "/var/lib/.old"},
		       error);
}

static bool
undo(GbeApp *app, GError **error)
{
	return restore(app, (GbeByHandRestore){.target = GBE_BY_HAND_UNDO}, error);
}

static bool
set_aside(GbeApp *app, GError **error)
{
	GbeBackupRef backup = {0};
	bool ok = gbe_by_hand_set_aside(app, "set aside", false, &backup, error);

	gbe_backup_ref_clear(&backup);
	return ok;
}

static bool
request(GbeApp *app, GError **error)
{
	const GbeByHandRestore options = {.name = "kept", .dry_run = dry};
	g_autofree char *name = NULL;

	return gbe_by_hand_request(app, &options, &name, error);
}

static bool
cancel(GbeApp *app, GError **error)
{
	bool had = false;

	return gbe_by_hand_cancel(app, dry, &had, error);
}

static char *const kept[] = {(char *)"kept", NULL};

static bool
pin(GbeApp *app, GError **error)
{
	return gbe_by_hand_pin(app, kept, true, dry, error);
}

static bool
unpin(GbeApp *app, GError **error)
{
	return gbe_by_hand_pin(app, kept, false, dry, error);
}

static bool
mark_good(GbeApp *app, GError **error)
{
	return gbe_by_hand_mark(app, "kept", true, "seen", dry, error);
}

static bool
mark_bad(GbeApp *app, GError **error)
{
	g_autofree char *name = device_backup_of('a');

	return gbe_by_hand_mark(app, name, false, "seen", dry, error);
}

static bool
mark_run_bad(GbeApp *app, GError **error)
{
	return gbe_by_hand_mark(app, NULL, false, "seen", dry, error);
}

static bool
delete_kept(GbeApp *app, GError **error)
{
	return gbe_by_hand_delete(app, kept, false, dry, error);
}

static bool
discard_displaced(GbeApp *app, GError **error)
{
	g_autofree char *name = device_backup_of('c');

	return gbe_by_hand_discard(app, name, "kept", error);
}

static bool
prune(GbeApp *app, GError **error)
{
	g_autoptr(GPtrArray) removed = NULL;

	return gbe_by_hand_prune(app, dry, &removed, error);
}

/* ---- the devices ---- */

static void
restored_device(void)
{
	device_used();
	device_does(restore_kept);
}

static void
discarding_device(void)
{
	device_used();
	device_does(restore_and_discard);
}

static void
pinned_device(void)
{
	device_used();
	device_does(pin);
}

static void
good_device(void)
{
	device_used();
	device_does(mark_good);
}

/* Two restores have set data aside. Only the newer one is needed. */
static void
untidy_device(void)
{
	restored_device();
	device_etcd_writes('d');
	device_does(restore_kept);
}

static void
requesting_device(void)
{
	device_used();
	device_does(request);
}

/* ---- the table ---- */

#define USED "data c; backups a unproven, b unproven"
#define RESTORED "data b; backups a unproven, b unproven, c unproven"

static const Operation operations[] = {
    {"backup", device_used, take_backup, OPERATION_DRY_RUN | OPERATION_WRITES, USED,
     USED ", c unproven"},
    {"restore", device_used, restore_kept, OPERATION_DRY_RUN | OPERATION_WRITES, USED, RESTORED},
    {"restore --last-good", good_device, restore_last_good, OPERATION_DRY_RUN | OPERATION_LIKE,
     "data c; backups a unproven, b good", "data b; backups a unproven, b good, c unproven"},
    {"restore --skip-backup", device_used, restore_and_discard, OPERATION_DRY_RUN | OPERATION_LIKE,
     USED, RESTORED " discard"},
    {"restore --keep-existing", device_used, restore_and_keep, OPERATION_DRY_RUN, USED,
     "data b; backups a unproven, b unproven; left .old"},
    {"undo", restored_device, undo, OPERATION_DRY_RUN, RESTORED,
     "data c; backups a unproven, b unproven, b unproven, c unproven"},
    {"set aside", device_used, set_aside, 0, USED,
     "data -; backups a unproven, b unproven, c unproven"},
    {"restore --next-boot", device_used, request, OPERATION_DRY_RUN, USED,
     USED "; request restore"},
    {"restore --cancel", requesting_device, cancel, OPERATION_DRY_RUN, USED "; request restore",
     USED},
    {"pin", device_used, pin, OPERATION_DRY_RUN, USED, USED " pinned"},
    {"unpin", pinned_device, unpin, OPERATION_DRY_RUN, USED " pinned", USED},
    {"mark good", device_used, mark_good, OPERATION_DRY_RUN, USED,
     "data c; backups a unproven, b good"},
    {"mark bad", device_used, mark_bad, OPERATION_DRY_RUN, USED,
     "data c; backups a bad, b unproven"},
    {"mark bad, of the run", device_used, mark_run_bad, OPERATION_DRY_RUN, USED, USED "; run red"},
    {"delete", device_used, delete_kept, OPERATION_DRY_RUN, USED, "data c; backups a unproven"},
    {"discard", discarding_device, discard_displaced, 0, RESTORED " discard",
     "data b; backups a unproven, b unproven"},
    {"prune", untidy_device, prune, OPERATION_DRY_RUN, RESTORED ", d unproven",
     "data b; backups a unproven, b unproven, d unproven"},
};

/* ---- the cases ---- */

/* Each operation meets the lock of another one. */
START_TEST(lock_is_held)
{
	device_used();
	device_does(restore_and_discard);
	operations_meet_lock(DEVICE_STATE "/lock", RESTORED " discard");
}
END_TEST

/* An operation that needs a stopped etcd meets a running one. */
START_TEST(etcd_runs)
{
	static const DeviceOperation need_stop[] = {take_backup, restore_kept, undo, set_aside};
	pid_t etcd;

	restored_device();
	etcd = device_runs_etcd();
	for (guint i = 0; i < G_N_ELEMENTS(need_stop); i++) {
		DeviceEnd end = device_plays(need_stop[i], NULL);

		ck_assert_msg(end.code == GBE_ERROR_BUSY &&
				  strstr(end.message, "stop it first") != NULL,
			      "operation %u: %d %s", i, end.code, end.message);
	}
	operations_require("a running etcd", RESTORED);
	device_stops(etcd);
	device_does(undo);
}
END_TEST

/* A restore was cut. While the ledger is unreadable, recovery changes nothing: the tree next to the data may be the only
 * copy. */
START_TEST(recovery_cannot_look)
{
	g_autofree char *ledger = NULL, *aside = g_build_filename(scratch, "aside", NULL);
	g_autofree char *before = NULL, *after = NULL;
	DeviceEnd end;

	device_used();
	ck_assert(device_plays(restore_kept, "restore-exchanged=kill").killed);
	ledger = root_path(DEVICE_STATE "/ledger");
	ck_assert_int_eq(rename(ledger, aside), 0);
	ck_assert_int_eq(symlink("ledger", ledger), 0);
	before = device_tells();
	end = device_plays(device_recovers, NULL);
	ck_assert_msg(end.code == GBE_ERROR_CANNOT_TELL &&
			  strstr(end.message, "cannot determine whether an operation") != NULL,
		      "%d %s", end.code, end.message);
	after = device_tells();
	ck_assert_str_eq(before, after);
	ck_assert_ptr_nonnull(strstr(after, "left .restore-"));
	ck_assert_int_eq(rename(aside, ledger), 0);
	device_does(device_recovers);
	operations_require("a readable ledger", RESTORED);
}
END_TEST

/* Steps that no line of the table passes, with the reason. */
static const char *const elsewhere[] = {
    "settings-aside",	 /* the settings of a member of a cluster */
    "settings-followed", /* the same */
    NULL,
};
static const char *const sources[] = {"app/by-hand", NULL};

int
main(void)
{
	Suite *suite = suite_create("operations");

	operations_add(suite, &(Operations){.all = operations,
					    .n = G_N_ELEMENTS(operations),
					    .tells = device_tells,
					    .sources = sources,
					    .elsewhere = elsewhere,
					    .steps = 15});
	operations_add_case(suite, "lock is held", lock_is_held, 1);
	operations_add_case(suite, "etcd runs", etcd_runs, 1);
	operations_add_case(suite, "recovery cannot look", recovery_cannot_look, 1);
	return device_main(suite);
}

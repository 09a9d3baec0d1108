/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "app/backup/damage.h"

#include "app/state/state.h"
#include "core/decide/situation.h"
#include "fs/open.h"
#include "sys/systemd/events.h"

bool
gbe_damage_read_again(GbeApp *app, GbeObserved *observed, const GbeManifest *was,
		      GbeManifest **ret_now, GError **error)
{
	GbeStore *store = gbe_store_at(observed->store, was->name);
	g_autoptr(GbeIntent) intent = NULL;
	g_autoptr(GbeManifest) now = NULL;
	g_autoptr(GError) local = NULL;
	gbe_autofd int entry_fd = -1;

	if (!gbe_state_read_intent(app, &intent, error))
		return false;
	if (intent != NULL)
		return gbe_throw(error, GBE_ERROR_BUSY, "an interrupted operation comes first");
	if (!gbe_open_dir_at(store->fd, was->name, &entry_fd, &local))
		return gbe_pass_unless(error, &local, GBE_ERROR_NOT_FOUND);
	if (!gbe_store_read_manifest(store, entry_fd, was->name, &now, error))
		return false;
	if (now->sequence == was->sequence && !now->consumed)
		*ret_now = g_steal_pointer(&now);
	return true;
}

static void
set_bad(GbeManifest *manifest, const char *why)
{
	manifest->grade = GBE_GRADE_BAD;
	g_free(manifest->grade_reason);
	manifest->grade_reason = g_strdup(why);
}

static GbeManifest *
find_backup(const GbeObserved *observed, const char *name)
{
	const GPtrArray *backups = observed->facts->backups;

	for (guint i = 0; i < backups->len; i++)
		if (g_str_equal(((GbeManifest *)backups->pdata[i])->name, name))
			return backups->pdata[i];
	return NULL;
}

bool
gbe_damage_grade(GbeApp *app, GbeObserved *observed, const char *name, const char *why,
		 GError **error)
{
	GbeManifest *was = find_backup(observed, name);
	g_autoptr(GbeManifest) now = NULL;

	if (was == NULL)
		return true;
	set_bad(was, why);
	if (app->lock == NULL)
		return true;
	if (!gbe_damage_read_again(app, observed, was, &now, error))
		return gbe_prefix(error, "grade of %s", name);
	/* The first reason for a bad grade stays. */
	if (now == NULL || now->grade == GBE_GRADE_BAD)
		return true;
	set_bad(now, why);
	if (!gbe_store_write_manifest(observed->store, now, error))
		return false;
	gbe_state_note_entry(app, GBE_LEDGER_GRADED, now, why);
	return true;
}

/* For the MOTD, which shows the last operation when it failed. @what: "has rotted". */
static void
tell_person(GbeApp *app, const GbeObserved *observed, const char *name, const char *what,
	    const char *why, const char *operation)
{
	GbeLastOperation last = {
	    .operation = g_strdup(operation),
	    .result = g_strdup("failed"),
	    .reason = g_strdup_printf("the last good backup %s (%s): `greenboot-etcd backup "
				      "--stop` makes a new one; look at the disk",
				      what, why),
	    .backup = g_strdup(name),
	    .run = g_strdup(observed->facts->run),
	    .started = g_get_real_time() / G_USEC_PER_SEC,
	};

	gbe_state_write_last(app, &last);
	gbe_last_operation_clear(&last);
}

bool
gbe_damage_record(GbeApp *app, GbeObserved *observed, const char *name, const char *why,
		  const char *operation, GError **error)
{
	GbeManifest *was = find_backup(observed, name);
	bool last = gbe_situation_last_good(observed->facts) == was;
	GbeEventFields fields = {.action = operation, .backup = name, .reason = why};
	bool ok;

	if (was == NULL || was->grade == GBE_GRADE_BAD)
		return true;
	set_bad(was, why);
	if (!gbe_app_lock(app, operation, GBE_WAIT_RESULT, error))
		return false;
	fields.deployment = was->deployment.id;
	fields.run = was->run;
	gbe_event_rotted(&fields);
	ok = gbe_damage_grade(app, observed, name, why, error);
	if (ok && last)
		tell_person(app, observed, name, "has rotted", why, operation);
	gbe_app_unlock(app);
	return ok;
}

bool
gbe_damage_unreadable(GbeApp *app, GbeObserved *observed, const char *name, const char *why,
		      const char *operation, GError **error)
{
	const GbeManifest *last = gbe_situation_last_good(observed->facts);

	if (last == NULL || !g_str_equal(last->name, name))
		return true;
	if (!gbe_app_lock(app, operation, GBE_WAIT_RESULT, error))
		return false;
	tell_person(app, observed, name, "cannot be read", why, operation);
	gbe_app_unlock(app);
	return true;
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "app/damage.h"

#include "app/state.h"
#include "app/status.h"
#include "fs/open.h"
#include "sys/events.h"

#define LOCK_WAIT_MS 30000

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
	if (!gbe_open_dir_at(store->fd, was->name, &entry_fd, &local)) {
		if (g_error_matches(local, GBE_ERROR, GBE_ERROR_NOT_FOUND))
			return true;
		g_propagate_error(error, g_steal_pointer(&local));
		return false;
	}
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
find(const GbeObserved *observed, const char *name)
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
	GbeManifest *was = find(observed, name);
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

/* For the MOTD, which shows the last operation where it failed. @what: "has rotted". */
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
	GbeManifest *was = find(observed, name);
	bool last = gbe_status_last_good(observed->facts) == was;
	GbeEventFields fields = {.action = operation, .backup = name, .reason = why};
	bool ok;

	if (was == NULL || was->grade == GBE_GRADE_BAD)
		return true;
	set_bad(was, why);
	if (!gbe_app_lock(app, operation, LOCK_WAIT_MS, error))
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
	const GbeManifest *last = gbe_status_last_good(observed->facts);

	if (last == NULL || !g_str_equal(last->name, name))
		return true;
	if (!gbe_app_lock(app, operation, LOCK_WAIT_MS, error))
		return false;
	tell_person(app, observed, name, "cannot be read", why, operation);
	gbe_app_unlock(app);
	return true;
}

void
gbe_damage_show(GbeApp *app, GbeObserved *observed, const char *operation)
{
	g_autoptr(GError) error = NULL;

	if (!gbe_app_lock(app, operation, LOCK_WAIT_MS, &error)) {
		gbe_note("%s", error->message);
		return;
	}
	gbe_status_write(app, observed, NULL);
	gbe_app_unlock(app);
}

static const GbeFinding *
damage_of(const GbeVerification *verification)
{
	const GbeFinding *worst = gbe_findings_first(&verification->findings);

	return verification->kind == GBE_VERIFY_BACKUP && worst != NULL &&
		       worst->severity == GBE_FINDING_DAMAGE
		   ? worst
		   : NULL;
}

static char *
advice(const GbeManifest *other)
{
	if (other == NULL)
		return g_strdup("do not restore it; there is no good backup that is not damaged: "
				"`greenboot-etcd backup --stop` makes one of the present data");
	return g_strdup_printf("do not restore it; the newest good backup that is not damaged is "
			       "%s (`greenboot-etcd restore %s`)",
			       other->name, other->name);
}

void
gbe_damage_verified(GbeApp *app, GbeObserved *observed, const GPtrArray *verifications)
{
	guint damaged = 0;

	for (guint i = 0; i < verifications->len; i++) {
		const GbeVerification *verification = verifications->pdata[i];
		const GbeFinding *finding = damage_of(verification);
		g_autofree char *why = finding != NULL ? gbe_finding_to_text(finding) : NULL;
		g_autoptr(GError) error = NULL;

		if (finding == NULL)
			continue;
		damaged++;
		if (!gbe_damage_record(app, observed, verification->name, why, "verify", &error))
			gbe_complain("that %s is damaged is not recorded: %s", verification->name,
				     error->message);
	}
	for (guint i = 0; i < verifications->len; i++) {
		GbeVerification *verification = verifications->pdata[i];

		if (damage_of(verification) == NULL)
			continue;
		g_free(verification->advice);
		verification->advice = advice(gbe_status_last_good(observed->facts));
	}
	if (damaged > 0)
		gbe_damage_show(app, observed, "verify");
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Reads backups again in the background. Reading needs no lock, because a backup's data/ never changes. The result
 * is recorded under the lock, in the manifest as it is by then. A power cut leaves the old manifest or the new one.
 * A loop over backups with one effect each, so it has no table of steps (app/device/change.h).
 */
#include "app/backup/backup.h"
#include "app/backups/verify.h"
#include "app/report/status.h"
#include "app/state/configuration.h"
#include "app/upkeep/timers.h"
#include "core/decide/retention.h"
#include "fs/copy/compare.h"
#include "sys/systemd/events.h"

/* Under the lock. Keeps what others changed meanwhile: a pin, a description, a grade that a person gave. */
static bool
record_result(GbeApp *app, GbeObserved *observed, const GbeManifest *was,
	      const GbeVerification *verification, GbeManifest *listed, GError **error)
{
	g_autoptr(GbeManifest) now = NULL;

	if (!gbe_damage_read_again(app, observed, was, &now, error))
		return false;
	if (now == NULL)
		return true;
	now->scrubbed = g_get_real_time() / G_USEC_PER_SEC;
	g_clear_pointer(&now->files, g_ptr_array_unref);
	now->files = g_steal_pointer(&listed->files);
	if (gbe_findings_worst(&verification->findings) != GBE_FINDING_UNKNOWN)
		gbe_inside_record(&verification->directory, verification->level, now);
	return gbe_store_write_manifest(observed->store, now, error);
}

/* *tell becomes true: a person should know of it. */
static bool
scrub_backup(GbeApp *app, GbeObserved *observed, const GbeManifest *was, bool *tell, GError **error)
{
	GbeVerifyOptions options = {.digests = true};
	g_autoptr(GbeVerification) verification = NULL;
	/* Its list of files with digests. */
	g_autoptr(GbeManifest) listed = gbe_manifest_new();
	g_autoptr(GError) local = NULL;
	const GbeFinding *worst = NULL;
	gbe_autofd int fd = -1;
	bool ok;

	if (app->config->backup.verify != GBE_BACKUP_VERIFY_SANITY)
		options.level = GBE_VERIFY_FULL;
	ok = gbe_verify_backup(app, observed->store, was, &options, &verification, &local);
	if (ok)
		worst = gbe_findings_first(&verification->findings);
	if (worst != NULL && worst->severity == GBE_FINDING_DAMAGE) {
		g_autofree char *damage = gbe_finding_to_text(worst);

		*tell = true;
		return gbe_damage_record(app, observed, was->name, damage, "scrub", error);
	}
	ok = ok && gbe_store_open_data(observed->store, was->name, &fd, &local) &&
	     gbe_compare_record(fd, gbe_data_exclude, true, NULL, listed, &local);
	if (!ok) {
		if (g_error_matches(local, GBE_ERROR, GBE_ERROR_UNREADABLE)) {
			*tell = true;
			if (!gbe_damage_unreadable(app, observed, was->name, local->message,
						   "scrub", error))
				return false;
		}
		return gbe_pass(error, &local);
	}
	if (!gbe_app_lock(app, "scrub", GBE_WAIT_RESULT, error))
		return false;
	ok = record_result(app, observed, was, verification, listed, error);
	gbe_app_unlock(app);
	return ok;
}

int
gbe_scrub_run(GbeApp *app)
{
	const GbeObserveOptions options = {0};
	g_autoptr(GbeObserved) observed = NULL;
	g_autoptr(GPtrArray) plan = NULL;
	g_autofree char *complaint = NULL;
	g_autoptr(GError) error = NULL;
	bool tell = false;
	int status = 0;

	if (!gbe_app_open_state(app, false, &error)) {
		gbe_complain("%s", error->message);
		return 1;
	}
	gbe_configuration_choose(app, NULL, &complaint);
	if (complaint != NULL)
		gbe_complain("%s", complaint);
	if (!gbe_observe(app, &options, &observed, &error)) {
		gbe_complain("%s", error->message);
		return 1;
	}
	plan = gbe_scrub_plan(observed->facts);
	for (guint i = 0; i < plan->len; i++) {
		const GbeManifest *backup = g_ptr_array_index(plan, i);

		g_clear_error(&error);
		if (scrub_backup(app, observed, backup, &tell, &error)) {
			gbe_note("read %s", backup->name);
			continue;
		}
		/* A backup that could not be read is not damaged: the next time tells more. */
		gbe_complain("%s: %s", backup->name, error->message);
		status = 1;
	}
	if (tell)
		gbe_status_refresh(app, observed, "scrub");
	return status;
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Reads backups again in the background. Reading needs no lock, because a backup's data/ never changes. The result
 * is recorded under the lock, in the manifest as it is by then. A power cut leaves the old manifest or the new one.
 */
#include "core/decide/scrub.h"
#include "app/backup/damage.h"
#include "app/backups/inside.h"
#include "app/backups/verify.h"
#include "app/report/status.h"
#include "app/state/configuration.h"
#include "app/upkeep/timers.h"
#include "fs/copy/compare.h"
#include "sys/systemd/events.h"

#define LOCK_WAIT_MS 30000

typedef struct {
	GbeApp *app;
	GbeObserved *observed;
	bool tell; /* a person should know of it */
} Scrub;

/* The result for one backup, and its list of files with digests. */
typedef struct {
	GbeVerification *verification;
	GbeManifest *listed;
	char *damage; /* NULL: none */
} Found;

static void
found_clear(Found *found)
{
	g_clear_pointer(&found->verification, gbe_verification_free);
	g_clear_pointer(&found->listed, gbe_manifest_free);
	g_free(found->damage);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Found, found_clear)

static bool
read_backup(Scrub *scrub, const GbeManifest *was, Found *found, GError **error)
{
	GbeVerifyOptions options = {.digests = true};
	const GbeFinding *worst;
	gbe_autofd int fd = -1;

	if (scrub->app->config->backup.verify != GBE_BACKUP_VERIFY_SANITY)
		options.level = GBE_VERIFY_FULL;
	if (!gbe_verify_backup(scrub->app, scrub->observed->store, was, &options,
			       &found->verification, error))
		return false;
	worst = gbe_findings_first(&found->verification->findings);
	if (worst != NULL && worst->severity == GBE_FINDING_DAMAGE) {
		found->damage = gbe_finding_to_text(worst);
		return true;
	}
	found->listed = gbe_manifest_new();
	return gbe_store_open_data(scrub->observed->store, was->name, &fd, error) &&
	       gbe_compare_record(fd, gbe_data_exclude, true, found->listed, error);
}

/* Under the lock. Keeps what others changed meanwhile: a pin, a description, a grade that a person gave. */
static bool
record_found(Scrub *scrub, const GbeManifest *was, Found *found, GError **error)
{
	const GbeVerification *verification = found->verification;
	g_autoptr(GbeManifest) now = NULL;

	if (!gbe_damage_read_again(scrub->app, scrub->observed, was, &now, error))
		return false;
	if (now == NULL)
		return true;
	now->scrubbed = g_get_real_time() / G_USEC_PER_SEC;
	g_clear_pointer(&now->files, g_ptr_array_unref);
	now->files = g_steal_pointer(&found->listed->files);
	if (gbe_findings_worst(&verification->findings) != GBE_FINDING_UNKNOWN)
		gbe_inside_record(&verification->directory, verification->level, now);
	return gbe_store_write_manifest(scrub->observed->store, now, error);
}

static bool
scrub_one(Scrub *scrub, const GbeManifest *was, GError **error)
{
	g_auto(Found) found = {0};
	g_autoptr(GError) local = NULL;
	bool noted;

	if (!read_backup(scrub, was, &found, &local)) {
		scrub->tell =
		    scrub->tell || g_error_matches(local, GBE_ERROR, GBE_ERROR_UNREADABLE);
		if (g_error_matches(local, GBE_ERROR, GBE_ERROR_UNREADABLE) &&
		    !gbe_damage_unreadable(scrub->app, scrub->observed, was->name, local->message,
					   "scrub", error))
			return false;
		return gbe_pass(error, &local);
	}
	if (found.damage != NULL) {
		scrub->tell = true;
		return gbe_damage_record(scrub->app, scrub->observed, was->name, found.damage,
					 "scrub", error);
	}
	if (!gbe_app_lock(scrub->app, "scrub", LOCK_WAIT_MS, error))
		return false;
	noted = record_found(scrub, was, &found, error);
	gbe_app_unlock(scrub->app);
	return noted;
}

int
gbe_scrub_run(GbeApp *app)
{
	const GbeObserveOptions options = {0};
	g_autoptr(GbeObserved) observed = NULL;
	g_autoptr(GPtrArray) plan = NULL;
	g_autofree char *complaint = NULL;
	g_autoptr(GError) error = NULL;
	Scrub scrub = {.app = app};
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
	scrub.observed = observed;
	plan = gbe_scrub_plan(observed->facts);
	for (guint i = 0; i < plan->len; i++) {
		const GbeManifest *backup = g_ptr_array_index(plan, i);

		g_clear_error(&error);
		if (scrub_one(&scrub, backup, &error)) {
			gbe_note("read %s", backup->name);
			continue;
		}
		/* A backup that could not be read is not damaged: the next time tells more. */
		gbe_complain("%s: %s", backup->name, error->message);
		status = 1;
	}
	if (scrub.tell)
		gbe_status_refresh(app, observed, "scrub");
	return status;
}

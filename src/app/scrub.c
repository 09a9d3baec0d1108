/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Reading backups again, at leisure. The reading itself needs no lock, as a backup's data/ never changes;
 * what it came to is written down under the lock, into the manifest as it is by then. A power cut leaves the
 * old manifest or the new one.
 */
#include "core/scrub.h"
#include "app/configuration.h"
#include "app/inside.h"
#include "app/observe.h"
#include "app/state.h"
#include "app/status.h"
#include "app/use-cases.h"
#include "app/verify.h"
#include "fs/compare.h"
#include "fs/open.h"
#include "sys/events.h"

#define LOCK_WAIT_MS 30000

typedef struct {
	GbeApp *app;
	GbeObserved *observed;
	guint rotted;
} Scrub;

/* Of one backup: what was found, and its list of files with digests. */
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
look(Scrub *scrub, const GbeManifest *was, Found *found, GError **error)
{
	GbeVerifyOptions options = {.digests = TRUE};
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
	       gbe_compare_record(fd, gbe_data_exclude, TRUE, found->listed, error);
}

/* The manifest as it is now; NULL: it is gone, or another one has its name. */
static bool
read_again(Scrub *scrub, const GbeManifest *was, GbeManifest **ret_now, GError **error)
{
	GbeStore *store = gbe_store_at(scrub->observed->store, was->name);
	g_autoptr(GbeManifest) now = NULL;
	g_autoptr(GError) local = NULL;
	gbe_autofd int entry_fd = -1;

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

/* What others changed meanwhile stays: a pin, a description, a grade that somebody gave. */
static void
merge(GbeManifest *now, Found *found)
{
	now->scrubbed = g_get_real_time() / G_USEC_PER_SEC;
	if (found->damage != NULL) {
		now->grade = GBE_GRADE_BAD;
		g_free(now->grade_reason);
		now->grade_reason = g_strdup(found->damage);
		return;
	}
	g_clear_pointer(&now->files, g_ptr_array_unref);
	now->files = g_steal_pointer(&found->listed->files);
	if (gbe_findings_worst(&found->verification->findings) != GBE_FINDING_UNKNOWN)
		gbe_inside_record(&found->verification->directory, found->verification->level, now);
}

/* For the MOTD, which shows the last operation where it failed. */
static void
tell_person(Scrub *scrub, const GbeManifest *now)
{
	GbeLastOperation last = {
	    .operation = g_strdup("scrub"),
	    .result = g_strdup("failed"),
	    .reason = g_strdup_printf("the last good backup has rotted (%s): `greenboot-etcd "
				      "backup --stop` makes a new one; look at the disk",
				      now->grade_reason),
	    .backup = g_strdup(now->name),
	    .run = g_strdup(scrub->observed->facts->run),
	    .started = g_get_real_time() / G_USEC_PER_SEC,
	};

	gbe_state_write_last(scrub->app, &last);
	gbe_last_operation_clear(&last);
}

static void
say_rotted(Scrub *scrub, GbeManifest *was, const GbeManifest *now)
{
	const GbeManifest *last = gbe_status_last_good(scrub->observed->facts);
	GbeEventFields fields = {.action = "scrub",
				 .backup = now->name,
				 .deployment = now->deployment.id,
				 .run = now->run,
				 .reason = now->grade_reason};

	scrub->rotted++;
	gbe_event_rotted(&fields);
	if (last == was)
		tell_person(scrub, now);
	was->grade = GBE_GRADE_BAD; /* so that the next one is the last */
}

/* Under the lock. An operation that was interrupted is for who finishes it: what it has moved is no damage. */
static bool
note(Scrub *scrub, GbeManifest *was, Found *found, GError **error)
{
	g_autoptr(GbeIntent) intent = NULL;
	g_autoptr(GbeManifest) now = NULL;
	gboolean was_bad;

	if (!gbe_state_read_intent(scrub->app, &intent, error))
		return false;
	if (intent != NULL)
		return gbe_throw(error, GBE_ERROR_BUSY, "an interrupted operation comes first");
	if (!read_again(scrub, was, &now, error))
		return false;
	if (now == NULL)
		return true;
	was_bad = now->grade == GBE_GRADE_BAD;
	merge(now, found);
	if (!gbe_store_write_manifest(scrub->observed->store, now, error))
		return false;
	if (now->grade == GBE_GRADE_BAD && !was_bad)
		say_rotted(scrub, was, now);
	return true;
}

static bool
scrub_one(Scrub *scrub, GbeManifest *was, GError **error)
{
	g_auto(Found) found = {0};
	g_autoptr(GError) local = NULL;
	bool noted;

	if (!look(scrub, was, &found, &local)) {
		if (!g_error_matches(local, GBE_ERROR, GBE_ERROR_UNREADABLE)) {
			g_propagate_error(error, g_steal_pointer(&local));
			return false;
		}
		/* What btrfs, and any disk that keeps checksums, says of rot. */
		found.damage = g_strdup(local->message);
	}
	if (!gbe_app_lock(scrub->app, "scrub", LOCK_WAIT_MS, error))
		return false;
	noted = note(scrub, was, &found, error);
	gbe_app_unlock(scrub->app);
	return noted;
}

/* status.json and the MOTD, at once. */
static void
show(Scrub *scrub)
{
	g_autoptr(GError) error = NULL;

	if (!gbe_app_lock(scrub->app, "scrub", LOCK_WAIT_MS, &error)) {
		gbe_note("%s", error->message);
		return;
	}
	gbe_status_write(scrub->app, scrub->observed, NULL);
	gbe_app_unlock(scrub->app);
}

int
gbe_scrub_run(GbeApp *app)
{
	const GbeObserveOptions options = {0};
	g_autoptr(GbeObserved) observed = NULL;
	g_autoptr(GPtrArray) plan = NULL;
	g_autoptr(GError) error = NULL;
	Scrub scrub = {.app = app};
	int status = 0;

	if (!gbe_configuration_load(app, FALSE, &error) ||
	    !gbe_app_open_state(app, FALSE, &error) ||
	    !gbe_observe(app, &options, &observed, &error)) {
		gbe_complain("%s", error->message);
		return 1;
	}
	scrub.observed = observed;
	plan = gbe_scrub_plan(observed->facts);
	for (guint i = 0; i < plan->len; i++) {
		GbeManifest *backup = g_ptr_array_index(plan, i);

		g_clear_error(&error);
		if (scrub_one(&scrub, backup, &error)) {
			gbe_note("read %s", backup->name);
			continue;
		}
		/* What nobody could look at is not damaged: the next time says more. */
		gbe_complain("%s: %s", backup->name, error->message);
		status = 1;
	}
	if (scrub.rotted > 0)
		show(&scrub);
	return status;
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cluster/frame.h"

#include "app/backups/verify.h"
#include "app/by-hand/by-hand.h"
#include "app/snapshot/import.h"
#include "app/state/state.h"
#include "core/json/parse.h"

static void
place_free(gpointer data)
{
	GbeClusterPlace *place = data;

	g_free(place->path);
	g_clear_pointer(&place->voter_ids, g_array_unref);
	g_free(place);
}

void
gbe_cluster_recovered_clear(GbeClusterRecovered *recovered)
{
	gbe_cluster_setup_result_clear(&recovered->setup);
	g_clear_pointer(&recovered->places, g_ptr_array_unref);
}

/* ---- judging ---- */

/* Asks the own etcd, or the others where they were noted. */
static bool
check_lost(GbeApp *app, GError **error)
{
	g_autofree char *endpoint = g_strdup(app->config->etcd.endpoint);
	g_autoptr(GbeCluster) cluster = NULL;
	g_autoptr(JsonObject) noted = NULL;
	guint voters = 0, working = 0;

	if (!gbe_cluster_look(app, &cluster, NULL)) {
		if (!gbe_state_read(app, GBE_STATE_MEMBERS, false, &noted, error))
			return false;
		if (noted != NULL)
			(void)!gbe_cluster_look_by(app, gbe_json_string(noted, "urls", ""),
						   gbe_json_string(noted, "cluster", NULL),
						   &cluster, NULL);
		g_free(app->config->etcd.endpoint);
		app->config->etcd.endpoint = g_steal_pointer(&endpoint);
	}
	if (cluster != NULL)
		gbe_cluster_count(cluster, &voters, &working);
	return cluster == NULL || working < gbe_quorum_of(voters) ||
	       gbe_throw(error, GBE_ERROR_REFUSED,
			 "the cluster has its quorum: `greenboot-etcd cluster rejoin URL` brings "
			 "this member back");
}

static bool
add_place(GbeClusterFrame *frame, const char *path, const GbeVerification *verification,
	  GError **error)
{
	const GbeFinding *first = gbe_findings_first(&verification->findings);
	GbeSeverity worst = gbe_findings_worst(&verification->findings);
	const GbeDirectory *directory = &verification->directory;
	GbeClusterPlace *place;

	if (worst == GBE_FINDING_DAMAGE || worst == GBE_FINDING_UNKNOWN) {
		g_autofree char *what = gbe_finding_to_text(first);

		return gbe_throw(error,
				 worst == GBE_FINDING_DAMAGE ? GBE_ERROR_VERIFY_FAILED
							     : GBE_ERROR_CANNOT_TELL,
				 "%s: %s", path, what);
	}
	place = g_new0(GbeClusterPlace, 1);
	place->path = g_strdup(path);
	place->member = directory->wal.has_metadata ? directory->wal.metadata.member : 0;
	place->cluster = directory->wal.has_metadata ? directory->wal.metadata.cluster : 0;
	place->term = directory->wal.last_term;
	place->index = directory->wal.last_entry;
	place->revision = directory->db_tells ? directory->db.revision : -1;
	if (directory->conf.voters != NULL) {
		place->voter_ids = g_array_ref(directory->conf.voters);
		place->voters = place->voter_ids->len;
	}
	g_ptr_array_add(frame->recovered->places, place);
	return true;
}

static bool
choose_best(GbeClusterFrame *frame, GError **error)
{
	const GPtrArray *places = frame->recovered->places;
	GbeClusterPlace *best = places->pdata[0];
	const GArray *voters;
	guint looked_at = 0;

	for (guint i = 1; i < places->len; i++) {
		const GbeClusterPlace *place = places->pdata[i];

		if (place->cluster != best->cluster)
			return gbe_throw(error, GBE_ERROR_USAGE,
					 "%s is the data of another cluster than %s", place->path,
					 best->path);
		for (guint k = 0; k < i; k++)
			if (((const GbeClusterPlace *)places->pdata[k])->member == place->member)
				return gbe_throw(
				    error, GBE_ERROR_USAGE,
				    "%s is the data of a member that was looked at already",
				    place->path);
		/* As raft compares logs: the later term of the last entry, then the longer log. */
		if (place->term != best->term ? place->term > best->term
					      : place->index > best->index)
			best = places->pdata[i];
	}
	best->chosen = true;
	frame->best = best;
	voters = best->voter_ids;
	/* A learner has no vote, so its data proves nothing about the quorum's. */
	for (guint i = 0; i < places->len; i++)
		for (guint k = 0; voters != NULL && k < voters->len; k++)
			looked_at += g_array_index(voters, guint64, k) ==
					     ((const GbeClusterPlace *)places->pdata[i])->member
					 ? 1
					 : 0;
	if (frame->options.force || (best->voters > 0 && best->voters == looked_at))
		return true;
	return gbe_throw(
	    error, GBE_ERROR_REFUSED,
	    "%u of %u voters were looked at, and the most advanced one ends in term "
	    "%" G_GUINT64_FORMAT " with entry %" G_GUINT64_FORMAT
	    ". Entries that only another voter has would be lost. Look at the others (`cluster "
	    "recover -n` there, or --data=DIRECTORY with a copy), or use --force",
	    looked_at, best->voters, best->term, best->index);
}

static bool
judge_places(GbeClusterFrame *frame, GError **error)
{
	const GbeVerifyOptions full = {.level = GBE_VERIFY_FULL};
	char *const *data = frame->options.data;
	GbeApp *app = frame->change.app;
	g_autoptr(GbeVerification) verified = NULL;
	g_autoptr(GbeFacts) facts = gbe_facts_new();
	g_autoptr(GbeData) own = NULL;

	if (!check_lost(app, error) || !gbe_data_open(app, &own, error))
		return false;
	gbe_data_observe_presence(own, facts);
	if (facts->data == GBE_NO)
		return gbe_throw(error, GBE_ERROR_NOT_FOUND,
				 "%s has no etcd data; put a copy of the most advanced member's "
				 "data there, or run this on that member's device",
				 own->path);
	if (!gbe_verify_data(app, own, &full, &verified, error) ||
	    !add_place(frame, own->path, verified, error))
		return false;
	for (guint i = 0; data != NULL && data[i] != NULL; i++) {
		g_autofree char *absolute = g_canonicalize_filename(data[i], NULL);
		g_autoptr(GbeVerification) verification = NULL;

		if (!gbe_verify_path(app, absolute, &full, &verification, error) ||
		    !add_place(frame, absolute, verification, error))
			return false;
	}
	return choose_best(frame, error);
}

/* ---- the new cluster ---- */

static bool
look_before_recover(gpointer change, GError **error)
{
	GbeClusterFrame *frame = change;

	/* Keep the member's settings that the options do not name. */
	if (!gbe_cluster_frame_begin(frame, error) ||
	    !gbe_cluster_settings_read(frame, &frame->options, error) ||
	    !gbe_cluster_settings_choose(frame, error))
		return false;
	frame->result->continued = frame->continued;
	frame->seed.backup = frame->intent.backup;
	frame->taken = frame->intent.backup != NULL;
	return frame->taken || judge_places(frame, error);
}

/* A copy of the chosen data, among the backups, which the intent names. */
static bool
take_chosen(gpointer change, GError **error)
{
	GbeClusterFrame *frame = change;
	GbeApp *app = frame->change.app;
	g_autofree char *name = g_strdup_printf("recover-%08x", g_random_int());
	const GbeByHandBackup backup = {.name = name, .description = frame->change.name};
	const GbeImport import = {.path = frame->best->path,
				  .name = name,
				  .timeout = frame->options.timeout};
	g_auto(GbeByHandResult) taken = {0};
	g_auto(GbeImported) imported = {0};

	if (frame->best == frame->recovered->places->pdata[0]
		? !gbe_by_hand_backup(app, &backup, &taken, error)
		: !gbe_import(app, &import, &imported, error))
		return false;
	frame->intent.backup = g_steal_pointer(&name);
	frame->seed.backup = frame->intent.backup;
	return true;
}

static const GbeStep steps[] = {
    {"cluster-looked", look_before_recover, NULL, GBE_STEP_LOOK | GBE_STEP_UNLOCKED, 0},
    {"cluster-certified", gbe_cluster_certify, NULL, GBE_STEP_UNLOCKED, 0},
    {"cluster-intended", gbe_cluster_intend, NULL, GBE_STEP_MAINTENANCE, 0},
    {"cluster-chosen", take_chosen, gbe_cluster_keep, GBE_STEP_UNLOCKED,
     offsetof(GbeClusterFrame, taken)},
    {"cluster-seeded", gbe_cluster_make_seed, NULL, 0, 0},
    {"cluster-seed-restored", gbe_cluster_restore_seed, NULL, GBE_STEP_UNLOCKED, 0},
    {"cluster-configured", gbe_cluster_configure_alone, NULL, 0, 0},
    {"cluster-reissued", gbe_cluster_reissue, NULL, 0, 0},
    {"cluster-started", gbe_cluster_start, NULL, GBE_STEP_UNLOCKED, 0},
    {"cluster-healthy", gbe_cluster_wait_healthy, NULL, GBE_STEP_UNLOCKED, 0},
    {"cluster-ended", gbe_cluster_end, NULL, 0, 0},
    {NULL, NULL, NULL, 0, 0},
};

bool
gbe_cluster_recover(GbeApp *app, const GbeClusterSetup *options, GbeClusterRecovered *ret_recovered,
		    GError **error)
{
	g_auto(GbeClusterFrame) frame = {
	    .change = {.app = app, .name = "cluster recover", .steps = steps},
	    .options = *options,
	    .result = &ret_recovered->setup,
	    .seed.whole_log = true,
	    .recovered = ret_recovered,
	};

	ret_recovered->places = g_ptr_array_new_with_free_func(place_free);
	return gbe_cluster_run(&frame, error);
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cluster/setup.h"

#include "app/backups/verify.h"
#include "app/by-hand/by-hand.h"
#include "app/snapshot/import.h"
#include "app/state/state.h"
#include "cluster/look.h"
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

typedef struct {
	GbeClusterSetting setting;
	const GbeClusterRecover *options;
	GbeClusterRecovered *recovered;
	const GbeClusterPlace *best;
	GbeClusterSetup
	    setup; /* the options, and what this member's settings have where they say nothing */
} Recover;

static void
recover_clear(Recover *recover)
{
	gbe_cluster_setting_clear(&recover->setting);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Recover, recover_clear)

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
add_place(Recover *recover, const char *path, const GbeVerification *verification, GError **error)
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
	g_ptr_array_add(recover->recovered->places, place);
	return true;
}

static bool
choose_best(Recover *recover, GError **error)
{
	const GPtrArray *places = recover->recovered->places;
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
	recover->best = best;
	voters = best->voter_ids;
	/* A learner has agreed to nothing, so that its data says nothing of what a quorum has. */
	for (guint i = 0; i < places->len; i++)
		for (guint k = 0; voters != NULL && k < voters->len; k++)
			looked_at += g_array_index(voters, guint64, k) ==
					     ((const GbeClusterPlace *)places->pdata[i])->member
					 ? 1
					 : 0;
	if (recover->options->force || (best->voters > 0 && best->voters == looked_at))
		return true;
	return gbe_throw(
	    error, GBE_ERROR_REFUSED,
	    "%u of %u voters were looked at, and the most advanced one ends in term "
	    "%" G_GUINT64_FORMAT " with entry %" G_GUINT64_FORMAT
	    ": what only another one has would be lost. Look at those (`cluster recover -n` there, "
	    "or --data=DIRECTORY with a copy), or --force",
	    looked_at, best->voters, best->term, best->index);
}

static bool
judge(Recover *recover, GError **error)
{
	const GbeVerifyOptions full = {.level = GBE_VERIFY_FULL};
	char *const *data = recover->options->data;
	GbeApp *app = recover->setting.frame.app;
	g_autoptr(GbeVerification) verified = NULL;
	g_autoptr(GbeFacts) facts = gbe_facts_new();
	g_autoptr(GbeData) own = NULL;

	if (!check_lost(app, error) || !gbe_data_open(app, &own, error))
		return false;
	gbe_data_observe_presence(own, facts);
	if (facts->data == GBE_NO)
		return gbe_throw(error, GBE_ERROR_NOT_FOUND,
				 "there is no data of etcd in %s: put a copy of the most advanced "
				 "member's there first, or call this on that member's device",
				 own->path);
	if (!gbe_verify_data(app, own, &full, &verified, error) ||
	    !add_place(recover, own->path, verified, error))
		return false;
	for (guint i = 0; data != NULL && data[i] != NULL; i++) {
		g_autofree char *absolute = g_canonicalize_filename(data[i], NULL);
		g_autoptr(GbeVerification) verification = NULL;

		if (!gbe_verify_path(app, absolute, &full, &verification, error) ||
		    !add_place(recover, absolute, verification, error))
			return false;
	}
	return choose_best(recover, error);
}

/* ---- the new cluster ---- */

/* A copy of the chosen data, in the store, which the intent names. */
static bool
take_chosen(Recover *recover, GError **error)
{
	GbeClusterFrame *frame = &recover->setting.frame;
	g_autofree char *name = g_strdup_printf("recover-%08x", g_random_int());
	const GbeByHandBackup backup = {.name = name, .description = frame->operation};
	const GbeImport import = {.path = recover->best->path,
				  .name = name,
				  .timeout = recover->options->setup.timeout};
	g_auto(GbeByHandResult) taken = {0};
	g_auto(GbeImported) imported = {0};

	gbe_app_unlock(frame->app);
	if (recover->best == recover->recovered->places->pdata[0]
		? !gbe_by_hand_backup(frame->app, &backup, &taken, error)
		: !gbe_import(frame->app, &import, &imported, error))
		return false;
	g_free(frame->intent.backup);
	frame->intent.backup = g_steal_pointer(&name);
	return gbe_cluster_frame_lock(frame, error) && gbe_cluster_frame_note(frame, error);
}

bool
gbe_cluster_recover(GbeApp *app, const GbeClusterRecover *options,
		    GbeClusterRecovered *ret_recovered, GError **error)
{
	g_auto(Recover) recover = {
	    .setting = {.frame = {.app = app, .operation = "cluster recover"},
			.options = &recover.setup,
			.result = &ret_recovered->setup},
	    .options = options,
	    .recovered = ret_recovered,
	    .setup = options->setup,
	};
	GbeClusterFrame *frame = &recover.setting.frame;
	GbeClusterSeed seed;
	bool active = false, taken, ok;

	frame->dry_run = options->setup.dry_run;
	ret_recovered->places = g_ptr_array_new_with_free_func(place_free);
	if (!gbe_cluster_frame_begin(frame, &active, error) ||
	    !gbe_cluster_setting_read(&recover.setting, &recover.setup, error) ||
	    !gbe_cluster_setting_choose(&recover.setting, error))
		return false;
	ret_recovered->setup.continued = frame->continued;
	taken = frame->intent.backup != NULL;
	if (!taken && !judge(&recover, error))
		return false;
	if (options->setup.dry_run)
		return true;
	if (!gbe_cluster_setting_authority(&recover.setting, error) ||
	    !gbe_cluster_frame_intend(frame, error))
		return false;
	ok = taken || take_chosen(&recover, error);
	seed = (GbeClusterSeed){.backup = frame->intent.backup,
				.whole_log = true,
				.name = ret_recovered->setup.name,
				.peer_url = ret_recovered->setup.peer_url,
				.timeout = options->setup.timeout};
	ok = ok && gbe_cluster_seed(frame, &seed, error);
	ok = ok && gbe_cluster_setting_write(&recover.setting, NULL, error);
	ok = ok && gbe_cluster_setting_end(&recover.setting, error);
	return ok || gbe_cluster_frame_goes_on(frame, error);
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cluster/seed.h"

#include "app/by-hand/by-hand.h"
#include "app/by-hand/session.h"
#include "app/snapshot/export.h"
#include "app/snapshot/import.h"
#include "base/fault.h"
#include "core/json/parse.h"
#include "fs/write.h"

#define SNAPSHOT "cluster.db"

/* Has an earlier call made the backup, and restored it? */
static bool
look(GbeClusterFrame *frame, const char *name, bool *ret_made, bool *ret_restored, GError **error)
{
	const GbeSessionOptions how = {.operation = frame->operation};
	const GbeFacts *facts;
	GbeSession session;

	if (!gbe_session_begin(frame->app, &how, &session, error))
		return false;
	facts = session.observed->facts;
	*ret_made = gbe_facts_backup(facts, name) != NULL;
	*ret_restored = facts->owner != NULL && g_strcmp0(facts->owner->source, name) == 0;
	gbe_session_leave(&session);
	return true;
}

/* The tool that restores a snapshot gives it to the member that the configuration names. */
static void
configure(GbeApp *app, const GbeClusterSeed *seed)
{
	GbeConfig *config = app->config;

	g_free(config->etcd.name);
	config->etcd.name = g_strdup(seed->name);
	g_free(config->etcd.peer_urls);
	config->etcd.peer_urls = g_strdup(seed->peer_url);
}

static bool
make(GbeClusterFrame *frame, const GbeClusterSeed *seed, const char *name, GError **error)
{
	g_autofree char *path = g_build_filename(GBE_STATE_DIR, SNAPSHOT, NULL);
	g_autofree char *token = g_strdup_printf("%08x%08x", g_random_int(), g_random_int());
	const GbeExport export = {.name = seed->backup,
				  .path = path,
				  .timeout = seed->timeout,
				  .whole_log = seed->whole_log,
				  .replace = true};
	const GbeImport import = {.path = seed->backup != NULL ? path : seed->snapshot,
				  .name = name,
				  .token = token,
				  .timeout = seed->timeout};
	g_auto(GbeExported) exported = {0};
	g_auto(GbeImported) imported = {0};

	configure(frame->app, seed);
	return (seed->backup == NULL || gbe_export(frame->app, &export, &exported, error)) &&
	       gbe_import(frame->app, &import, &imported, error) &&
	       gbe_unlink_durable_at(frame->app->state_fd, SNAPSHOT, error) &&
	       !GBE_FAULT("cluster-seeded", error);
}

bool
gbe_cluster_seed(GbeClusterFrame *frame, const GbeClusterSeed *seed, GError **error)
{
	g_autofree char *drawn = g_strdup_printf("cluster-%08x", g_random_int());
	g_autofree char *name = g_strdup(gbe_json_string(frame->intent, "seed", drawn));
	const GbeByHandRestore restore = {.target = GBE_BY_HAND_NAMED, .name = name, .force = true};
	g_auto(GbeByHandResult) restored = {0};
	bool made = false, done = false;

	gbe_json_set_string(frame->intent, "seed", name);
	if (!gbe_cluster_frame_note(frame, error))
		return false;
	gbe_app_unlock(frame->app);
	return look(frame, name, &made, &done, error) && (made || make(frame, seed, name, error)) &&
	       (done || gbe_by_hand_restore(frame->app, &restore, &restored, error));
}

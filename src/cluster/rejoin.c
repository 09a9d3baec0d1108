/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cluster/rejoin.h"

#include "app/by-hand/session.h"
#include "app/state/state.h"
#include "base/fault.h"
#include "base/format.h"
#include "cluster/frame.h"
#include "cluster/lock.h"
#include "core/decide/situation.h"
#include "core/json/parse.h"
#include "fs/open.h"
#include "sys/systemd/events.h"

#define OPERATION "cluster rejoin"

void
gbe_rejoined_clear(GbeRejoined *rejoined)
{
	g_clear_pointer(&rejoined->said, g_free);
}

typedef struct {
	GbeApp *app;
	guint64 timeout; /* seconds */
	GbeRejoined *result;
	JsonObject *record; /* urls, member, cluster, lock, reason */
	GbeClusterFrame frame;
	char *member_id, *cluster_id; /* from the data, or from its record */
	bool unseen;		      /* the log is missing, and this device never saw one */
} Rejoin;

static void
rejoin_clear(Rejoin *r)
{
	g_clear_pointer(&r->record, json_object_unref);
	g_clear_pointer(&r->member_id, g_free);
	g_clear_pointer(&r->cluster_id, g_free);
	gbe_cluster_frame_clear(&r->frame);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Rejoin, rejoin_clear)

/* ---- the record ---- */

static bool
read_record(Rejoin *r, GError **error)
{
	if (!gbe_state_read(r->app, GBE_STATE_MEMBERS, false, &r->record, error))
		return false;
	if (r->record == NULL)
		r->record = json_object_new();
	return true;
}

static bool
note_text(Rejoin *r, const char *key, const char *value, GError **error)
{
	bool ok;

	if (g_strcmp0(gbe_json_string(r->record, key, NULL), value) == 0)
		return true;
	gbe_json_set_string(r->record, key, value);
	ok = gbe_app_lock(r->app, OPERATION, GBE_WAIT_UNIT, error) &&
	     gbe_state_write(r->app, GBE_STATE_MEMBERS, r->record, error);
	gbe_app_unlock(r->app);
	return ok;
}

static bool
ask_others(Rejoin *r, GbeCluster **ret_cluster, GError **error)
{
	const char *urls = gbe_json_string(r->record, "urls", "");

	if (*urls == '\0')
		return gbe_throw(
		    error, GBE_ERROR_CANNOT_TELL,
		    "no other member is known; `greenboot-etcd list` shows the backups "
		    "that `greenboot-etcd restore NAME` takes");
	return gbe_cluster_look_by(r->app, urls, NULL, ret_cluster, error);
}

/* ---- the lock ---- */

/* The endpoint answers. */
static bool
take_update_lock(Rejoin *r, GError **error)
{
	guint64 random = (guint64)g_random_int() << 32 | g_random_int();
	g_autofree char *id = g_strdup(gbe_json_string(r->record, "lock", NULL));

	if (id == NULL)
		id = gbe_hex64(MAX(random, 1));
	if (!note_text(r, "lock", id, error) || GBE_FAULT("rejoin-noted", error))
		return false;
	return gbe_update_lock_take_to_rejoin(r->app, id, r->frame.options.name, error) &&
	       !GBE_FAULT("rejoin-locked", error);
}

/* The endpoint answers. */
static bool
release_update_lock(Rejoin *r, GError **error)
{
	const char *id = gbe_json_string(r->record, "lock", NULL);

	return id == NULL || (gbe_update_lock_release_rejoined(r->app, id, error) &&
			      note_text(r, "lock", NULL, error));
}

/* ---- whether ---- */

/* *ret_changed: something of it is new. */
static void
describe_cluster(GbeApp *app, const GbeCluster *cluster, JsonObject *record, bool *ret_changed)
{
	g_autofree char *before = gbe_json_print_line(record);
	g_autofree char *urls = gbe_cluster_urls_of_others(cluster);
	g_autofree char *member_id = gbe_hex64(cluster->self);
	g_autofree char *cluster_id = gbe_hex64(cluster->cluster_id);
	g_autofree char *after = NULL;
	g_autoptr(GbeData) data = NULL;
	g_autoptr(GbeFacts) facts = gbe_facts_new();

	/* Is etcd's log at the configured place? */
	if (gbe_data_open(app, &data, NULL))
		gbe_data_observe_presence(data, facts);
	gbe_json_set_string(record, "reason", NULL);
	gbe_json_set_string(record, "log", facts->log == GBE_YES ? "yes" : NULL);
	gbe_json_set_string(record, "member", member_id);
	gbe_json_set_string(record, "cluster", cluster_id);
	gbe_json_set_string(record, "urls", urls);
	after = gbe_json_print_line(record);
	*ret_changed = !g_str_equal(before, after);
}

bool
gbe_cluster_remember(GbeApp *app, const GbeCluster *cluster, GError **error)
{
	g_autoptr(JsonObject) record = NULL;
	bool changed;

	if (!gbe_state_read(app, GBE_STATE_MEMBERS, true, &record, error))
		return false;
	if (record == NULL)
		record = json_object_new();
	describe_cluster(app, cluster, record, &changed);
	return gbe_state_write(app, GBE_STATE_MEMBERS, record, error);
}

static bool
learn_cluster(Rejoin *r, const GbeCluster *cluster, GError **error)
{
	bool alone = cluster->members->len == 1, changed = false, ok = true;
	g_autofree char *initial =
	    g_strdup_printf("%s=%s", r->frame.options.name, r->frame.options.peer_url);
	GbeClusterSetupResult own = {.name = (char *)r->frame.options.name,
				     .peer_url = (char *)r->frame.options.peer_url,
				     .client_url = (char *)r->frame.options.client_url};
	g_autoptr(JsonObject) intent = NULL;

	if (!release_update_lock(r, error))
		return false;
	describe_cluster(r->app, cluster, r->record, &changed);
	if (changed)
		ok = gbe_app_lock(r->app, OPERATION, GBE_WAIT_UNIT, error) &&
		     gbe_state_write(r->app, GBE_STATE_MEMBERS, r->record, error);
	/* Without its data, an etcd that has others must not begin the cluster again, and one that is alone may. A verb that
	 * has begun meanwhile writes the settings itself. */
	r->frame.result = &own;
	if (ok && gbe_cluster_env_joins(r->frame.settings) == alone)
		ok = gbe_app_lock(r->app, OPERATION, GBE_WAIT_UNIT, error) &&
		     gbe_state_peek(r->app, GBE_STATE_CLUSTER, &intent, error) &&
		     (intent != NULL ||
		      gbe_is_in_root(r->app->root_fd, GBE_CLUSTER_ENV) != GBE_YES ||
		      gbe_cluster_settings_put(&r->frame, alone ? NULL : initial, error));
	gbe_app_unlock(r->app);
	return ok;
}

/* Under the program's lock and etcd's, so that the data does not change meanwhile. *ret_damage NULL: the data is not
 * known to be damaged or missing. */
static bool
look_at_data(Rejoin *r, char **ret_damage, bool *ret_rollback, GError **error)
{
	const GbeSessionOptions how = {.operation = OPERATION, .data = true, .inside = true};
	const char *member, *cluster;
	const GbeFacts *facts;
	GbeSituation situation;
	GbeSession session;
	GbeView view;
	bool there;

	if (!gbe_session_begin(r->app, &how, &session, error))
		return false;
	facts = session.observed->facts;
	gbe_view_live(facts, &view);
	gbe_situation_derive(facts, &view, true, &situation);
	/* Not where a mount is missing: the data lies there. */
	there =
	    situation.data_open == GBE_NO && (situation.data != GBE_NO || !situation.mount_lost);
	/* A log that was never seen here does not count as damage: etcd may have it elsewhere. */
	r->unseen = there && !situation.log_lost && facts->log == GBE_NO && facts->member;
	if (there && situation.log_lost)
		*ret_damage =
		    g_strdup(facts->data == GBE_NO ? "the data is gone" : "the log is gone");
	else if (facts->data == GBE_YES && facts->data_open == GBE_NO && facts->sound == GBE_NO &&
		 facts->log != GBE_NO)
		*ret_damage = g_strdup(facts->sound_why);
	*ret_rollback = gbe_situation_rollback_may_follow(facts);
	gbe_cluster_ids(facts, r->record, &member, &cluster);
	r->member_id = g_strdup(member);
	r->cluster_id = g_strdup(cluster);
	gbe_session_leave(&session);
	return true;
}

/* Leaves the endpoint at one that answers. */
static bool
check_others(Rejoin *r, GError **error)
{
	g_autoptr(GbeCluster) cluster = NULL;
	const GbeClusterMember *own = NULL;
	g_autofree char *cluster_id = NULL;

	if (r->member_id == NULL || r->cluster_id == NULL)
		return gbe_throw(
		    error, GBE_ERROR_CANNOT_TELL,
		    "the data does not tell which member of which cluster it is; a person "
		    "can: `greenboot-etcd cluster rejoin URL`");
	if (!ask_others(r, &cluster, error))
		return false;
	cluster_id = gbe_hex64(cluster->cluster_id);
	if (!g_str_equal(cluster_id, r->cluster_id))
		return gbe_throw(error, GBE_ERROR_REFUSED,
				 "%s is a member of another cluster, %s and not %s; to become one "
				 "of its members: "
				 "`greenboot-etcd cluster reset --force`, then `cluster join URL`",
				 r->app->config->etcd.endpoint, cluster_id, r->cluster_id);
	for (guint i = 0; i < cluster->members->len; i++) {
		const GbeClusterMember *member = cluster->members->pdata[i];
		g_autofree char *id = gbe_hex64(member->voter.id);

		if (g_str_equal(id, r->member_id))
			own = member;
		else if (member->voter.works != GBE_YES)
			return gbe_throw(error, GBE_ERROR_REFUSED, "%s does not work: %s",
					 member->name,
					 member->why != NULL ? member->why : "no reason is known");
	}
	return own != NULL ||
	       gbe_throw(error, GBE_ERROR_REFUSED,
			 "the others have removed it; `greenboot-etcd cluster rejoin %s` brings it "
			 "back, `greenboot-etcd cluster reset --force` ends its membership",
			 r->app->config->etcd.endpoint);
}

/* ---- actions ---- */

static bool
rejoin(Rejoin *r, bool goes_on, const char *why, GError **error)
{
	g_autofree char *url = g_strdup(r->app->config->etcd.endpoint);
	const GbeClusterSetup options = {.url = url,
					 .timeout = r->timeout,
					 .by_itself = true,
					 .goes_on = goes_on};
	g_auto(GbeClusterSetupResult) result = {0};

	gbe_note("%s: this member rejoins its cluster, by %s", why, url);
	if (!gbe_cluster_rejoin(r->app, &options, &result, error))
		return false;
	gbe_app_unlock(r->app);
	gbe_event_rejoined(&(GbeEventFields){.reason = why});
	/* The verb has written it. */
	g_clear_pointer(&r->record, json_object_unref);
	if (!read_record(r, error) || !release_update_lock(r, error) ||
	    !note_text(r, "reason", NULL, error))
		return false;
	r->result->action = "rejoined";
	r->result->said = g_strdup_printf("%s is a member again, with data from the others: %s",
					  result.name, why);
	return true;
}

/* No rejoin is under way. */
static bool
rejoin_if_damaged(Rejoin *r, GError **error)
{
	g_autoptr(GbeCluster) cluster = NULL, others = NULL;
	g_autoptr(GError) local = NULL;
	g_autofree char *damage = NULL, *url = NULL;
	GbeClusterSetup options = {.dry_run = true, .by_itself = true};
	g_auto(GbeClusterSetupResult) result = {0};
	const GbeClusterMember *own;
	bool rollback = false;

	/* Is it this device's own etcd that answers? */
	own = gbe_cluster_look(r->app, &cluster, NULL) ? gbe_cluster_by_id(cluster, cluster->self)
						       : NULL;
	if (own != NULL &&
	    g_strv_contains((const char *const *)own->peer_urls, r->frame.options.peer_url))
		return learn_cluster(r, cluster, error);
	if (!look_at_data(r, &damage, &rollback, error))
		return false;
	if (damage == NULL && r->unseen) {
		(void)gbe_throw(&local, GBE_ERROR_CANNOT_TELL,
				"etcd's log is not in %s, and this device never saw it there. Set "
				"wal-dir= of [etcd] to its directory; if it is lost, run "
				"`greenboot-etcd cluster rejoin URL`",
				r->app->config->etcd.data_dir);
	} else if (damage != NULL && rollback) {
		/* A rollback is the remedy where one may follow. */
		(void)gbe_throw(&local, GBE_ERROR_REFUSED,
				"the update is not green yet, and a rollback may follow");
	} else if (damage != NULL && check_others(r, &local)) {
		options.url = url = g_strdup(r->app->config->etcd.endpoint);
		if (gbe_cluster_rejoin(r->app, &options, &result, &local) &&
		    take_update_lock(r, &local))
			return rejoin(r, false, damage, error);
	}
	/* No rejoin follows now, so release the lock for the other members. */
	if (gbe_json_string(r->record, "lock", NULL) != NULL &&
	    (!ask_others(r, &others, error) || !release_update_lock(r, error)))
		return false;
	return local == NULL || gbe_pass(error, &local);
}

bool
gbe_cluster_rejoin_if_needed(GbeApp *app, guint64 timeout, GbeRejoined *ret_rejoined,
			     GError **error)
{
	g_auto(Rejoin) r = {.app = app,
			    .timeout = timeout,
			    .result = ret_rejoined,
			    .frame.change = {.app = app, .name = OPERATION}};
	g_autoptr(GbeCluster) cluster = NULL;
	g_autoptr(GbeLock) lock = NULL;
	g_autoptr(JsonObject) intent = NULL;
	g_autoptr(GError) local = NULL;
	gbe_autofd int run_fd = -1;
	bool ok = true;

	ret_rejoined->action = "none";
	/* Two concurrent calls would each take the update lock, and one would lose its record of it. */
	if (!gbe_app_open_state(app, false, error) ||
	    !gbe_make_dirs(app->root_fd, GBE_RUN_DIR, 0755, &run_fd, error) ||
	    !gbe_lock_acquire_at(run_fd, "rejoin", OPERATION, 0, &lock, error))
		return false;
	if (!gbe_cluster_settings_read(&r.frame, &r.frame.options, error) ||
	    !read_record(&r, error) || !gbe_state_peek(app, GBE_STATE_CLUSTER, &intent, error))
		return false;
	if (intent == NULL)
		ok = rejoin_if_damaged(&r, &local);
	else if (g_str_equal(gbe_json_string(intent, "operation", ""), OPERATION))
		ok = ask_others(&r, &cluster, &local) &&
		     rejoin(&r, true, "a rejoin was interrupted", &local);
	if (ok)
		return true;
	if (g_error_matches(local, GBE_ERROR, GBE_ERROR_BUSY))
		return gbe_pass(error, &local);
	ret_rejoined->action = "waits";
	ret_rejoined->said =
	    g_strdup_printf("this member cannot rejoin its cluster yet: %s", local->message);
	ret_rejoined->known =
	    g_strcmp0(gbe_json_string(r.record, "reason", NULL), local->message) == 0;
	return note_text(&r, "reason", local->message, error);
}

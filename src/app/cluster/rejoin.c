/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "app/cluster/rejoin.h"

#include "app/by-hand/session.h"
#include "app/cluster/lock.h"
#include "app/cluster/look.h"
#include "app/cluster/setup.h"
#include "app/state/state.h"
#include "base/fault.h"
#include "core/decide/situation.h"
#include "core/json/members.h"
#include "core/json/parse.h"
#include "sys/systemd/events.h"

#define OPERATION "cluster rejoin"
#define LOCK_WAIT_MS 10000

void
gbe_rejoined_clear(GbeRejoined *rejoined)
{
	g_clear_pointer(&rejoined->said, g_free);
}

typedef struct {
	GbeApp *app;
	GbeRejoined *result;
	JsonObject *record; /* urls, locked, reason */
	GbeClusterSetup own;
	GbeClusterSetting setting;
	char *member_id; /* by the data; NULL: it does not tell */
} Rejoin;

static void
rejoin_clear(Rejoin *r)
{
	g_clear_pointer(&r->record, json_object_unref);
	g_clear_pointer(&r->member_id, g_free);
	gbe_cluster_setting_clear(&r->setting);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Rejoin, rejoin_clear)

static guint
timeout_of(const GbeApp *app)
{
	return (guint)app->config->health.request_timeout * 1000;
}

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
write_record(Rejoin *r, GError **error)
{
	bool ok = gbe_app_lock(r->app, OPERATION, LOCK_WAIT_MS, error) &&
		  gbe_state_write(r->app, GBE_STATE_MEMBERS, r->record, error);

	gbe_app_unlock(r->app);
	return ok;
}

static bool
note(Rejoin *r, const char *key, const char *value, GError **error)
{
	if (g_strcmp0(gbe_json_string(r->record, key, NULL), value) == 0)
		return true;
	gbe_json_set_string(r->record, key, value);
	return write_record(r, error);
}

static bool
note_locked(Rejoin *r, bool locked, GError **error)
{
	if (gbe_json_bool(r->record, "locked", false) == locked)
		return true;
	json_object_set_boolean_member(r->record, "locked", locked);
	return write_record(r, error);
}

/* It is reported once, and again when the reason is another one. */
static bool
wait_for(Rejoin *r, const char *why, GError **error)
{
	bool known = g_strcmp0(gbe_json_string(r->record, "reason", NULL), why) == 0;

	r->result->action = "waits";
	r->result->said = g_strdup_printf("etcd cannot use its data, and this member does not "
					  "rejoin yet: %s",
					  why);
	if (!known)
		gbe_note("%s", r->result->said);
	return note(r, "reason", why, error);
}

/* ---- the lock ---- */

static bool
release(Rejoin *r, GError **error)
{
	g_auto(GbeUpdateLockResult) lock = {NULL};

	return !gbe_json_bool(r->record, "locked", false) ||
	       (gbe_update_lock_release(r->app, false, false, &lock, error) &&
		note_locked(r, false, error));
}

static bool
take(Rejoin *r, GError **error)
{
	g_auto(GbeUpdateLockResult) look = {NULL}, lock = {NULL};

	return gbe_update_lock_take(r->app, r->own.name, true, &look, error) &&
	       (!g_str_equal(look.action, "taken") ||
		(note_locked(r, true, error) && !GBE_FAULT("rejoin-noted", error) &&
		 gbe_update_lock_take(r->app, r->own.name, false, &lock, error) &&
		 !GBE_FAULT("rejoin-locked", error)));
}

/* ---- whether ---- */

/* The own etcd answers. A call that was cut may have left the lock. */
static bool
learn(Rejoin *r, const GbeCluster *cluster, GError **error)
{
	g_autofree char *urls = gbe_cluster_urls_of_others(cluster);

	return release(r, error) && note(r, "reason", NULL, error) &&
	       (*urls == '\0' || note(r, "urls", urls, error));
}

/* A rollback may follow, and is the remedy then. */
static bool
is_on_trial(const GbeFacts *facts)
{
	return facts->can_roll_back != GBE_NO &&
	       (facts->booted.id == NULL ||
		gbe_situation_trial_of(facts, &facts->booted) != GBE_NO);
}

/* *ret_damage NULL: it is not needed. */
static bool
look_at_data(Rejoin *r, char **ret_damage, bool *ret_on_trial, GError **error)
{
	const GbeSessionOptions how = {.operation = OPERATION,
				       .data = true,
				       .inside = true,
				       .dry_run = true};
	const GbeFacts *facts;
	GbeSession session;

	if (!gbe_session_begin(r->app, &how, &session, error))
		return false;
	facts = session.observed->facts;
	if (facts->data == GBE_YES && facts->data_open == GBE_NO && facts->sound == GBE_NO)
		*ret_damage = g_strdup(facts->sound_why);
	*ret_on_trial = is_on_trial(facts);
	r->member_id = g_strdup(facts->member_id);
	return gbe_session_end(&session, error);
}

static const GbeClusterMember *
find_own(const Rejoin *r, const GbeCluster *cluster)
{
	for (guint i = 0; i < cluster->members->len; i++) {
		const GbeClusterMember *member = cluster->members->pdata[i];
		g_autofree char *id =
		    g_strdup_printf("%016" G_GINT64_MODIFIER "x", member->voter.id);

		if (g_strv_contains((const char *const *)member->peer_urls, r->own.peer_url) &&
		    (r->member_id == NULL || g_str_equal(id, r->member_id)))
			return member;
	}
	return NULL;
}

/* Asks the others. Leaves the endpoint at one that answers. */
static bool
check_others(Rejoin *r, GError **error)
{
	g_autoptr(GbeCluster) cluster = NULL;
	const GbeClusterMember *own;

	if (!gbe_cluster_look_by(r->app, gbe_json_string(r->record, "urls", ""), timeout_of(r->app),
				 &cluster, error))
		return false;
	own = find_own(r, cluster);
	if (own == NULL)
		return gbe_throw(error, GBE_ERROR_REFUSED,
				 "the others have removed it; `greenboot-etcd cluster rejoin %s` "
				 "brings it back, `greenboot-etcd cluster reset --force` ends its "
				 "membership",
				 r->app->config->etcd.endpoint);
	for (guint i = 0; i < cluster->members->len; i++) {
		const GbeClusterMember *member = cluster->members->pdata[i];

		if (member != own && member->voter.works != GBE_YES)
			return gbe_throw(error, GBE_ERROR_REFUSED, "%s does not work: %s",
					 member->name,
					 member->why != NULL ? member->why : "no reason is known");
	}
	return true;
}

/* ---- what is done ---- */

static bool
is_begun(Rejoin *r, bool *ret_begun, bool *ret_other, GError **error)
{
	g_autoptr(JsonObject) intent = NULL;

	if (!gbe_state_peek(r->app, GBE_STATE_CLUSTER, &intent, error))
		return false;
	*ret_begun =
	    intent != NULL && g_str_equal(gbe_json_string(intent, "operation", ""), OPERATION);
	*ret_other = intent != NULL && !*ret_begun;
	return true;
}

static bool
would_rejoin(const Rejoin *r, GError **error)
{
	g_autofree char *url = g_strdup(r->app->config->etcd.endpoint);
	const GbeClusterSetup options = {.url = url, .dry_run = true};
	g_auto(GbeClusterSetupResult) result = {0};

	return gbe_cluster_rejoin(r->app, &options, &result, error);
}

static bool
rejoin(Rejoin *r, guint64 timeout, const char *why, GError **error)
{
	g_autofree char *url = g_strdup(r->app->config->etcd.endpoint);
	const GbeClusterSetup options = {.url = url, .timeout = timeout};
	g_auto(GbeClusterSetupResult) result = {0};

	gbe_note("%s: this member rejoins the cluster, by %s", why, url);
	if (!gbe_cluster_rejoin(r->app, &options, &result, error))
		return false;
	gbe_app_unlock(r->app);
	gbe_event_rejoined(&(GbeEventFields){.reason = why});
	r->result->action = "rejoined";
	r->result->said = g_strdup_printf("%s is a member again, with data from the others: %s",
					  result.name, why);
	return release(r, error) && note(r, "reason", NULL, error);
}

/* *ret_why NULL: nothing is to be done, or it waits. */
static bool
decide(Rejoin *r, char **ret_why, GError **error)
{
	g_autoptr(GbeCluster) cluster = NULL;
	g_autoptr(GError) local = NULL;
	g_autofree char *damage = NULL;
	bool on_trial = false;

	if (gbe_cluster_look(r->app, timeout_of(r->app), &cluster, NULL))
		return learn(r, cluster, error);
	if (!look_at_data(r, &damage, &on_trial, error))
		return false;
	if (damage == NULL)
		return true;
	if (on_trial)
		return wait_for(r, "the update is not green yet, and a rollback may follow", error);
	if (check_others(r, &local) && would_rejoin(r, &local) && take(r, &local)) {
		*ret_why = g_steal_pointer(&damage);
		return true;
	}
	return wait_for(r, local->message, error);
}

bool
gbe_cluster_rejoin_if_needed(GbeApp *app, guint64 timeout, GbeRejoined *ret_rejoined,
			     GError **error)
{
	g_auto(Rejoin) r = {.app = app,
			    .result = ret_rejoined,
			    .setting = {.frame = {.app = app, .operation = OPERATION}}};
	g_autofree char *why = NULL;
	g_autoptr(GbeCluster) cluster = NULL;
	bool begun, other;

	ret_rejoined->action = "none";
	if (!gbe_app_open_state(app, false, error) ||
	    !gbe_cluster_setting_read(&r.setting, &r.own, error) || !read_record(&r, error) ||
	    !is_begun(&r, &begun, &other, error))
		return false;
	if (other)
		return true;
	if (!begun)
		return decide(&r, &why, error) && (why == NULL || rejoin(&r, timeout, why, error));
	return gbe_cluster_look_by(app, gbe_json_string(r.record, "urls", ""), timeout_of(app),
				   &cluster, error) &&
	       rejoin(&r, timeout, "a rejoin was interrupted", error);
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cluster/lock.h"

#include <string.h>

#include "app/health/verdict.h"
#include "app/state/state.h"
#include "app/upkeep/live-etcd.h"
#include "base/fault.h"
#include "base/format.h"
#include "cluster/core/update-lock.h"
#include "cluster/look.h"
#include "core/json/parse.h"
#include "sys/deployment/booted.h"
#include "sys/systemd/events.h"

typedef struct {
	GbeApp *app;
	GbeUpdateLockResult *result; /* NULL: nothing is said */
	GbeDeployments *deployments;
	const GbeListed *staged; /* NULL: none that waits for the lock */
	char *self;		 /* this member's name; NULL: not asked */
	char *refusal; /* why the cluster does not give the lock now; NULL: every member works */
	GbeUpdateLock record;
	char *written;	   /* the record as it is in the state; NULL: missing */
	GbeUpdateLock key; /* as it is in etcd */
	gint64 revision;   /* the key's; 0: it is not there */
	GbeLockKey whose;
	GbeAppEndpoint at;
	GbeClient *client;
	GbeCallFailure failure;
} Locking;

static void
locking_clear(Locking *l)
{
	gbe_app_unlock(l->app);
	g_clear_pointer(&l->deployments, gbe_deployments_free);
	g_clear_pointer(&l->self, g_free);
	g_clear_pointer(&l->refusal, g_free);
	g_clear_pointer(&l->written, g_free);
	gbe_update_lock_clear(&l->record);
	gbe_update_lock_clear(&l->key);
	g_clear_pointer(&l->client, gbe_client_close);
	gbe_call_failure_clear(&l->failure);
	gbe_app_endpoint_clear(&l->at);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Locking, locking_clear)

void
gbe_update_lock_result_clear(GbeUpdateLockResult *result)
{
	g_clear_pointer(&result->said, g_free);
}

static void G_GNUC_PRINTF(3, 4) say(Locking *l, const char *action, const char *format, ...)
{
	g_free(l->result->said);
	l->result->said = GBE_VFORMAT(format);
	l->result->action = action;
}

/* ---- facts ---- */

static bool
read_record(Locking *l, GError **error)
{
	g_autoptr(JsonObject) object = NULL;
	g_autoptr(GError) local = NULL;

	gbe_update_lock_clear(&l->record);
	l->record = (GbeUpdateLock){0};
	g_clear_pointer(&l->written, g_free);
	if (!gbe_app_open_state(l->app, false, &local))
		return gbe_pass_unless(error, &local, GBE_ERROR_NOT_FOUND);
	if (!gbe_state_read(l->app, GBE_STATE_UPDATE_LOCK, l->app->lock != NULL, &object, error))
		return false;
	gbe_update_lock_from_json(object, &l->record);
	/* Without an id, the owner of the key is unknown. */
	if (l->record.id != NULL)
		l->written = gbe_json_print_line(object);
	return true;
}

/* Always returns: if ->whose is unknown, ->failure has the reason. */
static void
read_key(Locking *l)
{
	GbeEtcdKeys keys = {{0}};
	g_autoptr(GError) local = NULL;

	l->whose = GBE_LOCK_KEY_UNKNOWN;
	gbe_app_endpoint(l->app, &l->at);
	/* Below --root, the endpoint may be that of this very system. */
	if (l->app->below_root && !gbe_live_etcd_check_open(l->app, &local)) {
		l->failure.why = g_strdup(local->message);
		return;
	}
	if (!gbe_client_open(&l->at.endpoint, &l->client, &l->failure) ||
	    !gbe_client_get(l->client, GBE_UPDATE_LOCK_KEY, gbe_app_deadline(l->app), &keys,
			    &l->failure))
		return;
	l->whose = GBE_LOCK_KEY_FREE;
	if (keys.list != NULL && keys.list->len > 0) {
		const GbeEtcdKey *key = &g_array_index(keys.list, GbeEtcdKey, 0);
		g_autoptr(JsonObject) object = NULL;

		if (key->value != NULL)
			(void)!gbe_json_parse_object(key->value, strlen(key->value), "it", &object,
						     NULL);
		gbe_update_lock_from_json(object, &l->key);
		l->revision = key->mod_revision;
		if (l->record.id == NULL || g_strcmp0(l->key.id, l->record.id) != 0)
			l->whose = GBE_LOCK_KEY_OTHER;
		else if (l->key.state == GBE_UPDATE_LOCK_FAILED)
			l->whose = GBE_LOCK_KEY_OWN_FAILED;
		else
			l->whose = GBE_LOCK_KEY_OWN;
	}
	gbe_message_clear(GBE_MESSAGE_KEYS, &keys);
}

/* A member that does not work may be updating, without the lock or after the lock was taken away. */
static void
look_at_members(Locking *l)
{
	g_autoptr(GbeCluster) cluster = NULL;
	g_autoptr(GError) local = NULL;

	if (!gbe_cluster_look(l->app, &cluster, &local)) {
		l->refusal = g_strdup(local->message);
		return;
	}
	for (guint i = 0; i < cluster->members->len; i++) {
		const GbeClusterMember *member = cluster->members->pdata[i];

		if (member->voter.id == cluster->self)
			l->self = g_strdup(member->name);
		if (member->voter.works != GBE_YES && l->refusal == NULL)
			l->refusal = g_strdup_printf("%s does not work: %s", member->name,
						     member->why != NULL ? member->why
									 : "no reason is known");
	}
}

/* An update whose rehearsal failed is not booted, and needs no lock. */
static void
find_staged(Locking *l)
{
	const GPtrArray *listed;

	l->deployments = gbe_deployments_load(l->app->root_fd, l->app->root_path, &l->app->cmdline);
	listed = l->deployments->listed;
	for (guint i = 0; listed != NULL && i < listed->len; i++) {
		const GbeListed *one = listed->pdata[i];

		if (one->staged && (l->app->state_fd < 0 ||
				    !gbe_state_has_locked(l->app, GBE_STATE_REHEARSAL, &one->ref)))
			l->staged = one;
	}
}

/* ---- actions ---- */

static bool
write_record(Locking *l, GError **error)
{
	g_autoptr(JsonObject) object = gbe_update_lock_to_json(&l->record);
	g_autofree char *text = gbe_json_print_line(object);

	if (g_strcmp0(text, l->written) == 0)
		return true;
	if (!gbe_state_write(l->app, GBE_STATE_UPDATE_LOCK, object, error))
		return false;
	g_free(l->written);
	l->written = g_steal_pointer(&text);
	return true;
}

static void
set_state(GbeUpdateLock *lock, GbeUpdateLockState state, const char *reason)
{
	lock->state = state;
	g_free(lock->reason);
	lock->reason = g_strdup(reason);
}

static bool
unanswered(const Locking *l, GError **error)
{
	return gbe_throw(error, gbe_call_code(&l->failure, GBE_ERROR_CANNOT_TELL), "etcd at %s: %s",
			 l->at.shown, l->failure.why);
}

/* @value NULL: removes the key. Succeeds only if the key is as it was read: another device may have been faster. */
static bool
swap_key(Locking *l, const GbeUpdateLock *value, GError **error)
{
	g_autoptr(JsonObject) object = value != NULL ? gbe_update_lock_to_json(value) : NULL;
	g_autofree char *text = NULL;
	bool swapped = false;

	if (object != NULL) {
		json_object_remove_member(object, "handle");
		json_object_remove_member(object, "locked");
		text = gbe_json_print_line(object);
	}
	if (!gbe_client_swap(l->client, GBE_UPDATE_LOCK_KEY, l->revision, text,
			     gbe_app_deadline(l->app), &swapped, &l->failure))
		return unanswered(l, error);
	return swapped ||
	       gbe_throw(error, GBE_ERROR_REFUSED, "another device has just taken the update lock");
}

static bool
keep_lease(Locking *l, GError **error)
{
	return gbe_client_lease_keep(l->client, g_ascii_strtoull(l->record.id, NULL, 16),
				     l->app->config->cluster.lock_time, gbe_app_deadline(l->app),
				     &l->failure) ||
	       unanswered(l, error);
}

/* Writes the record that this device wants the lock. Locks the staged update against finalization. */
static bool
want_lock(Locking *l, const char *reason, GError **error)
{
	GbeUpdateLock *record = &l->record;

	if (record->id == NULL) {
		/* etcd's ids of leases are positive numbers of 64 bits. */
		guint64 id = ((guint64)g_random_int() << 32 | g_random_int()) & G_MAXINT64;

		record->id = gbe_hex64(MAX(id, 1));
	}
	if (l->self != NULL) {
		g_free(record->member);
		record->member = g_strdup(l->self);
	}
	if (l->staged != NULL) {
		gbe_deployment_copy(&record->deployment, &l->staged->ref);
		/* Do not remove a lock that another program has set. */
		record->locked = record->locked || !l->staged->locked;
	}
	set_state(record, GBE_UPDATE_LOCK_WANTED, reason);
	return write_record(l, error) && !GBE_FAULT("update-lock-wanted", error) &&
	       (l->staged == NULL || l->staged->locked ||
		gbe_staged_lock(l->app->root_fd, true, error));
}

static bool
lift_staged(Locking *l, GError **error)
{
	return !l->record.locked ||
	       gbe_state_has_locked(l->app, GBE_STATE_REHEARSAL, &l->record.deployment) ||
	       gbe_staged_lock(l->app->root_fd, false, error);
}

/* The key is this device's: the staged update may be booted. @update NULL: the recorded one. */
static bool
hold_lock(Locking *l, const GbeDeployment *update, GError **error)
{
	set_state(&l->record, GBE_UPDATE_LOCK_HELD, NULL);
	if (update != NULL)
		gbe_deployment_copy(&l->record.deployment, update);
	if (!write_record(l, error) || GBE_FAULT("update-lock-held", error) ||
	    !lift_staged(l, error))
		return false;
	l->record.locked = false;
	return write_record(l, error);
}

static bool
take_lock(Locking *l, GError **error)
{
	GbeUpdateLock value;

	l->record.since = g_get_real_time() / G_USEC_PER_SEC;
	if (!want_lock(l, NULL, error) || !keep_lease(l, error) ||
	    GBE_FAULT("update-lock-leased", error))
		return false;
	value = l->record;
	value.state = GBE_UPDATE_LOCK_HELD;
	if (!swap_key(l, &value, error) || GBE_FAULT("update-lock-taken", error) ||
	    !hold_lock(l, NULL, error))
		return false;
	say(l, "taken", "this device holds the update lock now");
	gbe_event_update_locked(&(GbeEventFields){.action = "taken",
						  .deployment = l->record.deployment.id,
						  .reason = "taken"});
	return true;
}

/* As take_lock(), where the key is this device's already: of an earlier call, an earlier update, or by hand. */
static bool
keep_lock(Locking *l, GbeTurn turn, GError **error)
{
	const GbeDeployment *update = turn == GBE_TURN_STAGED  ? &l->staged->ref
				      : turn == GBE_TURN_TRIAL ? &l->deployments->booted
							       : NULL;
	GbeUpdateLock value = l->record;

	say(l, "held", "this device holds the update lock");
	if (!keep_lease(l, error))
		return false;
	if (turn != GBE_TURN_STAGED && l->whose == GBE_LOCK_KEY_OWN_FAILED)
		return true;
	if (update == NULL)
		return hold_lock(l, NULL, error);
	value.deployment = *update;
	value.state = GBE_UPDATE_LOCK_HELD;
	value.reason = NULL;
	if ((l->whose == GBE_LOCK_KEY_OWN_FAILED ||
	     g_strcmp0(l->key.deployment.id, value.deployment.id) != 0) &&
	    !swap_key(l, &value, error))
		return false;
	return hold_lock(l, update, error);
}

static bool
give_up(Locking *l, GbeTurn turn, GError **error)
{
	const char *booted = l->deployments->booted.id;
	g_autofree char *reason = NULL;
	bool known;

	if (turn == GBE_TURN_RED)
		reason = g_strdup_printf("%s is red", booted);
	else
		reason = g_strdup_printf("%s did not become green, and %s is booted",
					 l->record.deployment.id, booted);
	known = l->whose == GBE_LOCK_KEY_OWN_FAILED && g_strcmp0(l->key.reason, reason) == 0;
	say(l, "failed", "%s", reason);
	set_state(&l->record, GBE_UPDATE_LOCK_FAILED, reason);
	if (!keep_lease(l, error) || (!known && !swap_key(l, &l->record, error)) ||
	    GBE_FAULT("update-lock-failed", error) || !write_record(l, error))
		return false;
	if (!known)
		gbe_event_update_failed(
		    &(GbeEventFields){.deployment = l->record.deployment.id, .reason = reason});
	return true;
}

/* Does a staged update here still wait for its turn? */
static bool
waits_on(const Locking *l)
{
	return l->staged != NULL && l->app->config->cluster.update_lock;
}

static bool
forget_record(Locking *l, GError **error)
{
	if (waits_on(l))
		return want_lock(l, "it is not this update's turn yet", error);
	return l->written == NULL ||
	       (lift_staged(l, error) &&
		gbe_unlink_durable_at(l->app->state_fd, GBE_STATE_UPDATE_LOCK, error));
}

static bool
release_lock(Locking *l, GError **error)
{
	g_auto(GbeCallFailure) ignored = {0};

	/* Lock the update against finalization first. */
	if ((waits_on(l) && !forget_record(l, error)) || !swap_key(l, NULL, error) ||
	    GBE_FAULT("update-lock-removed", error))
		return false;
	/* A lease without a key is harmless, and ends automatically. */
	if (!gbe_client_change(l->client, GBE_MESSAGE_LEASE_REVOKE,
			       g_ascii_strtoull(l->record.id, NULL, 16), gbe_app_deadline(l->app),
			       &ignored))
		g_debug("the lease ends automatically: %s", ignored.why);
	if (!forget_record(l, error))
		return false;
	say(l, "released", "this device has released the update lock");
	gbe_event_update_locked(&(GbeEventFields){.action = "released", .reason = "released"});
	return true;
}

static bool
wait_for_it(Locking *l, GbeTurn turn, GError **error)
{
	g_autofree char *holder = gbe_update_lock_to_text(&l->key);
	g_autofree char *before = g_strdup(l->record.reason);
	const char *why = l->refusal;

	if (turn == GBE_TURN_NONE)
		return true;
	if (l->whose == GBE_LOCK_KEY_UNKNOWN)
		why = l->failure.why;
	else if (l->whose == GBE_LOCK_KEY_OTHER)
		why = holder;
	say(l, "waits", "the update lock: %s",
	    why != NULL ? why : "the booted deployment is unknown");
	/* A lock that is held stays held while etcd does not answer. */
	if (turn != GBE_TURN_STAGED ||
	    (l->whose == GBE_LOCK_KEY_UNKNOWN && l->record.state == GBE_UPDATE_LOCK_HELD &&
	     l->record.id != NULL && gbe_deployment_same(&l->record.deployment, &l->staged->ref)))
		return true;
	if (g_strcmp0(before, why) != 0)
		gbe_note("the update %s waits for the update lock: %s", l->staged->ref.id, why);
	return want_lock(l, why, error);
}

/* No table of steps (app/device/change.h): after a cut, the key in etcd decides the next action, not the last one. */
static bool
act_on(Locking *l, GbeTurn turn, GError **error)
{
	switch (gbe_lock_step(turn, l->whose, l->refusal == NULL)) {
	case GBE_LOCK_WAIT:
		return wait_for_it(l, turn, error);
	case GBE_LOCK_TAKE:
		return take_lock(l, error);
	case GBE_LOCK_HOLD:
		return keep_lock(l, turn, error);
	case GBE_LOCK_FAIL:
		return give_up(l, turn, error);
	case GBE_LOCK_RELEASE:
		return release_lock(l, error);
	case GBE_LOCK_FORGET:
		return forget_record(l, error);
	}
	return true;
}

bool
gbe_update_lock_tend(GbeApp *app, GbeUpdateLockResult *ret_result, GError **error)
{
	g_auto(Locking) l = {.app = app, .result = ret_result};
	g_autoptr(GbeFacts) facts = NULL;
	g_autoptr(GError) local = NULL;
	GbeTurn turn;

	ret_result->action = "none";
	if (!read_record(&l, error))
		return false;
	find_staged(&l);
	if (l.written == NULL && l.staged == NULL)
		return true;
	/* Before the program's lock: members that do not answer take their time. */
	if (l.staged != NULL)
		look_at_members(&l);
	if (!gbe_app_lock(app, "cluster lock", GBE_WAIT_UNIT, error) || !read_record(&l, error) ||
	    !gbe_verdict_look(app, &l.deployments->booted, &facts, error))
		return false;
	read_key(&l);
	turn = gbe_turn_of(facts, l.deployments->listed, l.staged, l.written != NULL,
			   &l.record.deployment);
	if (act_on(&l, turn, &local))
		return true;
	/* The next call reads the result. */
	if (!g_error_matches(local, GBE_ERROR, GBE_ERROR_CANNOT_TELL) &&
	    !gbe_pass_unless(error, &local, GBE_ERROR_REFUSED))
		return false;
	say(&l, "waits", "%s", local->message);
	return true;
}

/* ---- by hand ---- */

static bool
begin_by_hand(Locking *l, bool dry_run, GError **error)
{
	if (!dry_run && !gbe_app_lock(l->app, "cluster lock", GBE_WAIT_UNIT, error))
		return false;
	if (!read_record(l, error))
		return false;
	find_staged(l);
	read_key(l);
	return l->whose != GBE_LOCK_KEY_UNKNOWN || unanswered(l, error);
}

bool
gbe_update_lock_take(GbeApp *app, bool dry_run, GbeUpdateLockResult *ret_result, GError **error)
{
	g_auto(Locking) l = {.app = app, .result = ret_result};
	g_autofree char *holder = NULL;

	look_at_members(&l);
	if (!begin_by_hand(&l, dry_run, error))
		return false;
	holder = gbe_update_lock_to_text(&l.key);
	if (l.whose == GBE_LOCK_KEY_OTHER || l.whose == GBE_LOCK_KEY_OWN_FAILED)
		return gbe_throw(error, GBE_ERROR_REFUSED,
				 "the update lock is not free: %s; `greenboot-etcd cluster unlock "
				 "--force` releases it",
				 holder);
	if (l.whose == GBE_LOCK_KEY_OWN)
		return dry_run ||
		       keep_lock(&l, l.staged != NULL ? GBE_TURN_STAGED : GBE_TURN_BY_HAND, error);
	if (l.refusal != NULL)
		return gbe_throw(error, GBE_ERROR_REFUSED, "the update lock is not given: %s",
				 l.refusal);
	if (!dry_run)
		return take_lock(&l, error);
	say(&l, "taken", "this device holds the update lock now");
	return true;
}

bool
gbe_update_lock_release(GbeApp *app, bool force, bool dry_run, GbeUpdateLockResult *ret_result,
			GError **error)
{
	g_auto(Locking) l = {.app = app, .result = ret_result};
	g_autofree char *holder = NULL;

	if (!begin_by_hand(&l, dry_run, error))
		return false;
	holder = gbe_update_lock_to_text(&l.key);
	if (l.whose != GBE_LOCK_KEY_OWN && l.whose != GBE_LOCK_KEY_FREE && !force)
		return gbe_throw(error, GBE_ERROR_REFUSED,
				 "the update lock is %s. First make sure that this update has "
				 "ended, then use --force",
				 holder);
	if (l.whose == GBE_LOCK_KEY_FREE) {
		say(&l, "none", "the update lock is free");
		return dry_run || forget_record(&l, error);
	}
	if (!dry_run && l.whose != GBE_LOCK_KEY_OTHER)
		return release_lock(&l, error);
	if (!dry_run && !swap_key(&l, NULL, error))
		return false;
	say(&l, "released", "the update lock is free: it was %s", holder);
	return true;
}

/* ---- to rejoin ---- */

bool
gbe_update_lock_take_to_rejoin(GbeApp *app, const char *id, const char *member, GError **error)
{
	g_auto(Locking) l = {.app = app};
	GbeUpdateLock value = {.id = (char *)id,
			       .member = (char *)member,
			       .state = GBE_UPDATE_LOCK_HELD,
			       .reason = (char *)"to rejoin",
			       .since = g_get_real_time() / G_USEC_PER_SEC};
	g_autofree char *holder = NULL;

	if (!read_record(&l, error))
		return false;
	read_key(&l);
	if (l.whose == GBE_LOCK_KEY_UNKNOWN)
		return unanswered(&l, error);
	if (l.whose == GBE_LOCK_KEY_FREE)
		return swap_key(&l, &value, error) && !GBE_FAULT("update-lock-taken", error);
	holder = gbe_update_lock_to_text(&l.key);
	return l.whose != GBE_LOCK_KEY_OTHER || g_strcmp0(l.key.id, id) == 0 ||
	       gbe_throw(error, GBE_ERROR_REFUSED, "the update lock is not free: %s", holder);
}

bool
gbe_update_lock_release_rejoined(GbeApp *app, const char *id, GError **error)
{
	g_auto(Locking) l = {.app = app};

	read_key(&l);
	if (l.whose == GBE_LOCK_KEY_UNKNOWN)
		return unanswered(&l, error);
	return g_strcmp0(l.key.id, id) != 0 ||
	       (swap_key(&l, NULL, error) && !GBE_FAULT("update-lock-removed", error));
}

bool
gbe_update_lock_abandon(GbeApp *app, GError **error)
{
	g_auto(Locking) l = {.app = app};
	g_autoptr(GError) local = NULL;

	if (!read_record(&l, error))
		return false;
	if (l.written == NULL)
		return true;
	read_key(&l);
	if (l.whose == GBE_LOCK_KEY_UNKNOWN)
		(void)unanswered(&l, &local);
	else if (l.whose == GBE_LOCK_KEY_OWN || l.whose == GBE_LOCK_KEY_OWN_FAILED)
		(void)!swap_key(&l, NULL, &local);
	if (local != NULL)
		gbe_complain("this device may still hold the update lock: %s; look with "
			     "`greenboot-etcd cluster status` on another member",
			     local->message);
	return lift_staged(&l, error) &&
	       gbe_unlink_durable_at(app->state_fd, GBE_STATE_UPDATE_LOCK, error);
}

bool
gbe_update_lock_look(GbeApp *app, GbeUpdateLockSeen *ret_seen, GError **error)
{
	g_auto(Locking) l = {.app = app};
	bool alive = true;

	/* Without root, only the owner is unknown. */
	(void)!read_record(&l, NULL);
	read_key(&l);
	if (l.whose == GBE_LOCK_KEY_UNKNOWN)
		return unanswered(&l, error);
	*ret_seen = (GbeUpdateLockSeen){.held = l.whose != GBE_LOCK_KEY_FREE,
					.own = l.whose == GBE_LOCK_KEY_OWN ||
					       l.whose == GBE_LOCK_KEY_OWN_FAILED};
	if (l.key.id != NULL && l.key.deployment.id != NULL &&
	    l.key.state == GBE_UPDATE_LOCK_HELD &&
	    !gbe_client_lease_look(l.client, g_ascii_strtoull(l.key.id, NULL, 16),
				   gbe_app_deadline(l.app), &alive, &l.failure))
		return unanswered(&l, error);
	ret_seen->overdue = !alive;
	ret_seen->lock = l.key;
	l.key = (GbeUpdateLock){0};
	return true;
}

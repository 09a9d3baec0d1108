/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "app/rehearse/rehearse.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "app/by-hand/session.h"
#include "app/run/etcd-copy.h"
#include "app/state/configuration.h"
#include "app/state/state.h"
#include "base/fault.h"
#include "core/decide/situation.h"
#include "core/space.h"
#include "core/version.h"
#include "etcd/directory/directory.h"
#include "etcd/layout.h"
#include "fs/copy/extents.h"
#include "fs/exchange.h"
#include "fs/probe.h"
#include "fs/reserve.h"
#include "fs/tree.h"
#include "sys/systemd/events.h"

/* With users, etcd computes a slow hash of the password. */
#define ASK_USEC (2 * G_USEC_PER_SEC)
#define ANSWER_USEC (30 * G_USEC_PER_SEC)
#define KEY "greenboot-etcd/rehearsal"

#define PLACE "rehearse"
#define LIVE_TRIES 3
/* Two segments of its log, and what it adds to its database. */
#define ETCD_WRITES (192U << 20)
#define WAIT_USEC (5 * G_USEC_PER_SEC)

typedef struct {
	GbeApp *app;
	const GbeRehearse *options;
	const GbeObserved *observed;
	const GbeListed *update;
	GbeRehearsal *rehearsal;
	GbeConfig *config; /* of the update */
	char *tree;
	int tree_fd;
	GbeEtcdCopy copy;
	GbeDirectory before; /* the clone, before any etcd had it */
	GbeRehearseVersions versions;
	/* The answers of the etcd on the clone. */
	char *version;	 /* NULL before the first round */
	gint64 revision; /* the last one */
	bool refused;	 /* etcd asked for a user, and was not asked everything */
} Rehearsing;

static void
rehearsing_clear(Rehearsing *r)
{
	gbe_etcd_copy_clear(&r->copy);
	gbe_directory_clear(&r->before);
	g_clear_pointer(&r->config, gbe_config_free);
	g_clear_pointer(&r->tree, g_free);
	g_clear_pointer(&r->version, g_free);
	gbe_close_fd(&r->tree_fd);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Rehearsing, rehearsing_clear)

/* ---- the questions to the etcd on the clone ---- */

static gint64
soon(void)
{
	return g_get_monotonic_time() + ANSWER_USEC;
}

static bool
is_ready(gpointer data)
{
	Rehearsing *r = data;
	g_auto(GbeCallFailure) failure = {0};
	GbeEtcdStatus status = {{0}};
	bool ready;

	if (!gbe_etcd_copy_connect(&r->copy, &failure))
		return false;
	if (!gbe_client_status(r->copy.client, g_get_monotonic_time() + ASK_USEC, &status,
			       &failure))
		return failure.reach == GBE_REACH_NO_USER;
	ready = status.leader != 0;
	gbe_message_clear(GBE_MESSAGE_STATUS, &status);
	return ready;
}

/* True: etcd refused, for it asks for a user, as today's etcd would. */
static bool
no_answer(Rehearsing *r, const char *question, const GbeCallFailure *failure, GError **error)
{
	bool starved = gbe_walled_is_starved(&r->copy.run, ANSWER_USEC / G_USEC_PER_SEC);

	if (failure->reach == GBE_REACH_NO_USER) {
		r->refused = true;
		return true;
	}
	return gbe_throw(error, starved ? GBE_ERROR_CANNOT_TELL : GBE_ERROR_VERIFY_FAILED,
			 "etcd does not answer %s%s: %s", question,
			 starved ? ", as the device is busy" : "",
			 failure->why != NULL ? failure->why : "no reason given");
}

/* A compaction in the log, which etcd has applied meanwhile, changes the hash. */
static bool
check_hash(Rehearsing *r, GError **error)
{
	const GbeDb *db = &r->before.db;
	g_auto(GbeCallFailure) failure = {0};
	GbeEtcdHashKv hash = {{0}};

	if (!db->has_hash_kv || db->revision <= 0)
		return true;
	if (!gbe_client_hash_kv(r->copy.client, db->revision, soon(), &hash, &failure))
		return failure.reach == GBE_REACH_DENIED && failure.status == GBE_GRPC_OUT_OF_RANGE
			   ? true
			   : no_answer(r, "HashKV", &failure, error);
	return hash.compact_revision != db->compact_revision || hash.hash == db->hash_kv ||
	       gbe_throw(error, GBE_ERROR_VERIFY_FAILED,
			 "etcd has other keys than the data at revision %" G_GINT64_FORMAT,
			 db->revision);
}

static bool
check_key(Rehearsing *r, gint64 wanted, GError **error)
{
	g_auto(GbeCallFailure) failure = {0};
	GbeEtcdRange range = {{0}};

	if (!gbe_client_count(r->copy.client, KEY, soon(), &range, &failure))
		return no_answer(r, "a get", &failure, error);
	return range.count == wanted || gbe_throw(error, GBE_ERROR_VERIFY_FAILED, "etcd %s",
						  wanted == 1 ? "does not have a key that it took"
							      : "has a key that it deleted");
}

static bool
write_key(Rehearsing *r, GError **error)
{
	GbeClient *client = r->copy.client;
	g_auto(GbeCallFailure) failure = {0};

	/* With an alarm, today's etcd also refuses to write. */
	if (!gbe_client_write(client, KEY, "rehearsal", soon(), &failure))
		return (failure.reach == GBE_REACH_DENIED && r->before.db.refuses) ||
		       no_answer(r, "a put", &failure, error);
	if (!check_key(r, 1, error))
		return false;
	if (!gbe_client_write(client, KEY, NULL, soon(), &failure))
		return no_answer(r, "a delete", &failure, error);
	r->revision += 2;
	return check_key(r, 0, error);
}

/* Waits until etcd is ready, and asks: leader, member, cluster, revision, HashKV. A later round has to give what an
 * earlier one did. @write: also puts, gets and deletes a key of its own. GBE_ERROR_VERIFY_FAILED: etcd ended, hangs, or
 * gives a wrong answer. A refusal for lack of a user does not count against the update's etcd: ->refused. */
static bool
ask_etcd(Rehearsing *r, bool write, GError **error)
{
	const GbeWalledWait until_ready = {.seconds = r->options->timeout,
					   .ready = is_ready,
					   .ready_data = r,
					   .progress = r->options->progress,
					   .progress_data = r->options->progress_data};
	const GbeWalMetadata *own = &r->before.wal.metadata;
	/* Revisions before the first row are etcd's own matter, so 0 is not compared. */
	gint64 least = MAX(r->before.db.revision, r->revision);
	g_auto(GbeCallFailure) failure = {0};
	g_autofree char *version = NULL;
	GbeEtcdStatus status = {{0}};
	GbeEtcdHeader header;

	if (!gbe_walled_wait(&r->copy.run, &until_ready, error))
		return false;
	if (!gbe_client_status(r->copy.client, soon(), &status, &failure))
		return no_answer(r, "status", &failure, error);
	header = status.header;
	version = g_strdup(status.version);
	gbe_message_clear(GBE_MESSAGE_STATUS, &status);
	if (r->before.wal.has_metadata &&
	    (header.member_id != own->member || header.cluster_id != own->cluster))
		return gbe_throw(error, GBE_ERROR_VERIFY_FAILED,
				 "etcd says that it is another member or cluster");
	if (header.revision < least)
		return gbe_throw(error, GBE_ERROR_VERIFY_FAILED,
				 "etcd is at revision %" G_GINT64_FORMAT
				 ", and the data at %" G_GINT64_FORMAT,
				 header.revision, least);
	r->revision = header.revision;
	g_free(r->version);
	r->version = g_steal_pointer(&version);
	return check_hash(r, error) && (!write || write_key(r, error));
}

/* Of an etcd that was not asked everything: compares the files that it left with the data. The log may have had requests
 * that the database lacked: then its keys have changed. */
static bool
check_files(const Rehearsing *r, const GbeDirectory *after, GError **error)
{
	const GbeDb *then = &r->before.db, *now = &after->db;
	bool same_point = now->revision == then->revision &&
			  now->compact_revision == then->compact_revision && now->has_hash_kv &&
			  then->has_hash_kv;

	if (now->revision < then->revision)
		return gbe_throw(error, GBE_ERROR_VERIFY_FAILED,
				 "etcd left revision %" G_GINT64_FORMAT
				 ", and the data is at %" G_GINT64_FORMAT,
				 now->revision, then->revision);
	return !same_point || now->hash_kv == then->hash_kv ||
	       gbe_throw(error, GBE_ERROR_VERIFY_FAILED,
			 "etcd left other keys than the data has at revision %" G_GINT64_FORMAT,
			 now->revision);
}

/* ---- the rehearsal ---- */

/* Before anything is cloned: the answer to most updates that cannot work. */
static bool
compare_versions(Rehearsing *r, GError **error)
{
	GbeRehearsal *rehearsal = r->rehearsal;
	g_autofree char *why = NULL;

	r->versions.update = gbe_version_parse(rehearsal->to);
	g_clear_pointer(&rehearsal->going_back, g_free);
	rehearsal->goes_back = gbe_rehearse_goes_back(&r->versions, &rehearsal->going_back);
	return gbe_rehearse_starts(&r->versions, &why) != GBE_NO ||
	       gbe_throw(error, GBE_ERROR_VERIFY_FAILED, "%s", why);
}

static GbeEtcdCopyStart
etcd_of_update(const Rehearsing *r)
{
	return (GbeEtcdCopyStart){.tree = r->tree,
				  .tree_fd = r->tree_fd,
				  .program = r->config->etcd.binary,
				  .command = r->config->preflight.rehearse_command,
				  .seconds = 3 * r->options->timeout};
}

static GbeEtcdCopyStart
etcd_of_today(const Rehearsing *r)
{
	return (GbeEtcdCopyStart){.tree_fd = -1,
				  .program = r->app->config->etcd.binary,
				  .seconds = r->options->timeout};
}

/* Is the program missing, or is the entry of that name not a program? */
static bool
is_missing(const GError *error)
{
	return g_error_matches(error, GBE_ERROR, GBE_ERROR_NOT_FOUND) ||
	       g_error_matches(error, GBE_ERROR, GBE_ERROR_REFUSED);
}

/* Throws for an etcd of the update that did not run, for the reason @why. Today's etcd, started in the same way, shows
 * whether this device can run an etcd. */
static bool
throw_not_run(Rehearsing *r, const GError *why, GError **error)
{
	const GbeEtcdCopyStart start = etcd_of_today(r);
	g_autofree char *version = NULL;
	bool failed =
	    (is_missing(why) || g_error_matches(why, GBE_ERROR, GBE_ERROR_VERIFY_FAILED)) &&
	    gbe_etcd_copy_version(&r->copy, &start, &version, NULL);

	return gbe_throw(error, failed ? GBE_ERROR_VERIFY_FAILED : GBE_ERROR_CANNOT_TELL,
			 "the update's etcd%s: %s", failed ? " does not run, and today's does" : "",
			 why->message);
}

static bool
ask_version(Rehearsing *r, GError **error)
{
	const GbeEtcdCopyStart start = etcd_of_update(r);
	g_autoptr(GError) local = NULL;
	struct stat st;
	gbe_autofd int member_fd = -1;

	if (!gbe_layout_open(r->observed->data->fd, r->observed->data->member_path, "member",
			     &member_fd, error))
		return false;
	if (fstat(member_fd, &st) < 0)
		return gbe_throw_errno(error, errno, "cannot look at member");
	if (!gbe_etcd_copy_make(r->app, r->observed->store, PLACE, &st, &r->copy, error) ||
	    GBE_FAULT("rehearse-made", error))
		return false;
	if (!gbe_etcd_copy_version(&r->copy, &start, &r->rehearsal->to, &local) &&
	    start.command == NULL)
		return throw_not_run(r, local, error);
	return compare_versions(r, error);
}

/* A copy must be small, and leave room. */
static bool
check_copy(const Rehearsing *r, GError **error)
{
	guint64 most = r->app->config->preflight.rehearse_copy_max;
	g_autofree char *size = NULL, *most_text = NULL;
	guint64 available, total, inodes;
	GbeExtents extents = {0};
	GbeRoom room;

	if (r->observed->facts->clones == GBE_YES) {
		/* Else the update's etcd would be blamed for a disk that today's etcd has filled. */
		if (!gbe_filesystem_space(r->observed->store->fd, &available, &total, &inodes,
					  error))
			return false;
		return available >= ETCD_WRITES ||
		       gbe_throw(error, GBE_ERROR_NO_SPACE,
				 "less than %u MiB are free where the store %s lies, and etcd "
				 "needs that to start",
				 ETCD_WRITES >> 20, r->observed->store->path);
	}
	if (!gbe_extents_of_tree(r->observed->data->fd, false, &extents, error) ||
	    !gbe_room_begin(r->observed->store->fd, &room, error) ||
	    !gbe_room_check(&room, extents.allocated, "a copy of the data", error))
		return false;
	if (extents.allocated <= most)
		return true;
	size = gbe_size_to_text(extents.allocated);
	most_text = gbe_size_to_text(most);
	return gbe_throw(error, GBE_ERROR_CANNOT_TELL,
			 "the file system does not clone, and a copy takes %s; [preflight] "
			 "rehearse-copy-max is %s",
			 size, most_text);
}

/* *ret_what, newly allocated: what is wrong with the clone; NULL: it is sound. */
static bool
read_clone(const Rehearsing *r, GbeDirectory *directory, char **ret_what, GError **error)
{
	const GbeDbOptions full = {.level = GBE_VERIFY_FULL};
	g_auto(GbeFindings) findings = {0};
	GbeSeverity worst;

	gbe_findings_init(&findings);
	if (!gbe_directory_read(r->copy.data_fd, "", -1, &full, directory, &findings, error))
		return false;
	worst = gbe_findings_worst(&findings);
	if (worst == GBE_FINDING_DAMAGE || worst == GBE_FINDING_UNKNOWN)
		*ret_what = gbe_finding_to_text(gbe_findings_first(&findings));
	return true;
}

/* Clones of files that are being written may come from between two writes. */
static bool
clone_until_sound(Rehearsing *r, GError **error)
{
	const GbeData *data = r->observed->data;
	bool live = r->observed->facts->data_open != GBE_NO;
	g_autoptr(GbeLock) maintenance = NULL;

	if (live && !gbe_maintenance_lock(r->app, "rehearse", &maintenance, error))
		return false;
	for (guint try = 1;; try++) {
		g_autofree char *what = NULL;

		gbe_directory_clear(&r->before);
		r->before = (GbeDirectory){0};
		if (!gbe_etcd_copy_clone(&r->copy, data->fd, data->member_path, data->wal_fd, live,
					 r->observed->facts->clones == GBE_YES, error) ||
		    !read_clone(r, &r->before, &what, error))
			return false;
		if (what == NULL && r->before.has_db && r->before.db_tells)
			return true;
		if (!live || try == LIVE_TRIES)
			return gbe_throw(error, GBE_ERROR_CANNOT_TELL, "today's data: %s",
					 what != NULL ? what : "there is no database yet");
	}
}

static bool
prepare(Rehearsing *r, GError **error)
{
	const GbeFacts *facts = r->observed->facts;
	const GbeRunRecord *run = gbe_facts_this_run(facts);
	g_autofree char *program = NULL;

	if (facts->data != GBE_YES)
		return gbe_throw(error, GBE_ERROR_CANNOT_TELL, "there is no etcd data in %s",
				 r->observed->data->path);
	if (facts->store == GBE_NO || r->observed->store->fd < 0)
		return gbe_observed_no_store(r->observed, error) ||
		       gbe_rethrow(error, GBE_ERROR_CANNOT_TELL);
	if (run != NULL && run->health == GBE_HEALTH_UNHEALTHY)
		return gbe_throw(error, GBE_ERROR_CANNOT_TELL, "today's etcd is not healthy (%s)",
				 run->reason != NULL ? run->reason : "no reason recorded");
	if (!gbe_data_check_whole(r->observed->data, error) ||
	    !gbe_deployments_open_tree(r->app->root_fd, r->update->ref.id, &r->tree, &r->tree_fd,
				       error))
		return false;
	if (!gbe_configuration_of_tree(r->app, r->tree_fd, &r->config, error) ||
	    !ask_version(r, error))
		return false;
	if (r->app->config->preflight.rehearse == GBE_REHEARSE_VERSIONS)
		return gbe_throw(error, GBE_ERROR_CANNOT_TELL,
				 "only the versions were compared ([preflight] rehearse=versions), "
				 "and they fit");
	/* etcd within another program does not start as etcd does. */
	program = g_path_get_basename(r->config->etcd.binary);
	if (r->config->preflight.rehearse_command == NULL && !g_str_equal(program, "etcd") &&
	    !g_str_has_prefix(program, "etcd-"))
		return gbe_throw(error, GBE_ERROR_CANNOT_TELL,
				 "only the versions were compared, and they fit: %s is not etcd "
				 "itself; [preflight] rehearse-command= starts it",
				 r->config->etcd.binary);
	if (!check_copy(r, error) || !clone_until_sound(r, error) ||
	    GBE_FAULT("rehearse-cloned", error))
		return false;
	if (r->before.conf.voters != NULL && r->before.conf.voters->len != 1)
		return gbe_throw(error, GBE_ERROR_CANNOT_TELL,
				 "one of %u members does not work alone; the versions fit",
				 r->before.conf.voters->len);
	r->versions.cluster = gbe_version_parse(r->before.db.cluster_version);
	r->versions.storage = gbe_version_parse(r->before.db.storage_version);
	return compare_versions(r, error);
}

/* Starts etcd and asks it. */
static bool
play(Rehearsing *r, const GbeEtcdCopyStart *start, bool write, GError **error)
{
	g_autoptr(GError) local = NULL;

	if (!gbe_etcd_copy_start(&r->copy, start, &local))
		return start->tree != NULL && is_missing(local) ? throw_not_run(r, local, error)
								: gbe_pass(error, &local);
	if (GBE_FAULT("rehearse-started", error) || !ask_etcd(r, write, error) ||
	    GBE_FAULT("rehearse-asked", error))
		return false;
	gbe_etcd_copy_end(&r->copy);
	return !GBE_FAULT("rehearse-ended", error);
}

static bool
work(Rehearsing *r, GError **error)
{
	GbeRehearsal *rehearsal = r->rehearsal;
	GbeEtcdCopyStart start;
	g_autoptr(GError) local = NULL;
	g_auto(GbeDirectory) after = {0};
	g_autofree char *what = NULL;

	if (!prepare(r, error))
		return false;
	start = etcd_of_update(r);
	if (!play(r, &start, true, error) || !play(r, &start, false, error) ||
	    !read_clone(r, &after, &what, error))
		return false;
	if (what != NULL)
		return gbe_throw(error, GBE_ERROR_VERIFY_FAILED, "etcd left damaged data: %s",
				 what);
	if (r->refused && !check_files(r, &after, error))
		return false;
	if (r->app->config->preflight.rehearse != GBE_REHEARSE_FULL)
		return true;
	/* The way back, for certain: today's etcd on what the update's etcd left. */
	start = etcd_of_today(r);
	g_clear_pointer(&rehearsal->going_back, g_free);
	if (play(r, &start, false, &local)) {
		rehearsal->goes_back = GBE_YES;
		return true;
	}
	rehearsal->goes_back =
	    g_error_matches(local, GBE_ERROR, GBE_ERROR_VERIFY_FAILED) ? GBE_NO : GBE_UNKNOWN;
	rehearsal->going_back = g_strdup_printf("today's etcd: %s", local->message);
	return true;
}

static bool
record_rehearsal(GbeApp *app, const GbeListed *update, GbeRehearsal *rehearsal, GError **error)
{
	g_autoptr(JsonObject) before = NULL;
	g_auto(GbeRehearsal) last = {{0}};
	g_autoptr(JsonObject) object = NULL;
	bool wanted = app->config->preflight.lock_failed && update->staged &&
		      rehearsal->result == GBE_REHEARSAL_FAILED;

	if (!gbe_state_read(app, GBE_STATE_REHEARSAL, true, &before, error))
		return false;
	gbe_rehearsal_read(before, &last);
	/* A rehearsal of another deployment says nothing of the staged one that failed, and lifts no lock. */
	if (!update->staged && last.locked && !gbe_deployment_same(&last.deployment, &update->ref))
		return true;
	rehearsal->locked = last.locked && gbe_deployment_same(&last.deployment, &update->ref) &&
			    rehearsal->result != GBE_REHEARSAL_PASSED;
	/* The lock is recorded before it is made, so that it is always known whose it is. */
	rehearsal->locked = rehearsal->locked || wanted;
	object = gbe_rehearsal_print(rehearsal);
	if (!gbe_state_write(app, GBE_STATE_REHEARSAL, object, error))
		return false;
	if (!wanted && (!last.locked || rehearsal->locked ||
			gbe_state_has_locked(app, GBE_STATE_UPDATE_LOCK, &update->ref)))
		return true;
	return gbe_staged_lock(app->root_fd, wanted, error);
}

static char *
today_etcd(const GbeFacts *facts)
{
	const GbeRunRecord *run = gbe_facts_this_run(facts);
	GbeVersion version = facts->etcd_version;

	if (run != NULL && run->etcd_version != NULL)
		return g_strdup(run->etcd_version);
	return version.known ? g_strdup_printf("%u.%u", version.major, version.minor) : NULL;
}

/* Under the lock. */
static bool
rehearse_update(GbeApp *app, const GbeRehearse *options, const GbeObserved *observed,
		GbeRehearsal *rehearsal, GError **error)
{
	const GbeFacts *facts = observed->facts;
	const GbeStore *store = observed->store;
	g_auto(Rehearsing) r = {
	    .app = app,
	    .options = options,
	    .observed = observed,
	    .update = gbe_observe_find(
		facts, options->deployment != NULL ? options->deployment : "staged", error),
	    .rehearsal = rehearsal,
	    .tree_fd = -1,
	    .copy = GBE_ETCD_COPY_NONE};
	gint64 began = g_get_monotonic_time();
	g_autoptr(GError) local = NULL;

	if (r.update == NULL)
		return gbe_rethrow(error, GBE_ERROR_CANNOT_TELL);
	if (options->by_itself && gbe_situation_is_being_judged(facts))
		return gbe_throw(error, GBE_ERROR_BUSY, "greenboot has not judged this boot yet");
	gbe_deployment_copy(&rehearsal->deployment, &r.update->ref);
	rehearsal->from = today_etcd(facts);
	r.versions.server = gbe_version_parse(rehearsal->from);
	rehearsal->at = facts->now;
	rehearsal->result = GBE_REHEARSAL_PASSED;
	if (!work(&r, &local)) {
		if (options->progress != NULL && !options->progress(0, 0, options->progress_data))
			return gbe_pass(error, &local);
		rehearsal->result = g_error_matches(local, GBE_ERROR, GBE_ERROR_VERIFY_FAILED)
					? GBE_REHEARSAL_FAILED
					: GBE_REHEARSAL_NOT_REHEARSED;
		rehearsal->reason = g_strdup(local->message);
	}
	if (rehearsal->to == NULL)
		rehearsal->to = g_steal_pointer(&r.version);
	rehearsal->duration_usec = g_get_monotonic_time() - began;
	gbe_walled_clear(&r.copy.run);
	if (options->keep && r.copy.place != NULL &&
	    (!gbe_remove_tree_at(store->fd, GBE_REHEARSAL_KEPT, error) ||
	     !gbe_rename_new_at(store->fd, r.copy.place, store->fd, GBE_REHEARSAL_KEPT, error)))
		return false;
	return record_rehearsal(app, r.update, rehearsal, error);
}

bool
gbe_rehearse(GbeApp *app, const GbeRehearse *options, GbeRehearsal *ret_rehearsal, GError **error)
{
	const GbeSessionOptions how = {.operation = "rehearse", .data = true, .open_allowed = true};
	g_auto(GbeRehearsal) rehearsal = {{0}};
	GbeEventFields fields;
	GbeSession session;
	bool ok;

	gbe_rehearsal_read(NULL, &rehearsal);
	if (!gbe_session_begin(app, &how, &session, error))
		return false;
	ok = rehearse_update(app, options, session.observed, &rehearsal, error);
	gbe_session_leave(&session);
	if (!ok)
		return false;
	fields = (GbeEventFields){.action = gbe_rehearsal_result_to_string(rehearsal.result),
				  .deployment = rehearsal.deployment.id,
				  .reason = rehearsal.reason,
				  .duration_usec = rehearsal.duration_usec};
	if (rehearsal.result == GBE_REHEARSAL_PASSED)
		gbe_event_rehearsed(&fields);
	else if (rehearsal.result == GBE_REHEARSAL_FAILED)
		gbe_event_rehearsal_failed(&fields);
	else
		gbe_event_not_rehearsed(&fields);
	*ret_rehearsal = rehearsal;
	rehearsal = (GbeRehearsal){{0}};
	return true;
}

/* Is the staged deployment one that has no answer yet? */
static bool
is_due(GbeApp *app, const GbeFacts *facts)
{
	g_autoptr(JsonObject) object = NULL;
	g_auto(GbeRehearsal) last = {{0}};
	g_autofree char *today = today_etcd(facts);
	const GbeListed *staged = gbe_observe_find(facts, "staged", NULL);

	if (!gbe_state_read(app, GBE_STATE_REHEARSAL, false, &object, NULL))
		return true;
	gbe_rehearsal_read(object, &last);
	return staged != NULL && !gbe_rehearsal_answers(&last, &staged->ref, today);
}

void
gbe_rehearse_staged(GbeApp *app, guint patience)
{
	const GbeObserveOptions look = {.tolerant = true};
	const GbeRehearse options = {.timeout = GBE_REHEARSE_SECONDS, .by_itself = true};
	gint64 until = g_get_monotonic_time() + (gint64)patience * G_USEC_PER_SEC;
	g_autoptr(GbeObserved) observed = NULL;
	g_autofree char *complaint = NULL;
	g_autoptr(GError) error = NULL;

	gbe_configuration_choose(app, NULL, &complaint);
	if (app->config->preflight.rehearse == GBE_REHEARSE_NO || gbe_config_is_off(app->config) ||
	    !gbe_observe(app, &look, &observed, &error) || !is_due(app, observed->facts)) {
		if (error != NULL)
			gbe_note("%s", error->message);
		return;
	}
	g_clear_pointer(&observed, gbe_observed_free);
	for (;;) {
		g_auto(GbeRehearsal) rehearsal = {{0}};

		g_clear_error(&error);
		if (gbe_rehearse(app, &options, &rehearsal, &error))
			return;
		if (!g_error_matches(error, GBE_ERROR, GBE_ERROR_BUSY) ||
		    g_get_monotonic_time() + WAIT_USEC > until)
			break;
		gbe_note("the rehearsal waits: %s", error->message);
		g_usleep(WAIT_USEC);
	}
	gbe_complain("the update is not rehearsed: %s", error->message);
}

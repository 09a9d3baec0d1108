/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "app/snapshot/export.h"

#include "app/run/etcd-copy.h"
#include "etcd/layout.h"
#include "etcd/wal/rest.h"

#include <errno.h>
#include <sys/stat.h>

#define PLACE "export"
#define ASK_MS 500

typedef struct {
	GbeEtcdCopy copy;
	guint64 last;  /* the log's last entry */
	char *refused; /* why etcd does not say how far it is */
} Apply;

static void
apply_clear(Apply *apply)
{
	gbe_etcd_copy_clear(&apply->copy);
	g_clear_pointer(&apply->refused, g_free);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Apply, apply_clear)

static bool
clone_member(Apply *apply, GbeApp *app, GbeStore *store, int from_fd, const char *member_path,
	     int wal_fd, GError **error)
{
	gbe_autofd int db_fd = -1;
	struct stat st;

	if (!gbe_layout_open_db(from_fd, member_path, &db_fd, error))
		return false;
	if (fstat(db_fd, &st) < 0)
		return gbe_throw_errno(error, errno, "cannot look at the backup's database");
	return gbe_etcd_copy_make(app, store, PLACE, &st, &apply->copy, error) &&
	       gbe_etcd_copy_clone(&apply->copy, from_fd, member_path, wal_fd, false, false, error);
}

/* Lets the clone's member apply what it does not know to be agreed upon. */
static bool
commit(const Apply *apply, const GbeWal *wal, GError **error)
{
	GbeHardState state = wal->state;
	gbe_autofd int wal_fd = -1;

	if (!wal->has_state || state.commit >= apply->last)
		return true;
	state.commit = apply->last;
	return gbe_layout_open_wal(apply->copy.data_fd, "", -1, &wal_fd, error) &&
	       gbe_wal_commit(wal_fd, "member/wal", &state, error);
}

static bool
start(Apply *apply, const GbeExport *options, GError **error)
{
	const GbeEtcdCopyStart start = {.tree_fd = -1,
					.alone = options->whole_log,
					.program = apply->copy.app->config->etcd.binary,
					.seconds = options->timeout};
	g_autoptr(GError) local = NULL;

	if (gbe_etcd_copy_start(&apply->copy, &start, &local))
		return true;
	return gbe_throw(error, GBE_ERROR_REFUSED,
			 "the log has requests that the database lacks, and there is no "
			 "etcd to apply them: %s ([etcd] binary); --drop-wal leaves them "
			 "behind",
			 local->message);
}

static bool
has_applied(gpointer data)
{
	Apply *apply = data;
	g_auto(GbeCallFailure) failure = {0};
	GbeEtcdStatus status = {{0}};
	bool applied;

	if (!gbe_etcd_copy_connect(&apply->copy, &failure) ||
	    !gbe_client_status(apply->copy.client, g_get_monotonic_time() + ASK_MS * 1000, &status,
			       &failure)) {
		if (failure.reach == GBE_REACH_NO_USER && apply->refused == NULL)
			apply->refused = g_steal_pointer(&failure.why);
		return apply->refused != NULL;
	}
	applied = status.raft_applied >= apply->last;
	gbe_message_clear(GBE_MESSAGE_STATUS, &status);
	return applied;
}

/* The database must have everything up to ->last, and nothing that etcd added by itself meanwhile, such as the
 * revocation of an expired lease. */
static bool
check(const Apply *apply, GError **error)
{
	const GbeDbOptions sanity = {.level = GBE_VERIFY_SANITY};
	g_auto(GbeDirectory) directory = {0};
	g_auto(GbeFindings) findings = {0};
	GbeWalRest lacking = {0}, more = {0};
	gbe_autofd int wal_fd = -1;

	gbe_findings_init(&findings);
	if (!gbe_directory_read(apply->copy.data_fd, "", -1, &sanity, &directory, &findings,
				error) ||
	    !gbe_layout_open_wal(apply->copy.data_fd, "", -1, &wal_fd, error) ||
	    !gbe_wal_rest_count(wal_fd, "member/wal", directory.db.consistent_index, 0, &lacking,
				error) ||
	    !gbe_wal_rest_count(wal_fd, "member/wal", apply->last, 0, &more, error))
		return false;
	if (lacking.requests > 0)
		return gbe_throw(error, GBE_ERROR_FAILED,
				 "etcd left %" G_GUINT64_FORMAT " requests of the log unapplied",
				 lacking.requests);
	if (more.requests > 0)
		return gbe_throw(error, GBE_ERROR_FAILED,
				 "etcd made %" G_GUINT64_FORMAT
				 " changes of its own meanwhile (a lease ran out?); try again, or "
				 "--drop-wal",
				 more.requests);
	return true;
}

bool
gbe_export_apply(GbeApp *app, GbeStore *store, int data_fd, const char *member_path, int wal_fd,
		 const GbeWal *wal, const GbeExport *options, int *ret_db_fd, GError **error)
{
	g_auto(Apply) apply = {
	    .copy = {.place_fd = -1, .work_fd = -1, .data_fd = -1, .socket_fd = -1},
	    .last = wal->last_entry};
	const GbeWalledWait wait = {.seconds = options->timeout,
				    .ready = has_applied,
				    .ready_data = &apply,
				    .progress = options->progress,
				    .progress_data = options->progress_data};

	if (!clone_member(&apply, app, store, data_fd, member_path, wal_fd, error) ||
	    (options->whole_log && !commit(&apply, wal, error)) || !start(&apply, options, error) ||
	    !gbe_walled_wait(&apply.copy.run, &wait, error))
		return gbe_rethrow_if(error, GBE_ERROR_VERIFY_FAILED, GBE_ERROR_FAILED) ||
		       gbe_prefix(error, "etcd on a clone of the backup");
	gbe_etcd_copy_end(&apply.copy);
	if (apply.refused != NULL)
		return gbe_throw(error, GBE_ERROR_NO_USER, "etcd on a clone of the backup: %s",
				 apply.refused);
	return (check(&apply, error) &&
		gbe_layout_open_db(apply.copy.data_fd, "", ret_db_fd, error)) ||
	       gbe_prefix(error, "etcd on a clone of the backup");
}

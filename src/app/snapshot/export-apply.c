/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "app/snapshot/export.h"

#include "core/backup-name.h"
#include "etcd/api/client.h"
#include "etcd/layout.h"
#include "fs/copy/clone.h"
#include "fs/open.h"
#include "fs/remove.h"
#include "sys/child.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

#define PLACE GBE_RUNG_PARTIAL "export"
#define DATA "data"
/* etcd wants a host and a port even for a unix socket, and makes a file of that name in its working directory. */
#define CLIENT "client:1"
#define PEER "peer:1"
#define POLL_USEC (20 * 1000)
#define ASK_MS 500
#define END_MS 10000

typedef struct {
	GbeApp *app;
	GbeStore *store;
	const GbeExport *options;
	int place_fd, data_fd;
	GbeChild etcd;
} Apply;

static void
apply_clear(Apply *apply)
{
	g_autoptr(GError) ignored = NULL;

	gbe_child_clear(&apply->etcd);
	gbe_close_fd(&apply->place_fd);
	gbe_close_fd(&apply->data_fd);
	/* A tree that cannot be removed now is swept by the next holder of the lock. */
	if (!gbe_remove_tree_at(apply->store->fd, PLACE, &ignored))
		g_debug("%s", ignored->message);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Apply, apply_clear)

/* Clones member/ alone: the files beside it are not etcd's. */
static bool
clone_member(Apply *apply, int from_fd, const char *member_path, GError **error)
{
	const GbeCloneOptions options = {.allowed = GBE_METHOD_SNAPSHOT,
					 .progress = gbe_app_progress,
					 .progress_data = apply->app};
	g_auto(GbeCloneResult) result = {0};
	gbe_autofd int parent_fd = -1;
	gbe_autofd int member_fd = -1;

	if (!gbe_remove_tree_at(apply->store->fd, PLACE, error))
		return false;
	if (mkdirat(apply->store->fd, PLACE, 0700) < 0)
		return gbe_throw_errno(error, errno, "make %s in %s", PLACE, apply->store->path);
	if (!gbe_open_dir_at(apply->store->fd, PLACE, &apply->place_fd, error))
		return false;
	if (mkdirat(apply->place_fd, DATA, 0700) < 0)
		return gbe_throw_errno(error, errno, "make %s in %s", DATA, PLACE);
	return gbe_open_dir_at(apply->place_fd, DATA, &apply->data_fd, error) &&
	       gbe_layout_open(from_fd, member_path, "member", &member_fd, error) &&
	       gbe_open_dir_at(member_fd, "..", &parent_fd, error) &&
	       gbe_clone_tree_at(parent_fd, "member", apply->data_fd, "member", &options, &result,
				 error);
}

static bool
start(Apply *apply, GError **error)
{
	static const char *const argv[] = {"etcd",
					   "--data-dir=" DATA,
					   "--name=default",
					   "--listen-client-urls=unix://" CLIENT,
					   "--advertise-client-urls=unix://" CLIENT,
					   "--listen-peer-urls=unix://" PEER,
					   "--initial-advertise-peer-urls=unix://" PEER,
					   "--initial-cluster=default=unix://" PEER,
					   "--heartbeat-interval=10",
					   "--election-timeout=100",
					   "--quota-backend-bytes=-1",
					   NULL};
	const char *binary = apply->app->config->etcd.binary;
	g_autoptr(GError) local = NULL;
	gbe_autofd int fd = -1;

	if (!gbe_open_in_root(apply->app->root_fd, binary, O_RDONLY, &fd, &local))
		return gbe_throw(error, GBE_ERROR_REFUSED,
				 "the log has requests that the database lacks, and there is no "
				 "etcd to apply them: %s ([etcd] binary); --drop-wal leaves them "
				 "behind",
				 local->message);
	return gbe_child_start(fd, argv, apply->place_fd, &apply->etcd, error);
}

/* The path of a unix socket must be short, but the store's path may have any length. */
static bool
has_applied(int place_fd, guint64 last)
{
	g_autofree char *url = g_strdup_printf("unix:///proc/self/fd/%d/" CLIENT, place_fd);
	const GbeEndpoint endpoint = {.endpoint = url};
	g_auto(GbeCallFailure) failure = {0};
	g_autoptr(GbeClient) client = NULL;
	GbeEtcdStatus status = {{0}};
	bool applied;

	if (!gbe_client_open(&endpoint, &client, &failure) ||
	    !gbe_client_status(client, g_get_monotonic_time() + ASK_MS * 1000, &status, &failure))
		return false;
	applied = status.raft_applied >= last;
	gbe_message_clear(GBE_MESSAGE_STATUS, &status);
	return applied;
}

static bool
wait_for(Apply *apply, guint64 last, GError **error)
{
	const GbeExport *options = apply->options;
	gint64 deadline = g_get_monotonic_time() + (gint64)options->timeout * G_USEC_PER_SEC;

	for (bool running = true;;) {
		if (!gbe_child_poll(&apply->etcd, &running, error))
			return false;
		if (!running)
			return gbe_throw(error, GBE_ERROR_FAILED, "etcd ended on its own");
		if (has_applied(apply->place_fd, last))
			return true;
		if (g_get_monotonic_time() >= deadline)
			return gbe_throw(error, GBE_ERROR_FAILED,
					 "etcd has not applied the log within %" G_GUINT64_FORMAT
					 " s (--timeout)",
					 options->timeout);
		if (options->progress != NULL && !options->progress(0, 0, options->progress_data))
			return gbe_throw(error, GBE_ERROR_FAILED, "interrupted");
		g_usleep(POLL_USEC);
	}
}

/* The database must have everything up to @last, and nothing that etcd added by itself meanwhile, such as the
 * revocation of an expired lease. */
static bool
check(Apply *apply, guint64 last, GError **error)
{
	const GbeDbOptions sanity = {.level = GBE_VERIFY_SANITY};
	g_auto(GbeDirectory) directory = {0};
	g_auto(GbeFindings) findings = {0};
	GbeWalRest lacking = {0}, more = {0};
	gbe_autofd int wal_fd = -1;

	gbe_findings_init(&findings);
	if (!gbe_directory_read(apply->data_fd, "", -1, &sanity, &directory, &findings, error) ||
	    !gbe_layout_open_wal(apply->data_fd, "", -1, &wal_fd, error) ||
	    !gbe_wal_rest_count(wal_fd, "member/wal", directory.db.consistent_index, 0, &lacking,
				error) ||
	    !gbe_wal_rest_count(wal_fd, "member/wal", last, 0, &more, error))
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
gbe_export_apply(GbeApp *app, GbeStore *store, int data_fd, const char *member_path, guint64 last,
		 const GbeExport *options, int *ret_db_fd, GError **error)
{
	g_auto(Apply) apply = {.app = app,
			       .store = store,
			       .options = options,
			       .place_fd = -1,
			       .data_fd = -1};

	if (!clone_member(&apply, data_fd, member_path, error) || !start(&apply, error) ||
	    !wait_for(&apply, last, error))
		return gbe_prefix(error, "etcd on a clone of the backup");
	gbe_child_end(&apply.etcd, END_MS);
	return (check(&apply, last, error) &&
		gbe_layout_open_db(apply.data_fd, "", ret_db_fd, error)) ||
	       gbe_prefix(error, "etcd on a clone of the backup");
}

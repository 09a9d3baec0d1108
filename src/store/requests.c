/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "store/requests.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "app/by-hand/by-hand.h"
#include "app/snapshot/import.h"
#include "app/snapshot/snapshot.h"
#include "base/fault.h"
#include "fs/list.h"
#include "fs/open.h"
#include "fs/own-dir.h"
#include "fs/sync.h"
#include "fs/write.h"
#include "store/prove.h"
#include "store/push.h"
#include "sys/systemd/events.h"

#define LOCK "store-requests"
#define TEMPORARY "store-request.db"
#define TIMEOUT_SECONDS 600
#define WHY_MAX 4096
/* The time for a writer to finish its file: a unit that watches the directory is faster than a shell that writes. */
#define SETTLE_SECONDS 2
#define BUSY_SECONDS 5
/* In a bucket, each costs the server a question. */
#define REQUESTS_MAX 1000

typedef struct {
	GbeApp *app;
	GbeSnapshotStore *store;
	const char *directory; /* of the store, as it was given */
	bool in_bucket;
	int fd; /* of the directory of requests; -1: the directory is missing, or the store is a bucket */
	GPtrArray *requests;
} Requests;

static void
requests_clear(Requests *requests)
{
	g_clear_pointer(&requests->store, gbe_snapshot_store_free);
	gbe_close_fd(&requests->fd);
	g_clear_pointer(&requests->requests, g_ptr_array_unref);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Requests, requests_clear)

static void
stored_request_free(gpointer data)
{
	GbeStoredRequest *request = data;

	g_free(request->name);
	gbe_store_request_clear(&request->request);
	g_free(request->why);
	g_free(request->result);
	g_free(request);
}

/* Of two with one name, the waiting one is first: an interrupted deletion leaves no request to be done. */
static int
by_name(gconstpointer a, gconstpointer b)
{
	const GbeStoredRequest *x = *(GbeStoredRequest *const *)a,
			       *y = *(GbeStoredRequest *const *)b;
	int order = strcmp(x->name, y->name);

	return order != 0 ? order : (int)x->state - (int)y->state;
}

static char *
path_of(const char *file)
{
	return g_build_filename(GBE_STORE_REQUESTS, file, NULL);
}

static bool
read_request(const Requests *requests, GbeStoredRequest *request, GError **error)
{
	gint64 now = g_get_real_time() / G_USEC_PER_SEC;
	char bytes[GBE_STORE_REQUEST_MAX + 1];
	gbe_autofd int fd = -1;
	struct stat st;
	ssize_t size;

	if (requests->in_bucket) {
		g_autofree char *path = path_of(request->name);
		g_autofree char *text = NULL;
		gsize length = 0;

		return gbe_depot_read(requests->store->depot, path, GBE_STORE_REQUEST_MAX, &text,
				      &length, error) &&
		       gbe_store_request_parse(text, length, &request->request, error);
	}
	fd = openat(requests->fd, request->name,
		    O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
	if (fd < 0 && (errno == ELOOP || errno == ENXIO))
		return gbe_throw(error, GBE_ERROR_UNSAFE_SOURCE, "it is not a regular file");
	if (fd < 0)
		return gbe_throw_errno(error, errno, "cannot open it");
	if (fstat(fd, &st) < 0)
		return gbe_throw_errno(error, errno, "cannot look at it");
	request->is_new = st.st_mtime <= now && now - st.st_mtime <= SETTLE_SECONDS;
	if (!S_ISREG(st.st_mode))
		return gbe_throw(error, GBE_ERROR_UNSAFE_SOURCE, "it is not a regular file");
	if (st.st_uid != geteuid() || (st.st_mode & (S_IWGRP | S_IWOTH)) != 0 || st.st_nlink != 1)
		return gbe_throw(error, GBE_ERROR_UNSAFE_SOURCE,
				 "it is not root's alone (owner %u, mode %04o, %lu names)",
				 (unsigned)st.st_uid, (unsigned)(st.st_mode & 07777),
				 (unsigned long)st.st_nlink);
	size = pread(fd, bytes, sizeof(bytes), 0);
	if (size < 0)
		return gbe_throw_errno(error, errno, "cannot read it");
	if (size == sizeof(bytes))
		return gbe_throw(error, GBE_ERROR_CORRUPT, "it is too long");
	return gbe_store_request_parse(bytes, (gsize)size, &request->request, error);
}

static char *
why_file(const GbeStoredRequest *request)
{
	g_autofree char *file = gbe_store_request_file(request->name, request->state);

	return g_strconcat(file, ".why", NULL);
}

static void
look_at_request(const Requests *requests, GbeStoredRequest *request)
{
	g_autoptr(GError) local = NULL;
	gsize size = 0;

	g_clear_pointer(&request->why, g_free);
	request->is_bad = false;
	if (request->state == GBE_STORE_REQUEST_FAILED || request->state == GBE_STORE_REQUEST_BAD) {
		g_autofree char *file = why_file(request);
		g_autofree char *path = path_of(file);

		if (requests->in_bucket
			? gbe_depot_read(requests->store->depot, path, WHY_MAX, &request->why,
					 &size, NULL)
			: gbe_read_file_at(requests->fd, file, WHY_MAX, &request->why, &size, NULL))
			g_strchomp(request->why);
	}
	if (request->state != GBE_STORE_REQUEST_WAITING || read_request(requests, request, &local))
		return;
	request->why = g_strdup(local->message);
	request->is_bad = g_error_matches(local, GBE_ERROR, GBE_ERROR_CORRUPT) ||
			  g_error_matches(local, GBE_ERROR, GBE_ERROR_UNSAFE_SOURCE);
}

static void
take_name(GPtrArray *requests, const char *file)
{
	GbeStoredRequest *request = g_new0(GbeStoredRequest, 1);

	request->state = gbe_store_request_state(file, &request->name);
	if (request->state == GBE_STORE_REQUEST_NONE)
		stored_request_free(request);
	else
		g_ptr_array_add(requests, request);
}

static bool
take_listed(const char *entry G_GNUC_UNUSED, const char *file, guint64 size G_GNUC_UNUSED,
	    gpointer data, GError **error)
{
	GPtrArray *requests = data;

	if (file != NULL && strchr(file, '/') == NULL)
		take_name(requests, file);
	return requests->len <= REQUESTS_MAX ||
	       gbe_throw(
		   error, GBE_ERROR_CANNOT_TELL,
		   "more than %d requests are there: remove old ones from " GBE_STORE_REQUESTS,
		   REQUESTS_MAX);
}

/* Only root may be able to write to the directory, or to a directory on its path. In a bucket, every holder of the
 * access key can write. Therefore a snapshot to be restored must be signed by a device. */
static bool
list_requests(Requests *requests, GError **error)
{
	static const char *const names[] = {GBE_STORE_REQUESTS, NULL};
	const GbeApp *app = requests->app;
	GbeDepot *depot = requests->store->depot;
	g_autofree char *absolute =
	    app->below_root ? g_strdup(depot->shown) : g_canonicalize_filename(depot->shown, NULL);
	g_autofree char *way = g_build_filename(absolute, GBE_STORE_REQUESTS, NULL);
	g_autoptr(GError) local = NULL;
	g_auto(GbeList) list = {NULL};
	const char *name;

	requests->in_bucket = gbe_depot_directory(depot) < 0;
	if (requests->in_bucket) {
		if (app->config->store.key == NULL)
			return gbe_throw(error, GBE_ERROR_REFUSED,
					 "requests in a bucket need [store] key, which proves the "
					 "snapshots that they name");
		return gbe_depot_files(depot, GBE_STORE_REQUESTS, take_listed, requests->requests,
				       error) ||
		       gbe_prefix(error, "%s", depot->shown);
	}
	if (!gbe_own_dir_open_at(gbe_depot_directory(depot), names, false, &requests->fd, &local)) {
		if (g_error_matches(local, GBE_ERROR, GBE_ERROR_NOT_FOUND))
			return true;
		g_propagate_prefixed_error(error, g_steal_pointer(&local), "%s: ", depot->shown);
		return false;
	}
	if (!gbe_check_parents(app->root_fd, way, error))
		return false;
	list = gbe_list_open_at(requests->fd, GBE_STORE_REQUESTS);
	while ((name = gbe_list_next(&list)) != NULL)
		take_name(requests->requests, name);
	return gbe_list_end(&list, error);
}

static bool
open_requests(Requests *requests, GError **error)
{
	requests->requests = g_ptr_array_new_with_free_func(stored_request_free);
	if (!gbe_snapshot_store_find(requests->app, requests->directory, &requests->store, error) ||
	    !list_requests(requests, error))
		return false;
	g_ptr_array_sort(requests->requests, by_name);
	for (guint i = 0; i < requests->requests->len; i++)
		look_at_request(requests, requests->requests->pdata[i]);
	return true;
}

bool
gbe_store_requests_list(GbeApp *app, const char *store, GPtrArray **ret_requests, GError **error)
{
	g_auto(Requests) requests = {.app = app, .directory = store, .fd = -1};

	if (!open_requests(&requests, error))
		return false;
	*ret_requests = g_steal_pointer(&requests.requests);
	return true;
}

/* Durable: no work is done before this, and no work is repeated after it. An older file of that name is replaced. */
static bool
move_request(const Requests *requests, GbeStoredRequest *request, GbeStoreRequestState state,
	     GError **error)
{
	g_autofree char *from = gbe_store_request_file(request->name, request->state);
	g_autofree char *to = gbe_store_request_file(request->name, state);

	if (requests->in_bucket) {
		/* An object store cannot rename, so the new name is written first. A power cut in between leaves both
		 * names: the request still waits, because its work begins only after the old name was removed. A text
		 * that is too long is refused, and not copied. */
		g_autofree char *from_path = path_of(from), *to_path = path_of(to);
		g_autoptr(GError) local = NULL;
		g_autofree char *bytes = NULL;
		gsize size = 0;

		if (!gbe_depot_read(requests->store->depot, from_path, GBE_STORE_REQUEST_MAX,
				    &bytes, &size, &local) &&
		    !gbe_pass_unless(error, &local, GBE_ERROR_CORRUPT))
			return false;
		if (!gbe_depot_put_text(requests->store->depot, to_path,
					bytes != NULL ? bytes : "{}\n", error) ||
		    GBE_FAULT("store-request-copied", error) ||
		    !gbe_depot_remove(requests->store->depot, from_path, error))
			return false;
	} else if (renameat(requests->fd, from, requests->fd, to) < 0) {
		return gbe_throw_errno(error, errno, "cannot make %s of %s", to, from);
	}
	request->state = state;
	/* Write the reason next to a request that was refused or failed: its author may be unable to read the
	 * journal. */
	if (request->why != NULL) {
		g_autofree char *file = why_file(request);
		g_autofree char *text = g_strconcat(request->why, "\n", NULL);
		g_autoptr(GError) local = NULL;
		g_autofree char *path = path_of(file);

		if (requests->in_bucket
			? !gbe_depot_put_text(requests->store->depot, path, text, &local)
			: !gbe_write_file_at(requests->fd, file, text, strlen(text), 0644,
					     GBE_WRITE_NO_DIR, &local))
			gbe_note("%s", local->message);
	}
	return requests->in_bucket || gbe_sync_dir(requests->fd, to, error);
}

/* Makes a backup of the snapshot, and requests it for the next boot. */
static bool
prepare_restore(const Requests *requests, GbeStoredRequest *request, GError **error)
{
	const char *path = GBE_STATE_DIR "/" TEMPORARY;
	const GbeStorePull pull = {.store = requests->directory,
				   .name = request->request.snapshot,
				   .path = path};
	g_autoptr(GbeVerification) verification = NULL;
	g_auto(GbeImported) imported = {0};
	g_autofree char *snapshot = NULL, *name = NULL, *restored = NULL;
	GbeImport import = {.path = path, .timeout = TIMEOUT_SECONDS};
	GbeByHandRestore restore = {.target = GBE_BY_HAND_NAMED};
	g_autoptr(GError) local = NULL;
	bool ok, asked;

	/* This also removes the files that a power cut left. */
	(void)unlinkat(requests->app->state_fd, TEMPORARY, 0);
	(void)unlinkat(requests->app->state_fd, TEMPORARY GBE_SIDECAR_SUFFIX, 0);
	/* Before gigabytes are fetched: can the lock be had? */
	if (!gbe_app_lock(requests->app, "store requests", GBE_WAIT_BY_HAND, error))
		return false;
	gbe_app_unlock(requests->app);
	if (!gbe_store_pull(requests->app, &pull, &snapshot, &verification, error))
		return false;
	name = g_strconcat("store-", snapshot, NULL);
	import.name = restore.name = g_strdelimit(name, ":", '-');
	/* An earlier request, perhaps an interrupted one, has made the backup. */
	asked = gbe_by_hand_request(requests->app, &restore, &restored, &local);
	ok = asked || (gbe_pass_unless(error, &local, GBE_ERROR_NOT_FOUND) &&
		       gbe_import(requests->app, &import, &imported, error));
	(void)unlinkat(requests->app->state_fd, TEMPORARY, 0);
	(void)unlinkat(requests->app->state_fd, TEMPORARY GBE_SIDECAR_SUFFIX, 0);
	if (!ok || GBE_FAULT("store-request-prepared", error) ||
	    (!asked && !gbe_by_hand_request(requests->app, &restore, &restored, error)))
		return false;
	request->result = g_steal_pointer(&name);
	return true;
}

/* No table of steps (app/device/change.h): the file name is the record, and the work has its own steps. */
static bool
do_request(const Requests *requests, GbeStoredRequest *request, GError **error)
{
	g_autoptr(GError) local = NULL;
	bool done;

	if (request->why != NULL)
		return !request->is_bad ||
		       move_request(requests, request, GBE_STORE_REQUEST_BAD, error);
	if (!move_request(requests, request, GBE_STORE_REQUEST_TAKEN, error) ||
	    GBE_FAULT("store-request-taken", error))
		return false;
	if (request->request.restore) {
		done = prepare_restore(requests, request, &local);
	} else {
		const GbeStorePush options = {.store = requests->directory,
					      .timeout = TIMEOUT_SECONDS,
					      .sent_later = true};
		g_auto(GbeStorePushed) pushed = {0};

		done = gbe_store_push(requests->app, &options, &pushed, &local);
		request->result = g_steal_pointer(&pushed.name);
	}
	/* A backup, or another push. A unit that watches the directory begins again at once. */
	if (g_error_matches(local, GBE_ERROR, GBE_ERROR_BUSY)) {
		if (!move_request(requests, request, GBE_STORE_REQUEST_WAITING, error))
			return false;
		g_usleep(BUSY_SECONDS * G_USEC_PER_SEC);
		return gbe_pass(error, &local);
	}
	if (!done)
		request->why = g_strdup(local->message);
	return move_request(requests, request,
			    done ? GBE_STORE_REQUEST_DONE : GBE_STORE_REQUEST_FAILED, error);
}

bool
gbe_store_requests_run(GbeApp *app, const char *store, GPtrArray **ret_requests, GError **error)
{
	g_auto(Requests) requests = {.app = app, .directory = store, .fd = -1};
	g_autoptr(GbeLock) lock = NULL;
	g_autoptr(GError) first = NULL;

	if (!gbe_app_open_state(app, true, error) ||
	    !gbe_lock_acquire_at(app->state_fd, LOCK, "store requests", 0, &lock, error) ||
	    !open_requests(&requests, error))
		return false;
	for (guint i = requests.requests->len; i > 0; i--) {
		const GbeStoredRequest *request = requests.requests->pdata[i - 1];

		if (request->state != GBE_STORE_REQUEST_WAITING)
			g_ptr_array_remove_index(requests.requests, i - 1);
	}
	/* The writer of a bad new request may not have finished: it gets the time, once. */
	for (guint i = 0, waited = 0; i < requests.requests->len; i++) {
		GbeStoredRequest *request = requests.requests->pdata[i];

		if (!request->is_bad || !request->is_new)
			continue;
		if (waited++ == 0)
			g_usleep(SETTLE_SECONDS * G_USEC_PER_SEC);
		look_at_request(&requests, request);
	}
	/* A request that fails does not keep the others waiting, as long as the store answers. */
	for (guint i = 0; i < requests.requests->len; i++) {
		g_autoptr(GError) local = NULL;

		if (do_request(&requests, requests.requests->pdata[i], &local))
			continue;
		/* A failure is reported before a request that has to wait. */
		if (first == NULL || g_error_matches(first, GBE_ERROR, GBE_ERROR_BUSY)) {
			g_clear_error(&first);
			first = g_error_copy(local);
		}
		if (g_error_matches(local, GBE_ERROR, GBE_ERROR_CANNOT_TELL))
			break;
	}
	if (first != NULL) {
		(void)gbe_pass(error, &first);
		return gbe_prefix(error, "%s/" GBE_STORE_REQUESTS, requests.store->depot->shown);
	}
	*ret_requests = g_steal_pointer(&requests.requests);
	return true;
}

/* One effect, the removal of a file, so it has no table of steps (app/device/change.h). */
bool
gbe_store_requests_delete(GbeApp *app, const char *store, const char *name, bool dry_run,
			  GError **error)
{
	g_auto(Requests) requests = {.app = app, .directory = store, .fd = -1};
	bool found = false;

	if (!open_requests(&requests, error))
		return false;
	for (guint i = 0; i < requests.requests->len; i++) {
		const GbeStoredRequest *request = requests.requests->pdata[i];
		g_autofree char *file = gbe_store_request_file(request->name, request->state);
		g_autofree char *why = why_file(request);

		if (!g_str_equal(request->name, name) && !g_str_equal(file, name))
			continue;
		found = true;
		if (dry_run)
			continue;
		if (requests.in_bucket) {
			g_autofree char *path = path_of(file), *why_path = path_of(why);

			if (!gbe_depot_remove(requests.store->depot, path, error) ||
			    !gbe_depot_remove(requests.store->depot, why_path, error))
				return false;
			continue;
		}
		if (unlinkat(requests.fd, file, 0) < 0)
			return gbe_throw_errno(error, errno, "cannot remove %s/%s",
					       requests.store->depot->shown, file);
		(void)unlinkat(requests.fd, why, 0);
		if (!gbe_sync_dir(requests.fd, GBE_STORE_REQUESTS, error))
			return false;
	}
	if (!found)
		return gbe_throw(
		    error, GBE_ERROR_NOT_FOUND,
		    "no request %s in %s; `greenboot-etcd store requests list` shows them", name,
		    requests.store->depot->shown);
	return true;
}

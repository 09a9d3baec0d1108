/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "app/offsite/snapshots.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>

#include "app/offsite/age.h"
#include "app/snapshot/sidecar.h"
#include "app/store/keys.h"
#include "etcd/db/snapshot-sum.h"
#include "etcd/layout.h"
#include "fs/list.h"
#include "fs/open.h"
#include "fs/part.h"
#include "fs/remove.h"

#define DATA_PART GBE_SNAPSHOT_DATA GBE_PART_SUFFIX
#define META_PART GBE_SNAPSHOT_META GBE_PART_SUFFIX
#define AGE_PART GBE_SNAPSHOT_AGE GBE_PART_SUFFIX
#define SEAL_PART GBE_SNAPSHOT_SEAL GBE_PART_SUFFIX

static const char *const states[] = {
    [GBE_STORED_COMPLETE] = "complete",
    [GBE_STORED_UNFINISHED] = "unfinished",
    [GBE_STORED_UNREADABLE] = "unreadable",
    [GBE_STORED_FOREIGN] = "foreign",
};

const char *
gbe_stored_state_to_string(GbeStoredState state)
{
	return states[state];
}

static void
stored_free(gpointer data)
{
	GbeStored *stored = data;

	g_free(stored->name);
	g_free(stored->why);
	g_free(stored->meta_sha256);
	g_free(stored->hmac);
	gbe_snapshot_meta_clear(&stored->meta);
	g_free(stored);
}

void
gbe_snapshot_store_free(GbeSnapshotStore *store)
{
	if (store == NULL)
		return;
	g_free(store->path);
	g_free(store->identifier);
	gbe_close_fd(&store->fd);
	g_clear_pointer(&store->stored, g_ptr_array_unref);
	g_free(store);
}

static void
look_at_file(GbeStored *stored, const char *name)
{
	static const char *const begun[] = {DATA_PART, AGE_PART, META_PART, SEAL_PART, NULL};
	static const char *const known[] = {GBE_SNAPSHOT_DATA, GBE_SNAPSHOT_AGE, GBE_SNAPSHOT_META,
					    GBE_SNAPSHOT_SEAL, NULL};

	if (g_strv_contains(begun, name))
		stored->begun_here = true;
	else if (!g_strv_contains(known, name))
		stored->holds_something = true;
}

static bool
look_at_files(int entry_fd, GbeStored *stored, GError **error)
{
	g_auto(GbeList) list = gbe_list_open_at(entry_fd, stored->name);
	const char *name;

	while ((name = gbe_list_next(&list)) != NULL)
		look_at_file(stored, name);
	return gbe_list_end(&list, error);
}

static bool
read_meta(int entry_fd, GbeStored *stored, GError **error)
{
	g_autofree char *bytes = NULL;
	struct stat st;
	gsize size = 0;

	if (!gbe_read_file_at(entry_fd, GBE_SNAPSHOT_META, GBE_SNAPSHOT_META_MAX, &bytes, &size,
			      error))
		return false;
	stored->encrypted = faccessat(entry_fd, GBE_SNAPSHOT_DATA, F_OK, AT_SYMLINK_NOFOLLOW) < 0 &&
			    faccessat(entry_fd, GBE_SNAPSHOT_AGE, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
	if (fstatat(entry_fd, stored->encrypted ? GBE_SNAPSHOT_AGE : GBE_SNAPSHOT_DATA, &st,
		    AT_SYMLINK_NOFOLLOW) < 0)
		return errno == ENOENT
			   ? gbe_throw(error, GBE_ERROR_CORRUPT, GBE_SNAPSHOT_DATA " is missing")
			   : gbe_throw_errno(error, errno, "cannot look at " GBE_SNAPSHOT_DATA);
	if (!S_ISREG(st.st_mode) || st.st_size == 0)
		return gbe_throw(error, GBE_ERROR_CORRUPT, GBE_SNAPSHOT_DATA " is %s",
				 S_ISREG(st.st_mode) ? "empty" : "not a regular file");
	stored->size = (guint64)st.st_size;
	stored->meta_sha256 =
	    g_compute_checksum_for_data(G_CHECKSUM_SHA256, (const guchar *)bytes, size);
	stored->hmac = gbe_sidecar_read(entry_fd, GBE_SNAPSHOT_SEAL);
	return gbe_snapshot_meta_parse(bytes, size, &stored->meta, error);
}

static void
look_into(int store_fd, GbeStored *stored)
{
	g_autoptr(GError) local = NULL;
	gbe_autofd int entry_fd = -1;

	if (gbe_open_dir_at(store_fd, stored->name, &entry_fd, &local) &&
	    look_at_files(entry_fd, stored, &local) && read_meta(entry_fd, stored, &local))
		return;
	stored->state = g_error_matches(local, GBE_ERROR, GBE_ERROR_NOT_FOUND)
			    ? GBE_STORED_UNFINISHED
			    : GBE_STORED_UNREADABLE;
	if (stored->state == GBE_STORED_UNREADABLE)
		stored->why = g_strdup(local->message);
}

static void
look_at_name(GbeSnapshotStore *store, const char *name)
{
	GbeStored *stored = g_new0(GbeStored, 1);
	struct stat st;

	stored->name = g_strdup(name);
	if (!gbe_snapshot_name_parse(name, &stored->when) ||
	    (fstatat(store->fd, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && !S_ISDIR(st.st_mode)))
		stored->state = GBE_STORED_FOREIGN;
	else
		look_into(store->fd, stored);
	g_ptr_array_add(store->stored, stored);
}

static int
oldest_first(gconstpointer a, gconstpointer b)
{
	const GbeStored *x = *(GbeStored *const *)a, *y = *(GbeStored *const *)b;
	int foreign =
	    (y->state == GBE_STORED_FOREIGN ? 1 : 0) - (x->state == GBE_STORED_FOREIGN ? 1 : 0);
	int order = foreign != 0 ? foreign : gbe_snapshot_name_compare(&x->when, &y->when);

	return order != 0 ? order : strcmp(x->name, y->name);
}

bool
gbe_snapshot_store_find(GbeApp *app, const char *directory, GbeSnapshotStore **ret_store,
			GError **error)
{
	g_autoptr(GbeSnapshotStore) store = g_new0(GbeSnapshotStore, 1);
	const char *path = directory != NULL ? directory : app->config->store.directory;
	g_autofree char *absolute = NULL, *folded = NULL;
	g_autoptr(GError) local = NULL;

	store->fd = -1;
	if (path == NULL)
		return gbe_throw(error, GBE_ERROR_USAGE,
				 "no store is set: --store=DIR names one, or [store] directory=");
	store->path = g_strdup(path);
	store->app = app;
	store->identity = app->config->store.identity;
	store->stored = g_ptr_array_new_with_free_func(stored_free);
	absolute = app->below_root ? g_strdup(path) : g_canonicalize_filename(path, NULL);
	folded = g_canonicalize_filename(absolute, "/");
	store->identifier = gbe_path_to_text(folded);
	if (!gbe_open_in_root(app->root_fd, absolute, O_RDONLY | O_DIRECTORY, &store->fd, &local)) {
		if (g_error_matches(local, GBE_ERROR, GBE_ERROR_NOT_FOUND))
			return gbe_throw(error, GBE_ERROR_NOT_FOUND,
					 "the store %s is not there; make it, or mount what has it",
					 path);
		return gbe_throw(error, GBE_ERROR_FAILED,
				 "the store: %s; --store=DIR names another one", local->message);
	}
	*ret_store = g_steal_pointer(&store);
	return true;
}

bool
gbe_snapshot_store_open(GbeApp *app, const char *directory, GbeSnapshotStore **ret_store,
			GError **error)
{
	g_autoptr(GbeSnapshotStore) store = NULL;
	g_auto(GbeList) list = {NULL};
	const char *name;

	if (!gbe_snapshot_store_find(app, directory, &store, error))
		return false;
	list = gbe_list_open_at(store->fd, store->path);
	while ((name = gbe_list_next(&list)) != NULL)
		look_at_name(store, name);
	if (!gbe_list_end(&list, error))
		return false;
	g_ptr_array_sort(store->stored, oldest_first);
	*ret_store = g_steal_pointer(&store);
	return true;
}

const GbeStored *
gbe_snapshot_store_newest(const GbeSnapshotStore *store)
{
	for (guint i = store->stored->len; i > 0; i--) {
		const GbeStored *stored = store->stored->pdata[i - 1];

		if (stored->state == GBE_STORED_COMPLETE)
			return stored;
	}
	return NULL;
}

/* A running push holds a lock on the data, under either name. */
static bool
nobody_writes(int entry_fd, const char *name)
{
	gbe_autofd int fd =
	    openat(entry_fd, name, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);

	return fd < 0 ? errno == ENOENT : flock(fd, LOCK_EX | LOCK_NB) == 0;
}

bool
gbe_snapshot_store_sweep(GbeSnapshotStore *store, GError **error)
{
	for (guint i = 0; i < store->stored->len; i++) {
		const GbeStored *stored = store->stored->pdata[i];
		gbe_autofd int entry_fd = -1;

		if (stored->state != GBE_STORED_UNFINISHED || !stored->begun_here ||
		    stored->holds_something)
			continue;
		if (!gbe_open_dir_at(store->fd, stored->name, &entry_fd, error))
			return false;
		if (nobody_writes(entry_fd, DATA_PART) &&
		    nobody_writes(entry_fd, GBE_SNAPSHOT_DATA) &&
		    nobody_writes(entry_fd, AGE_PART) &&
		    nobody_writes(entry_fd, GBE_SNAPSHOT_AGE) &&
		    !gbe_remove_tree_at(store->fd, stored->name, error))
			return false;
	}
	return true;
}

typedef struct {
	GbeSnapshotSum sum;
	GbeArchivePut put;
	gpointer data;
} Reading;

static bool
sum_up(const void *bytes, gsize size, gpointer data, GError **error)
{
	Reading *reading = data;

	gbe_snapshot_sum_push(&reading->sum, bytes, size);
	return reading->put == NULL || reading->put(bytes, size, reading->data, error);
}

bool
gbe_snapshot_unpack(int fd, const char *what, GbeArchivePut put, gpointer data, char **ret_sha256,
		    GError **error)
{
	Reading reading = {.put = put, .data = data};
	bool ok;

	gbe_snapshot_sum_init(&reading.sum);
	ok = gbe_archive_unpack(fd, what, sum_up, &reading, error) &&
	     (gbe_snapshot_sum_check(&reading.sum, error) || gbe_prefix(error, "%s", what));
	if (ok && ret_sha256 != NULL)
		*ret_sha256 = gbe_snapshot_sum_text(&reading.sum);
	gbe_snapshot_sum_clear(&reading.sum);
	return ok || gbe_rethrow_if(error, GBE_ERROR_CORRUPT, GBE_ERROR_VERIFY_FAILED);
}

/* Reads the output of age, or the file itself. */
typedef struct {
	const char *what;
	GbeArchivePut put;
	gpointer data;
	char **ret_sha256;
} Unpacking;

static bool
unpack_stream(int fd, gpointer data, GError **error)
{
	const Unpacking *unpacking = data;

	return gbe_snapshot_unpack(fd, unpacking->what, unpacking->put, unpacking->data,
				   unpacking->ret_sha256, error);
}

static bool
decrypt(const GbeSnapshotStore *store, int fd, const Unpacking *unpacking, GError **error)
{
	if (store->identity == NULL)
		return gbe_throw(error, GBE_ERROR_REFUSED,
				 "%s is encrypted: --identity=FILE or [store] identity name what "
				 "decrypts it",
				 unpacking->what);
	return gbe_age_decrypt(store->app, store->identity, fd, unpacking->what, unpack_stream,
			       (gpointer)unpacking, error);
}

bool
gbe_snapshot_store_read(const GbeSnapshotStore *store, const char *name, GbeArchivePut put,
			gpointer data, char **ret_sha256, GError **error)
{
	gbe_autofd int entry_fd = -1;
	gbe_autofd int fd = -1;
	const Unpacking unpacking = {name, put, data, ret_sha256};
	bool encrypted;
	struct stat st;

	if (!gbe_open_dir_at(store->fd, name, &entry_fd, error))
		return false;
	encrypted = faccessat(entry_fd, GBE_SNAPSHOT_DATA, F_OK, AT_SYMLINK_NOFOLLOW) < 0;
	fd = openat(entry_fd, encrypted ? GBE_SNAPSHOT_AGE : GBE_SNAPSHOT_DATA,
		    O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
	if (fd < 0 || fstat(fd, &st) < 0)
		return gbe_throw_errno(error, errno, "cannot open %s/" GBE_SNAPSHOT_DATA, name);
	if (!S_ISREG(st.st_mode))
		return gbe_throw(error, GBE_ERROR_REFUSED,
				 "%s/" GBE_SNAPSHOT_DATA " is not a regular file", name);
	return encrypted ? decrypt(store, fd, &unpacking, error)
			 : unpack_stream(fd, (gpointer)&unpacking, error);
}

bool
gbe_snapshot_store_prove(GbeApp *app, const GbeSnapshotStore *store, const GbeStored *stored,
			 const char *sha256, GError **error)
{
	g_autofree char *text = gbe_keyed_stored_text(stored->name, stored->meta_sha256, sha256);
	const GbeKeys *keys = NULL;

	if (!gbe_app_keys(app, &keys, error))
		return false;
	if (keys == NULL || gbe_keys_prove(keys, GBE_KEYED_STORED, text, stored->hmac))
		return true;
	if (stored->hmac == NULL)
		return gbe_throw(error, GBE_ERROR_REFUSED,
				 "%s in %s has no keyed digest, and [store] key is set: push it "
				 "again where that key is; or gunzip and import it, and restore "
				 "that with --force",
				 stored->name, store->path);
	return gbe_throw(
	    error, GBE_ERROR_VERIFY_FAILED,
	    "%s in %s is not what somebody with a key of [store] key pushed under that "
	    "name: it was changed, or signed with another key (one that was exchanged "
	    "goes behind the new one)",
	    stored->name, store->path);
}

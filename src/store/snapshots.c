/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "store/snapshots.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>

#include "app/backups/keys.h"
#include "app/state/history.h"
#include "fs/open.h"
#include "fs/part.h"

#define DATA_PART GBE_SNAPSHOT_DATA GBE_PART_SUFFIX
#define META_PART GBE_SNAPSHOT_META GBE_PART_SUFFIX
#define AGE_PART GBE_SNAPSHOT_AGE GBE_PART_SUFFIX
#define SEAL_PART GBE_SNAPSHOT_SEAL GBE_PART_SUFFIX
#define DEVICE_PART GBE_SNAPSHOT_DEVICE GBE_PART_SUFFIX
/* A store may belong to others, too: so many of their names are listed, and the rest is counted. */
#define FOREIGN_MAX 1000
/* Hourly snapshots of five years. */
#define STORED_MAX 50000U
/* A longer file is not a digest and the end of its line. */
#define SEAL_MAX 256

static const char *const states[] = {
    [GBE_STORED_COMPLETE] = "complete",	    [GBE_STORED_UNFINISHED] = "unfinished",
    [GBE_STORED_UNREADABLE] = "unreadable", [GBE_STORED_FOREIGN] = "foreign",
    [GBE_STORED_WAITING] = "waiting",
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
	g_clear_pointer(&store->depot, gbe_depot_free);
	g_clear_pointer(&store->stored, g_ptr_array_unref);
	g_free(store);
}

/* ---- names and sizes ---- */

static void
look_at_file(GbeStored *stored, const char *name, guint64 size)
{
	static const char *const begun[] = {DATA_PART, AGE_PART,    META_PART,
					    SEAL_PART, DEVICE_PART, NULL};

	if (g_str_equal(name, GBE_SNAPSHOT_DATA)) {
		stored->has_data = true;
		stored->size = size;
	} else if (g_str_equal(name, GBE_SNAPSHOT_AGE)) {
		stored->has_age = true;
		stored->age_size = size;
	} else if (g_str_equal(name, GBE_SNAPSHOT_META)) {
		stored->has_meta = true;
	} else if (g_str_equal(name, GBE_SNAPSHOT_SEAL)) {
		stored->has_hmac = true;
	} else if (g_str_equal(name, GBE_SNAPSHOT_DEVICE)) {
		stored->has_device = true;
	} else if (g_strv_contains(begun, name)) {
		stored->begun_here = true;
	} else {
		stored->holds_something = true;
	}
}

static GbeStored *
find_or_add(GbeSnapshotStore *store, const char *entry, bool foreign)
{
	GbeStored *last =
	    store->stored->len > 0 ? store->stored->pdata[store->stored->len - 1] : NULL;

	if (last != NULL && g_str_equal(last->name, entry))
		return last;
	last = g_new0(GbeStored, 1);
	last->name = g_strdup(entry);
	if (foreign || !gbe_snapshot_name_parse(entry, &last->when))
		last->state = GBE_STORED_FOREIGN;
	g_ptr_array_add(store->stored, last);
	return last;
}

static bool
take_listed(const char *entry, const char *file, guint64 size, gpointer data, GError **error)
{
	GbeSnapshotStore *store = data;
	GbeStored *stored;

	if (file == NULL &&
	    (store->stored->len >= FOREIGN_MAX || strlen(entry) > GBE_SNAPSHOT_NAME_MAX)) {
		store->foreign_more++;
		return true;
	}
	if (store->stored->len > STORED_MAX)
		return gbe_throw(error, GBE_ERROR_CANNOT_TELL,
				 "more than %u snapshots are there: give each device a prefix of "
				 "its own",
				 STORED_MAX);
	stored = find_or_add(store, entry, file == NULL);
	if (stored->state == GBE_STORED_FOREIGN || file == NULL)
		return true;
	if (*file != '\0')
		look_at_file(stored, file, size);
	else if (size == GBE_DEPOT_ODD)
		stored->why = g_strdup("its directory cannot be read");
	return true;
}

static void
settle(GbeStored *stored)
{
	const char *why = NULL;

	if (stored->state == GBE_STORED_FOREIGN)
		return;
	stored->encrypted = !stored->has_data && stored->has_age;
	if (stored->encrypted)
		stored->size = stored->age_size;
	if (stored->why != NULL || !stored->has_meta) {
		stored->state = stored->why != NULL ? GBE_STORED_UNREADABLE : GBE_STORED_UNFINISHED;
		return;
	}
	if (!stored->has_data && !stored->has_age)
		why = GBE_SNAPSHOT_DATA " is missing";
	else if (stored->size == 0)
		why = GBE_SNAPSHOT_DATA " is empty";
	else if (stored->size == GBE_DEPOT_ODD)
		why = GBE_SNAPSHOT_DATA " is not a regular file";
	if (why == NULL)
		return;
	stored->state = GBE_STORED_UNREADABLE;
	stored->why = g_strdup(why);
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

	store->app = app;
	store->identity = app->config->store.identity;
	store->stored = g_ptr_array_new_with_free_func(stored_free);
	if (!gbe_depot_open(app, directory, &store->depot, error))
		return false;
	*ret_store = g_steal_pointer(&store);
	return true;
}

bool
gbe_snapshot_store_open(GbeApp *app, const char *directory, GbeSnapshotStore **ret_store,
			GError **error)
{
	g_autoptr(GbeSnapshotStore) store = NULL;

	if (!gbe_snapshot_store_find(app, directory, &store, error))
		return false;
	if (!gbe_depot_list(store->depot, take_listed, store, error))
		return gbe_prefix(error, "%s", store->depot->shown);
	for (guint i = 0; i < store->stored->len; i++)
		settle(store->stored->pdata[i]);
	g_ptr_array_sort(store->stored, oldest_first);
	*ret_store = g_steal_pointer(&store);
	return true;
}

/* ---- meta files ---- */

static bool
is_of_the_server(const GError *error)
{
	return g_error_matches(error, GBE_ERROR, GBE_ERROR_CANNOT_TELL) ||
	       g_error_matches(error, GBE_ERROR, GBE_ERROR_REFUSED);
}

static bool
read_meta(const GbeSnapshotStore *store, GbeStored *stored, GError **error)
{
	g_autofree char *path = g_build_filename(stored->name, GBE_SNAPSHOT_META, NULL);
	g_autofree char *bytes = NULL;
	gsize size = 0;

	if (!gbe_depot_read(store->depot, path, GBE_SNAPSHOT_META_MAX, &bytes, &size, error))
		return false;
	stored->meta_sha256 =
	    g_compute_checksum_for_data(G_CHECKSUM_SHA256, (const guchar *)bytes, size);
	return gbe_snapshot_meta_parse(bytes, size, &stored->meta, error);
}

/* A digest that cannot be read proves nothing. */
static bool
read_hmac(const GbeSnapshotStore *store, GbeStored *stored, GError **error)
{
	g_autofree char *path = g_build_filename(stored->name, GBE_SNAPSHOT_SEAL, NULL);
	g_autoptr(GError) local = NULL;
	gsize size = 0;

	if (gbe_depot_read(store->depot, path, SEAL_MAX, &stored->hmac, &size, &local)) {
		g_strchomp(stored->hmac);
		return true;
	}
	return !is_of_the_server(local) || gbe_pass(error, &local);
}

static bool
look(const GbeSnapshotStore *store, GbeStored *stored, GError **error)
{
	g_autoptr(GError) local = NULL;

	if (stored->looked || stored->state != GBE_STORED_COMPLETE)
		return true;
	if (!read_meta(store, stored, &local)) {
		if (is_of_the_server(local)) {
			g_propagate_prefixed_error(error, g_steal_pointer(&local),
						   "%s: ", store->depot->shown);
			return false;
		}
		stored->state = g_error_matches(local, GBE_ERROR, GBE_ERROR_NOT_FOUND)
				    ? GBE_STORED_UNFINISHED
				    : GBE_STORED_UNREADABLE;
		if (stored->state == GBE_STORED_UNREADABLE)
			stored->why = g_strdup(local->message);
	} else if (stored->has_hmac && !read_hmac(store, stored, error)) {
		return gbe_prefix(error, "%s", store->depot->shown);
	}
	stored->looked = true;
	return true;
}

bool
gbe_snapshot_store_look(const GbeSnapshotStore *store, GError **error)
{
	for (guint i = 0; i < store->stored->len; i++)
		if (!look(store, store->stored->pdata[i], error))
			return false;
	return true;
}

bool
gbe_snapshot_store_newest(const GbeSnapshotStore *store, const GbeStored **ret_newest,
			  GError **error)
{
	*ret_newest = NULL;
	for (guint i = store->stored->len; i > 0 && *ret_newest == NULL; i--) {
		GbeStored *stored = store->stored->pdata[i - 1];

		if (!look(store, stored, error))
			return false;
		if (stored->state == GBE_STORED_COMPLETE)
			*ret_newest = stored;
	}
	return true;
}

bool
gbe_snapshot_store_known(const GbeSnapshotStore *store, char **ret_name, GError **error)
{
	g_auto(GbeOffsite) offsite = {0};
	const GbeKeys *keys = NULL;

	*ret_name = NULL;
	if (!gbe_app_keys(store->app, &keys, error))
		return false;
	if (keys == NULL)
		return true;
	if (!gbe_history_load(store->app, store->depot->identifier, &offsite, error))
		return false;
	*ret_name = g_steal_pointer(&offsite.newest);
	return true;
}

/* Refuses `latest` where a newer snapshot is known to be missing; a name is not refused. */
static bool
check_newest(const GbeSnapshotStore *store, const GbeStored *newest, GError **error)
{
	g_autofree char *known = NULL;

	if (!gbe_snapshot_store_known(store, &known, error))
		return false;
	return !gbe_history_is_newer(known, newest->name) ||
	       gbe_throw(error, GBE_ERROR_REFUSED,
			 "the newest snapshot in %s is %s, and this device has pushed or pulled "
			 "%s: somebody has removed that, or this is another store. `store pull %s` "
			 "takes the older one",
			 store->depot->shown, newest->name, known, newest->name);
}

bool
gbe_snapshot_store_pick(const GbeSnapshotStore *store, const char *name,
			const GbeStored **ret_stored, GError **error)
{
	bool latest = g_str_equal(name, GBE_SNAPSHOT_LATEST);
	const GbeStored *found = NULL;

	if (latest && !gbe_snapshot_store_newest(store, &found, error))
		return false;
	for (guint i = 0; i < store->stored->len && found == NULL; i++) {
		GbeStored *stored = store->stored->pdata[i];

		if (g_str_equal(stored->name, name)) {
			if (!look(store, stored, error))
				return false;
			found = stored;
		}
	}
	if (found == NULL)
		return gbe_throw(error, GBE_ERROR_NOT_FOUND, "no snapshot %s in %s", name,
				 store->depot->shown);
	if (found->state != GBE_STORED_COMPLETE)
		return gbe_throw(error,
				 found->state == GBE_STORED_UNREADABLE ? GBE_ERROR_VERIFY_FAILED
								       : GBE_ERROR_REFUSED,
				 "%s in %s is %s%s%s", name, store->depot->shown,
				 gbe_stored_state_to_string(found->state),
				 found->why != NULL ? ": " : "",
				 found->why != NULL ? found->why : "");
	if (latest && !check_newest(store, found, error))
		return false;
	*ret_stored = found;
	return true;
}

/* ---- sweep ---- */

/* A running push holds a lock on the data, under either name. */
static bool
nobody_writes(int entry_fd, const char *name)
{
	gbe_autofd int fd =
	    openat(entry_fd, name, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);

	return fd < 0 ? errno == ENOENT : flock(fd, LOCK_EX | LOCK_NB) == 0;
}

bool
gbe_stored_is_free(int entry_fd)
{
	return nobody_writes(entry_fd, DATA_PART) && nobody_writes(entry_fd, GBE_SNAPSHOT_DATA) &&
	       nobody_writes(entry_fd, AGE_PART) && nobody_writes(entry_fd, GBE_SNAPSHOT_AGE);
}

bool
gbe_snapshot_store_sweep(GbeSnapshotStore *store, GError **error)
{
	int store_fd = gbe_depot_directory(store->depot);

	/* A server tells nothing of who writes: of a bucket's entries, none is this program's alone. */
	if (store_fd < 0)
		return gbe_depot_tidy(store->depot, error);
	for (guint i = 0; i < store->stored->len; i++) {
		const GbeStored *stored = store->stored->pdata[i];
		g_autoptr(GError) local = NULL;
		gbe_autofd int entry_fd = -1;

		if (stored->state != GBE_STORED_UNFINISHED || !stored->begun_here ||
		    stored->holds_something)
			continue;
		if (!gbe_open_dir_at(store_fd, stored->name, &entry_fd, &local)) {
			/* It was swept since the store was listed. */
			if (g_error_matches(local, GBE_ERROR, GBE_ERROR_NOT_FOUND))
				continue;
			return gbe_pass(error, &local);
		}
		/* A push that was running when the store was listed may have come to its end since. */
		if (gbe_stored_is_free(entry_fd) &&
		    faccessat(entry_fd, GBE_SNAPSHOT_META, F_OK, AT_SYMLINK_NOFOLLOW) < 0 &&
		    errno == ENOENT && !gbe_depot_remove_entry(store->depot, stored->name, error))
			return false;
	}
	return true;
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "store/snapshots.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>

#include "app/backups/store.h"
#include "app/state/history.h"
#include "etcd/db/snapshot-file.h"
#include "fs/open.h"
#include "fs/part.h"
#include "fs/write.h"

#define DATA_PART GBE_SNAPSHOT_DATA GBE_PART_SUFFIX
#define META_PART GBE_SNAPSHOT_META GBE_PART_SUFFIX
#define AGE_PART GBE_SNAPSHOT_AGE GBE_PART_SUFFIX
#define SEAL_PART GBE_SNAPSHOT_SEAL GBE_PART_SUFFIX
#define DEVICE_PART GBE_SNAPSHOT_DEVICE GBE_PART_SUFFIX
/* Other programs may use the store: list so many of their names, and count the rest. */
#define FOREIGN_MAX 1000
/* Hourly snapshots of five years. */
#define STORED_MAX 50000U
/* In the state directory. */
#define DEVICE_FILE "device"

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

static bool
take_listed(const char *entry, const char *file, guint64 size, gpointer data, GError **error)
{
	GbeSnapshotStore *store = data;
	GPtrArray *all = store->stored;
	GbeStored *stored;

	if (file == NULL && (all->len >= FOREIGN_MAX || strlen(entry) > GBE_SNAPSHOT_NAME_MAX)) {
		store->foreign_more++;
		return true;
	}
	if (all->len > STORED_MAX)
		return gbe_throw(error, GBE_ERROR_CANNOT_TELL,
				 "more than %u snapshots are there: give each device a prefix of "
				 "its own",
				 STORED_MAX);
	stored = all->len > 0 ? all->pdata[all->len - 1] : NULL;
	if (stored == NULL || !g_str_equal(stored->name, entry)) {
		stored = g_new0(GbeStored, 1);
		stored->name = g_strdup(entry);
		if (file == NULL || !gbe_snapshot_name_parse(entry, &stored->when))
			stored->state = GBE_STORED_FOREIGN;
		g_ptr_array_add(all, stored);
	}
	if (stored->state == GBE_STORED_FOREIGN || file == NULL)
		return true;
	if (*file != '\0')
		look_at_file(stored, file, size);
	else if (size == GBE_DEPOT_ODD)
		stored->why = g_strdup("its directory cannot be read");
	return true;
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
	for (guint i = 0; i < store->stored->len; i++) {
		GbeStored *stored = store->stored->pdata[i];

		if (stored->state == GBE_STORED_FOREIGN)
			continue;
		stored->encrypted = !stored->has_data && stored->has_age;
		if (stored->encrypted)
			stored->size = stored->age_size;
		if (stored->why == NULL && !stored->has_meta)
			stored->state = GBE_STORED_UNFINISHED;
		else if (stored->why == NULL && !stored->has_data && !stored->has_age)
			stored->why = g_strdup(GBE_SNAPSHOT_DATA " is missing");
		else if (stored->why == NULL && stored->size == 0)
			stored->why = g_strdup(GBE_SNAPSHOT_DATA " is empty");
		else if (stored->why == NULL && stored->size == GBE_DEPOT_ODD)
			stored->why = g_strdup(GBE_SNAPSHOT_DATA " is not a regular file");
		if (stored->why != NULL)
			stored->state = GBE_STORED_UNREADABLE;
	}
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
look_at_stored(const GbeSnapshotStore *store, GbeStored *stored, GError **error)
{
	g_autofree char *meta = g_build_filename(stored->name, GBE_SNAPSHOT_META, NULL);
	g_autofree char *seal = g_build_filename(stored->name, GBE_SNAPSHOT_SEAL, NULL);
	g_autoptr(GError) local = NULL;
	g_autofree char *bytes = NULL;
	gsize size = 0;

	if (stored->looked || stored->state != GBE_STORED_COMPLETE)
		return true;
	if (gbe_depot_read(store->depot, meta, GBE_SNAPSHOT_META_MAX, &bytes, &size, &local))
		stored->meta_sha256 =
		    g_compute_checksum_for_data(G_CHECKSUM_SHA256, (const guchar *)bytes, size);
	if (local == NULL && gbe_snapshot_meta_parse(bytes, size, &stored->meta, &local) &&
	    stored->has_hmac &&
	    gbe_depot_read(store->depot, seal, GBE_SEAL_MAX, &stored->hmac, &size, &local))
		g_strchomp(stored->hmac);
	if (local != NULL && is_of_the_server(local)) {
		g_propagate_prefixed_error(error, g_steal_pointer(&local),
					   "%s: ", store->depot->shown);
		return false;
	}
	/* A digest that cannot be read proves nothing. */
	if (local != NULL && stored->meta.etcd_version == NULL) {
		stored->state = g_error_matches(local, GBE_ERROR, GBE_ERROR_NOT_FOUND)
				    ? GBE_STORED_UNFINISHED
				    : GBE_STORED_UNREADABLE;
		if (stored->state == GBE_STORED_UNREADABLE)
			stored->why = g_strdup(local->message);
	}
	stored->looked = true;
	return true;
}

bool
gbe_snapshot_store_look(const GbeSnapshotStore *store, GError **error)
{
	for (guint i = 0; i < store->stored->len; i++)
		if (!look_at_stored(store, store->stored->pdata[i], error))
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

		if (!look_at_stored(store, stored, error))
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

bool
gbe_snapshot_store_pick(const GbeSnapshotStore *store, const char *name,
			const GbeStored **ret_stored, GError **error)
{
	bool latest = g_str_equal(name, GBE_SNAPSHOT_LATEST);
	const GbeStored *found = NULL;
	g_autofree char *known = NULL;

	if (latest && !gbe_snapshot_store_newest(store, &found, error))
		return false;
	for (guint i = 0; i < store->stored->len && found == NULL; i++) {
		GbeStored *stored = store->stored->pdata[i];

		if (!g_str_equal(stored->name, name))
			continue;
		if (!look_at_stored(store, stored, error))
			return false;
		found = stored;
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
	/* `latest` is refused where a newer snapshot is known to be missing; a name is not refused. */
	if (latest && !gbe_snapshot_store_known(store, &known, error))
		return false;
	if (gbe_history_is_newer(known, found->name))
		return gbe_throw(error, GBE_ERROR_REFUSED,
				 "the newest snapshot in %s is %s, but this device has pushed or "
				 "pulled %s: that one was removed, or this is another store; "
				 "`greenboot-etcd store pull %s FILE` takes the older snapshot",
				 store->depot->shown, found->name, known, found->name);
	*ret_stored = found;
	return true;
}

/* ---- sweep ---- */

/* A running push holds a lock on the data, under either name. */
static bool
has_no_writer(int entry_fd, const char *name)
{
	gbe_autofd int fd =
	    openat(entry_fd, name, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);

	return fd < 0 ? errno == ENOENT : flock(fd, LOCK_EX | LOCK_NB) == 0;
}

bool
gbe_stored_is_free(int entry_fd)
{
	return has_no_writer(entry_fd, DATA_PART) && has_no_writer(entry_fd, GBE_SNAPSHOT_DATA) &&
	       has_no_writer(entry_fd, AGE_PART) && has_no_writer(entry_fd, GBE_SNAPSHOT_AGE);
}

bool
gbe_snapshot_store_sweep(GbeSnapshotStore *store, GError **error)
{
	int store_fd = gbe_depot_directory(store->depot);

	/* A server does not report writers, so any entry of a bucket may have another writer. */
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
			/* The entry was swept after the store was listed. */
			if (g_error_matches(local, GBE_ERROR, GBE_ERROR_NOT_FOUND))
				continue;
			return gbe_pass(error, &local);
		}
		/* A push may have completed after the store was listed. */
		if (gbe_stored_is_free(entry_fd) &&
		    faccessat(entry_fd, GBE_SNAPSHOT_META, F_OK, AT_SYMLINK_NOFOLLOW) < 0 &&
		    errno == ENOENT && !gbe_depot_remove_entry(store->depot, stored->name, error))
			return false;
	}
	return true;
}

/* ---- the device that pushed it ---- */

static bool
is_device_id(const char *text)
{
	return strlen(text) == GBE_DEVICE_LENGTH &&
	       strspn(text, G_CSET_DIGITS "abcdef") == GBE_DEVICE_LENGTH;
}

bool
gbe_device_id(GbeApp *app, bool make, char **ret_id, GError **error)
{
	guint8 bytes[GBE_DEVICE_LENGTH / 2];
	g_autoptr(GError) local = NULL;
	g_autofree char *text = NULL;
	gsize size = 0;

	*ret_id = NULL;
	if (!gbe_app_open_state(app, make, &local))
		return gbe_pass_unless(error, &local, GBE_ERROR_NOT_FOUND);
	if (!gbe_read_file_at(app->state_fd, DEVICE_FILE, GBE_DEVICE_MAX, &text, &size, &local)) {
		g_autoptr(GString) id = g_string_new(NULL);

		if (!make || !g_error_matches(local, GBE_ERROR, GBE_ERROR_NOT_FOUND))
			return gbe_pass_unless(error, &local, GBE_ERROR_NOT_FOUND);
		if (getrandom(bytes, sizeof(bytes), 0) != sizeof(bytes))
			return gbe_throw_errno(error, errno, "cannot get random bytes");
		for (gsize i = 0; i < sizeof(bytes); i++)
			g_string_append_printf(id, "%02x", bytes[i]);
		g_string_append_c(id, '\n');
		if (!gbe_write_file_at(app->state_fd, DEVICE_FILE, id->str, id->len, 0600,
				       GBE_WRITE_DURABLE, error))
			return false;
		*ret_id = g_strndup(id->str, GBE_DEVICE_LENGTH);
		return true;
	}
	g_strchomp(text);
	if (!is_device_id(text))
		return gbe_throw(error, GBE_ERROR_CORRUPT,
				 GBE_STATE_DIR
				 "/" DEVICE_FILE
				 ": the content is not the name of a device; remove the file, and "
				 "pull older snapshots with --device=");
	*ret_id = g_steal_pointer(&text);
	return true;
}

char *
gbe_device_sign(const GbeKeys *keys, const char *stored, const char *id)
{
	g_autofree char *text = g_strconcat(stored, id, "\n", NULL);
	g_autofree char *digest = gbe_keys_sign(keys, GBE_KEYED_DEVICE, text);

	return g_strconcat(id, " ", digest, "\n", NULL);
}

/* GBE_ERROR_REFUSED: a device other than ->device of @store pushed it; _VERIFY_FAILED: the signature does not match
 * the file. @text: that of gbe_keyed_stored_text(). */
static bool
check_device(GbeApp *app, const GbeSnapshotStore *store, const GbeStored *stored,
	     const GbeKeys *keys, const char *text, GError **error)
{
	g_autofree char *path = g_build_filename(stored->name, GBE_SNAPSHOT_DEVICE, NULL);
	g_autofree char *line = NULL, *signed_text = NULL, *own = NULL;
	g_auto(GStrv) words = NULL;
	gsize size = 0;

	if (!stored->has_device) {
		g_auto(GbeOffsite) offsite = {0};

		if (g_strcmp0(store->device, GBE_DEVICE_UNKNOWN) == 0)
			return true;
		if (!gbe_history_load(app, store->depot->identifier, &offsite, error))
			return false;
		/* Newer than the first one of this device that has the file: the file was removed. */
		return offsite.bound == NULL || gbe_history_is_newer(offsite.bound, stored->name) ||
		       gbe_throw(error, GBE_ERROR_REFUSED,
				 "%s in %s: " GBE_SNAPSHOT_DEVICE
				 ", which says which device pushed it, is missing, and this device "
				 "has written that file since %s. Add --device=" GBE_DEVICE_UNKNOWN
				 " to take the snapshot without it",
				 stored->name, store->depot->shown, offsite.bound);
	}
	if (!gbe_depot_read(store->depot, path, GBE_DEVICE_MAX, &line, &size, error))
		return gbe_prefix(error, "%s", store->depot->shown);
	words = g_strsplit(g_strchomp(line), " ", 2);
	signed_text = g_strconcat(text, words[0] != NULL ? words[0] : "", "\n", NULL);
	if (words[0] == NULL || !is_device_id(words[0]) ||
	    !gbe_keys_prove(keys, GBE_KEYED_DEVICE, signed_text, words[1]))
		return gbe_throw(error, GBE_ERROR_VERIFY_FAILED,
				 "%s in %s: " GBE_SNAPSHOT_DEVICE
				 " does not match its signature by a key of [store] key",
				 stored->name, store->depot->shown);
	if (g_strcmp0(store->device, words[0]) == 0)
		return true;
	if (!gbe_device_id(app, false, &own, error))
		return false;
	return g_strcmp0(own, words[0]) == 0 ||
	       gbe_throw(error, GBE_ERROR_REFUSED,
			 "%s in %s: device %s pushed it, and this device is %s. Add --device=%s to "
			 "take it, for example if this device has replaced that one",
			 stored->name, store->depot->shown, words[0],
			 own != NULL ? own : "a new one without a name", words[0]);
}

/* ---- reading ---- */

typedef struct {
	GbeSnapshotSum sum;
	GbeArchivePut put;
	gpointer data;
} Reading;

static bool
sum_piece(const void *bytes, gsize size, gpointer data, GError **error)
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
	ok = gbe_archive_unpack(fd, what, sum_piece, &reading, error) &&
	     (gbe_snapshot_sum_check(&reading.sum, error) || gbe_prefix(error, "%s", what));
	if (ok && ret_sha256 != NULL)
		*ret_sha256 = gbe_snapshot_sum_text(&reading.sum);
	gbe_snapshot_sum_clear(&reading.sum);
	return ok || gbe_rethrow_if(error, GBE_ERROR_CORRUPT, GBE_ERROR_VERIFY_FAILED);
}

/* Reads the output of age, or the file itself. */
typedef struct {
	const GbeSnapshotStore *store;
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
decrypt_stream(int fd, gpointer data, GError **error)
{
	const Unpacking *unpacking = data;
	const GbeSnapshotStore *store = unpacking->store;

	if (store->identity == NULL)
		return gbe_throw(error, GBE_ERROR_REFUSED,
				 "%s is encrypted: --identity=FILE or [store] identity name what "
				 "decrypts it",
				 unpacking->what);
	return gbe_age_decrypt(store->app, store->identity, fd, unpacking->what, unpack_stream,
			       data, error);
}

bool
gbe_snapshot_store_read(const GbeSnapshotStore *store, const GbeStored *stored, GbeArchivePut put,
			gpointer data, char **ret_sha256, GError **error)
{
	g_autofree char *path = g_build_filename(
	    stored->name, stored->encrypted ? GBE_SNAPSHOT_AGE : GBE_SNAPSHOT_DATA, NULL);
	Unpacking unpacking = {store, stored->name, put, data, ret_sha256};

	return gbe_depot_use(store->depot, path, stored->encrypted ? decrypt_stream : unpack_stream,
			     &unpacking, error);
}

bool
gbe_snapshot_store_prove(GbeApp *app, const GbeSnapshotStore *store, const GbeStored *stored,
			 const char *sha256, GError **error)
{
	g_autofree char *text = gbe_keyed_stored_text(stored->name, stored->meta_sha256, sha256);
	const GbeKeys *keys = NULL;

	if (!gbe_app_keys(app, &keys, error))
		return false;
	if (keys == NULL)
		return true;
	if (gbe_keys_prove(keys, GBE_KEYED_STORED, text, stored->hmac))
		return check_device(app, store, stored, keys, text, error);
	if (stored->hmac == NULL)
		return gbe_throw(
		    error, GBE_ERROR_REFUSED,
		    "%s in %s has no keyed digest, but [store] key is set. Push it again from a "
		    "device with that key; or gunzip and import it, then restore with --force",
		    stored->name, store->depot->shown);
	return gbe_throw(
	    error, GBE_ERROR_VERIFY_FAILED,
	    "%s in %s does not match its signature: it was changed, or signed with another key. "
	    "After an exchange of keys, keep the former one as the second line of [store] key",
	    stored->name, store->depot->shown);
}

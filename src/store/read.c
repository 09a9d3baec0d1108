/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "store/snapshots.h"

#include "app/backups/keys.h"
#include "etcd/db/snapshot-file.h"
#include "store/age.h"
#include "store/device.h"

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

typedef struct {
	const GbeSnapshotStore *store;
	const Unpacking *unpacking;
} Decrypting;

static bool
decrypt_stream(int fd, gpointer data, GError **error)
{
	const Decrypting *decrypting = data;

	return decrypt(decrypting->store, fd, decrypting->unpacking, error);
}

bool
gbe_snapshot_store_read(const GbeSnapshotStore *store, const GbeStored *stored, GbeArchivePut put,
			gpointer data, char **ret_sha256, GError **error)
{
	g_autofree char *path = g_build_filename(
	    stored->name, stored->encrypted ? GBE_SNAPSHOT_AGE : GBE_SNAPSHOT_DATA, NULL);
	const Unpacking unpacking = {stored->name, put, data, ret_sha256};
	Decrypting decrypting = {store, &unpacking};

	if (stored->encrypted)
		return gbe_depot_use(store->depot, path, decrypt_stream, &decrypting, error);
	return gbe_depot_use(store->depot, path, unpack_stream, (gpointer)&unpacking, error);
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
		return gbe_device_check(app, store, stored, keys, text, error);
	if (stored->hmac == NULL)
		return gbe_throw(error, GBE_ERROR_REFUSED,
				 "%s in %s has no keyed digest, and [store] key is set: push it "
				 "again where that key is; or gunzip and import it, and restore "
				 "that with --force",
				 stored->name, store->depot->shown);
	return gbe_throw(
	    error, GBE_ERROR_VERIFY_FAILED,
	    "%s in %s is not what somebody with a key of [store] key pushed under that "
	    "name: it was changed, or signed with another key (one that was exchanged "
	    "goes behind the new one)",
	    stored->name, store->depot->shown);
}

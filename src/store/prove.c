/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "store/prove.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "app/snapshot/snapshot.h"
#include "app/state/history.h"
#include "base/sha256.h"
#include "fs/open.h"
#include "fs/part.h"
#include "fs/reserve.h"
#include "sys/systemd/events.h"

/* The unpacked database, in the state directory; a kill leaves the part, which the next proof takes over. */
#define TEMPORARY "store-prove.db"

void
gbe_store_proved_clear(GbeStoreProved *proved)
{
	g_clear_pointer(&proved->name, g_free);
	g_clear_pointer(&proved->verification, gbe_verification_free);
}

typedef struct {
	const GbeStorePull *options;
	GbeSnapshotStore *store;
	const GbeStored *stored; /* borrowed of ->store */
	GbePart part;
	GbeRoom room;	   /* of the disk that has the part */
	const char *where; /* the part's place, for messages */
	guint64 done;
} Reading;

static void
reading_clear(Reading *reading)
{
	gbe_part_clear(&reading->part);
	g_clear_pointer(&reading->store, gbe_snapshot_store_free);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Reading, reading_clear)

static bool
open_stored(GbeApp *app, Reading *reading, GError **error)
{
	const GbeStorePull *options = reading->options;

	if (!gbe_snapshot_store_open(app, options->store, &reading->store, error))
		return false;
	if (options->identity != NULL)
		reading->store->identity = options->identity;
	reading->store->device = options->device;
	return gbe_snapshot_store_pick(reading->store, options->name, &reading->stored, error);
}

static bool
report_read(Reading *reading, gsize size, GError **error)
{
	const GbeStorePull *options = reading->options;

	reading->done += size;
	return options->progress == NULL ||
	       options->progress(reading->done, 0, options->progress_data) ||
	       gbe_throw(error, GBE_ERROR_FAILED, "interrupted");
}

static bool
take_piece(const void *bytes, gsize size, gpointer data, GError **error)
{
	Reading *reading = data;

	return gbe_room_check(&reading->room, size, reading->where, error) &&
	       gbe_part_write(&reading->part, bytes, size, error) &&
	       report_read(reading, size, error);
}

static bool
read_stored(GbeApp *app, Reading *reading, char **ret_sha256, GbeVerification **ret_verification,
	    GError **error)
{
	return gbe_snapshot_store_read(reading->store, reading->stored, take_piece, reading,
				       ret_sha256, error) &&
	       gbe_snapshot_store_prove(app, reading->store, reading->stored, *ret_sha256, error) &&
	       gbe_snapshot_prove(app, &reading->part, ret_verification, error);
}

/* ---- pull: one effect, the new file, so it has no table of steps (app/device/change.h) ---- */

bool
gbe_store_pull(GbeApp *app, const GbeStorePull *options, char **ret_name,
	       GbeVerification **ret_verification, GError **error)
{
	g_autofree char *absolute = app->below_root ? g_strdup(options->path)
						    : g_canonicalize_filename(options->path, NULL);
	g_autoptr(GbeVerification) verification = NULL;
	g_autofree char *name = NULL, *sha256 = NULL;
	gbe_autofd int dir_fd = -1;
	g_auto(GbePart) seal = {.fd = -1};
	g_auto(Reading) reading = {.options = options, .where = options->path, .part = {.fd = -1}};

	if (!open_stored(app, &reading, error))
		return false;
	if (!gbe_open_parent_in_root(app->root_fd, absolute, &dir_fd, &name, error) ||
	    !gbe_room_begin(dir_fd, &reading.room, error) ||
	    !gbe_room_check(&reading.room, reading.stored->size, options->path, error))
		return false;
	if (!gbe_part_begin(dir_fd, name, false, &reading.part, error) ||
	    !gbe_sidecar_begin(dir_fd, name, &seal, error))
		return false;
	if (!read_stored(app, &reading, &sha256, &verification, error))
		return gbe_prefix(error, "%s", reading.store->depot->shown);
	if (!gbe_sidecar_sign(app, &seal, sha256, error) ||
	    !gbe_part_publish(&reading.part, error) || !gbe_sidecar_publish(&seal, error))
		return gbe_prefix(error, "%s", options->path);
	gbe_history_change(app, reading.store->depot->identifier, gbe_history_note_newest,
			   reading.stored->name);
	*ret_name = g_strdup(reading.stored->name);
	*ret_verification = g_steal_pointer(&verification);
	return true;
}

/* ---- prove: reads, and has one effect, the record, so it has no table of steps (app/device/change.h) ---- */

typedef struct {
	GbeApp *app;
	Reading reading;
	GbeOffsite offsite;
	GbeSha256 sum;
	GbeStoreProved proved;
	const char *missing; /* the last push, if it cannot be read; NULL */
} Prove;

static void
prove_clear(Prove *prove)
{
	reading_clear(&prove->reading);
	gbe_offsite_clear(&prove->offsite);
	gbe_sha256_clear(&prove->sum);
	gbe_store_proved_clear(&prove->proved);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Prove, prove_clear)

static bool
differs(const Prove *prove, const char *what, GError **error)
{
	return gbe_throw(error, GBE_ERROR_VERIFY_FAILED,
			 "%s in %s differs from the snapshot that was pushed: %s",
			 prove->reading.stored->name, prove->reading.store->depot->shown, what);
}

/* The record describes only the last push. */
static bool
is_recorded(const Prove *prove)
{
	return g_strcmp0(prove->offsite.pushed, prove->reading.stored->name) == 0;
}

static bool
read_and_compare(Prove *prove, GError **error)
{
	Reading *reading = &prove->reading;
	const GbeOffsite *offsite = &prove->offsite;
	g_autofree char *sha256 = NULL;
	const GbeDb *db;

	prove->proved.read = true;
	if (!gbe_part_begin(prove->app->state_fd, TEMPORARY, true, &reading->part, error) ||
	    !gbe_room_begin(reading->part.fd, &reading->room, error) ||
	    !read_stored(prove->app, reading, &sha256, &prove->proved.verification, error))
		return false;
	if (!is_recorded(prove))
		return true;
	db = &prove->proved.verification->directory.db;
	if (offsite->sha256 != NULL && !g_str_equal(offsite->sha256, sha256))
		return differs(prove, "the database is another one", error);
	if (offsite->pushed_revision >= 0 && offsite->pushed_revision != db->revision)
		return differs(prove, "the revision differs", error);
	if (offsite->hash_kv >= 0 && db->has_hash_kv && offsite->hash_kv != (gint64)db->hash_kv)
		return differs(prove, "the hash of the keys differs", error);
	prove->proved.compared = true;
	return true;
}

static bool
sum_piece(int fd, gpointer data, GError **error)
{
	Prove *prove = data;
	char bytes[65536];
	ssize_t n;

	while ((n = read(fd, bytes, sizeof(bytes))) != 0) {
		if (n < 0 && errno != EINTR)
			return gbe_throw_errno(error, errno, "cannot read %s",
					       prove->reading.stored->name);
		/* A server may send without end. */
		if (n > 0 && prove->reading.done + (guint64)n > prove->reading.stored->size)
			return differs(prove, "the file is longer", error);
		if (n > 0) {
			gbe_sha256_push(&prove->sum, bytes, (gsize)n);
			if (!report_read(&prove->reading, (gsize)n, error))
				return false;
		}
	}
	return true;
}

static bool
compare_bytes(Prove *prove, GError **error)
{
	g_autofree char *path =
	    g_build_filename(prove->reading.stored->name, GBE_SNAPSHOT_AGE, NULL);
	guint8 digest[GBE_SHA256_SIZE];
	g_autofree char *text = NULL;

	if (!is_recorded(prove) || prove->offsite.stored_sha256 == NULL)
		return gbe_throw(error, GBE_ERROR_REFUSED,
				 "%s in %s is encrypted, and this device has no record of its "
				 "bytes; use --identity=FILE, or set [store] identity",
				 prove->reading.stored->name, prove->reading.store->depot->shown);
	gbe_sha256_init(&prove->sum);
	if (!gbe_depot_use(prove->reading.store->depot, path, sum_piece, prove, error) ||
	    !gbe_sha256_end(&prove->sum, digest, error))
		return false;
	text = gbe_sha256_text(digest);
	prove->proved.compared = g_str_equal(text, prove->offsite.stored_sha256);
	return prove->proved.compared || differs(prove, "the bytes differ", error);
}

static void
note_proved(GbeOffsite *offsite, gpointer data)
{
	const Prove *prove = data;
	const GbeVerification *verification = prove->proved.verification;

	gbe_history_note_newest(offsite, prove->reading.stored->name);
	g_free(offsite->proved);
	offsite->proved = g_strdup(prove->reading.stored->name);
	offsite->proved_at = g_get_real_time() / G_USEC_PER_SEC;
	offsite->proved_revision =
	    verification != NULL ? verification->directory.db.revision : offsite->pushed_revision;
	/* An older snapshot proves nothing about a newer one that is damaged. */
	if (gbe_history_is_newer(offsite->damaged, prove->reading.stored->name))
		return;
	g_clear_pointer(&offsite->damaged, g_free);
	g_clear_pointer(&offsite->damaged_why, g_free);
}

typedef struct {
	const char *name;
	const GError *error;
} Damage;

static void
note_damaged(GbeOffsite *offsite, gpointer data)
{
	const Damage *damage = data;

	g_free(offsite->damaged);
	g_free(offsite->damaged_why);
	offsite->damaged = g_strdup(damage->name);
	offsite->damaged_why = g_strdup(damage->error->message);
}

bool
gbe_store_prove(GbeApp *app, const GbeStorePull *options, GbeStoreProved *ret_proved,
		GError **error)
{
	g_autoptr(GError) local = NULL;
	g_auto(Prove) prove = {
	    .app = app,
	    .reading = {.options = options, .where = GBE_STATE_DIR, .part = {.fd = -1}}};
	const GbeSnapshotStore *store;
	const GbeStored *stored;
	Damage damage;
	bool ok;

	if (!open_stored(app, &prove.reading, error) || !gbe_app_open_state(app, true, error))
		return false;
	store = prove.reading.store;
	stored = prove.reading.stored;
	gbe_history_read(app, store->depot->identifier, &prove.offsite);
	/* An older snapshot proves nothing about the last push. */
	if (g_str_equal(options->name, GBE_SNAPSHOT_LATEST) &&
	    gbe_history_is_newer(prove.offsite.pushed, stored->name)) {
		prove.missing = prove.offsite.pushed;
		ok = gbe_throw(&local, GBE_ERROR_VERIFY_FAILED,
			       "%s was pushed last, but the newest readable snapshot in %s is %s",
			       prove.missing, store->depot->shown, stored->name);
	} else if (stored->encrypted && store->identity == NULL) {
		ok = compare_bytes(&prove, &local);
	} else {
		ok = read_and_compare(&prove, &local);
	}
	if (ok) {
		gbe_history_change(app, store->depot->identifier, note_proved, &prove);
		prove.proved.name = g_strdup(stored->name);
		*ret_proved = prove.proved;
		prove.proved = (GbeStoreProved){0};
		return true;
	}
	damage = (Damage){prove.missing != NULL ? prove.missing : stored->name, local};
	if (g_error_matches(local, GBE_ERROR, GBE_ERROR_VERIFY_FAILED)) {
		gbe_history_change(app, store->depot->identifier, note_damaged, &damage);
		gbe_complain("snapshot %s in the store %s is damaged: %s", damage.name,
			     store->depot->shown, local->message);
	}
	return gbe_pass(error, &local);
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "store/prove.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "app/state/history.h"
#include "base/sha256.h"
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
	GbeApp *app;
	const GbeStoreProof *options;
	const GbeSnapshotStore *store;
	const GbeStored *stored;
	GbeOffsite offsite;
	GbePart part;
	GbeRoom room;
	guint64 done;
	GbeSha256 sum;
	GbeStoreProved proved;
	const char *missing; /* the last push, where it is not among those that can be read; NULL */
} Prove;

static void
prove_clear(Prove *prove)
{
	gbe_offsite_clear(&prove->offsite);
	gbe_part_clear(&prove->part);
	gbe_sha256_clear(&prove->sum);
	gbe_store_proved_clear(&prove->proved);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Prove, prove_clear)

static bool
report(Prove *prove, gsize size, GError **error)
{
	const GbeStoreProof *options = prove->options;

	prove->done += size;
	return options->progress == NULL ||
	       options->progress(prove->done, 0, options->progress_data) ||
	       gbe_throw(error, GBE_ERROR_FAILED, "interrupted");
}

static bool
put(const void *bytes, gsize size, gpointer data, GError **error)
{
	Prove *prove = data;

	return gbe_room_check(&prove->room, size, GBE_STATE_DIR, error) &&
	       gbe_part_write(&prove->part, bytes, size, error) && report(prove, size, error);
}

static bool
differs(const Prove *prove, const char *what, GError **error)
{
	return gbe_throw(error, GBE_ERROR_VERIFY_FAILED, "%s in %s is not what was pushed: %s",
			 prove->stored->name, prove->store->depot->shown, what);
}

/* The record is of the last push alone. */
static bool
is_recorded(const Prove *prove)
{
	return g_strcmp0(prove->offsite.pushed, prove->stored->name) == 0;
}

static bool
compare(Prove *prove, const char *sha256, GError **error)
{
	const GbeDb *db = &prove->proved.verification->directory.db;
	const GbeOffsite *offsite = &prove->offsite;

	if (!is_recorded(prove))
		return true;
	if (offsite->sha256 != NULL && !g_str_equal(offsite->sha256, sha256))
		return differs(prove, "it is another database", error);
	if (offsite->pushed_revision >= 0 && offsite->pushed_revision != db->revision)
		return differs(prove, "it has another revision", error);
	if (offsite->hash_kv >= 0 && db->has_hash_kv && offsite->hash_kv != (gint64)db->hash_kv)
		return differs(prove, "its keys have another hash", error);
	prove->proved.compared = true;
	return true;
}

static bool
read_all(Prove *prove, GError **error)
{
	g_autofree char *sha256 = NULL;

	prove->proved.read = true;
	return gbe_part_begin(prove->app->state_fd, TEMPORARY, true, &prove->part, error) &&
	       gbe_room_begin(prove->part.fd, &prove->room, error) &&
	       gbe_snapshot_store_read(prove->store, prove->stored, put, prove, &sha256, error) &&
	       gbe_snapshot_store_prove(prove->app, prove->store, prove->stored, sha256, error) &&
	       gbe_snapshot_prove(prove->app, &prove->part, &prove->proved.verification, error) &&
	       compare(prove, sha256, error);
}

static bool
sum_up(int fd, gpointer data, GError **error)
{
	Prove *prove = data;
	char bytes[65536];
	ssize_t n;

	while ((n = read(fd, bytes, sizeof(bytes))) != 0) {
		if (n < 0 && errno != EINTR)
			return gbe_throw_errno(error, errno, "cannot read %s", prove->stored->name);
		/* A server may send without end. */
		if (n > 0 && prove->done + (guint64)n > prove->stored->size)
			return differs(prove, "it is longer", error);
		if (n > 0) {
			gbe_sha256_push(&prove->sum, bytes, (gsize)n);
			if (!report(prove, (gsize)n, error))
				return false;
		}
	}
	return true;
}

static bool
compare_bytes(Prove *prove, GError **error)
{
	g_autofree char *path = g_build_filename(prove->stored->name, GBE_SNAPSHOT_AGE, NULL);
	guint8 digest[GBE_SHA256_SIZE];
	g_autofree char *text = NULL;

	if (!is_recorded(prove) || prove->offsite.stored_sha256 == NULL)
		return gbe_throw(error, GBE_ERROR_REFUSED,
				 "%s in %s is encrypted, and this device did not push it last: "
				 "--identity=FILE or [store] identity name what decrypts it",
				 prove->stored->name, prove->store->depot->shown);
	gbe_sha256_init(&prove->sum);
	if (!gbe_depot_use(prove->store->depot, path, sum_up, prove, error) ||
	    !gbe_sha256_end(&prove->sum, digest, error))
		return false;
	text = gbe_sha256_text(digest);
	prove->proved.compared = g_str_equal(text, prove->offsite.stored_sha256);
	return prove->proved.compared || differs(prove, "its bytes are others", error);
}

static void
note_proved(GbeOffsite *offsite, gpointer data)
{
	const Prove *prove = data;
	const GbeVerification *verification = prove->proved.verification;

	gbe_history_note_newest(offsite, prove->stored->name);
	g_free(offsite->proved);
	offsite->proved = g_strdup(prove->stored->name);
	offsite->proved_at = g_get_real_time() / G_USEC_PER_SEC;
	offsite->proved_revision =
	    verification != NULL ? verification->directory.db.revision : offsite->pushed_revision;
	/* An older one says nothing of a damaged newer one. */
	if (gbe_history_is_newer(offsite->damaged, prove->stored->name))
		return;
	g_clear_pointer(&offsite->damaged, g_free);
	g_clear_pointer(&offsite->damaged_why, g_free);
}

/* An older one says nothing of what was pushed last. */
static bool
check_last(Prove *prove, GError **error)
{
	if (!g_str_equal(prove->options->name, GBE_SNAPSHOT_LATEST) ||
	    !gbe_history_is_newer(prove->offsite.pushed, prove->stored->name))
		return true;
	prove->missing = prove->offsite.pushed;
	return gbe_throw(error, GBE_ERROR_VERIFY_FAILED,
			 "%s was pushed last, and the newest that can be read in %s is %s",
			 prove->missing, prove->store->depot->shown, prove->stored->name);
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
gbe_store_prove(GbeApp *app, const GbeStoreProof *options, GbeStoreProved *ret_proved,
		GError **error)
{
	g_autoptr(GbeSnapshotStore) store = NULL;
	g_autoptr(GError) local = NULL;
	const GbeStored *stored = NULL;
	g_auto(Prove) prove = {.app = app, .options = options, .part = {.fd = -1}};
	Damage damage;

	if (!gbe_snapshot_store_open(app, options->store, &store, error) ||
	    !gbe_app_open_state(app, true, error))
		return false;
	if (options->identity != NULL)
		store->identity = options->identity;
	store->device = options->device;
	if (!gbe_snapshot_store_pick(store, options->name, &stored, error))
		return false;
	prove.store = store;
	prove.stored = stored;
	gbe_history_read(app, store->depot->identifier, &prove.offsite);
	if (check_last(&prove, &local) &&
	    (stored->encrypted && store->identity == NULL ? compare_bytes(&prove, &local)
							  : read_all(&prove, &local))) {
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

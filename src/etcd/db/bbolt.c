/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "etcd/db/bbolt.h"

#include <errno.h>
#include <sys/stat.h>

#include "base/format.h"
#include "etcd/db/bbolt-page.h"

void
gbe_bbolt_damage(GbeBbolt *db, const char *code, guint64 page, GbeTri etcd_notices,
		 const char *format, ...)
{
	g_autofree char *text = GBE_VFORMAT(format);

	db->damages++;
	gbe_findings_add(db->findings, GBE_FINDING_DAMAGE, code, db->what, GBE_PLACE_PAGE, page,
			 etcd_notices, GBE_YES, "%s", text);
}

/* Reports what the file is when no meta page is valid. */
static void
say_unusable(const GbeBbolt *db, const GbeMetaState state[2])
{
	if (state[0] == GBE_META_BYTE_SWAPPED || state[1] == GBE_META_BYTE_SWAPPED)
		gbe_findings_add(db->findings, GBE_FINDING_UNKNOWN, "bbolt-byte-swapped", db->what,
				 GBE_PLACE_FILE, 0, GBE_YES, GBE_UNKNOWN,
				 "a database of a machine with the other byte order");
	else if (state[0] == GBE_META_OTHER_FORMAT || state[1] == GBE_META_OTHER_FORMAT)
		gbe_findings_add(db->findings, GBE_FINDING_UNKNOWN, "bbolt-unknown-format",
				 db->what, GBE_PLACE_FILE, 0, GBE_UNKNOWN, GBE_UNKNOWN,
				 "a version of bbolt's format that this program does not know");
	else if (db->file_size == 0)
		gbe_findings_add(db->findings, GBE_FINDING_DAMAGE, "bbolt-empty", db->what,
				 GBE_PLACE_FILE, 0, GBE_UNKNOWN, GBE_YES, "the file is empty");
	else
		gbe_findings_add(db->findings, GBE_FINDING_DAMAGE, "bbolt-metas", db->what,
				 GBE_PLACE_PAGE, 0, GBE_YES, GBE_YES,
				 "neither of the two meta pages is valid");
}

/* A commit writes one meta page after everything else is on the disk. If that page is torn, the one before counts. */
static void
choose_meta(GbeBbolt *db, const GbeBboltMeta meta[2], const GbeMetaState state[2])
{
	gsize newer = state[1] == GBE_META_VALID &&
		      (state[0] != GBE_META_VALID || meta[1].transaction > meta[0].transaction);

	for (gsize i = 0; i < 2; i++)
		if (state[i] == GBE_META_OTHER_SIZE)
			gbe_bbolt_damage(
			    db, "bbolt-page-size", i, GBE_UNKNOWN,
			    "the meta page names another page size than the file has; "
			    "etcd takes it all the same, and reads another tree than the "
			    "other meta page has");
	db->meta = meta[newer];
	db->fell_back = state[1 - newer] != GBE_META_VALID;
	if (db->fell_back)
		gbe_findings_add(db->findings, GBE_FINDING_WARNING, "bbolt-meta", db->what,
				 GBE_PLACE_PAGE, 1 - newer, GBE_NO, GBE_NO,
				 "one meta page is not valid, as a power cut leaves it; the other "
				 "one counts, and the log has what was committed since");
}

/* Every page that was ever used must be in the file. */
static void
check_size(GbeBbolt *db)
{
	guint64 pages = db->file_size / db->meta.page_size;

	if (db->meta.high_water > pages)
		gbe_bbolt_damage(db, "bbolt-short", pages, GBE_UNKNOWN,
				 "the file ends here; its meta page says that there are "
				 "%" G_GUINT64_FORMAT " pages",
				 db->meta.high_water);
}

bool
gbe_bbolt_open(int fd, const char *what, GbeLook *look, GbeFindings *findings, GbeBbolt *ret_db,
	       bool *ret_usable, GError **error)
{
	GbeBbolt db = {.what = what, .findings = findings};
	GbeBboltMeta meta[2];
	GbeMetaState state[2];
	struct stat st;

	if (fstat(fd, &st) < 0)
		return gbe_throw_errno(error, errno, "cannot look at %s", what);
	db.file_size = (guint64)st.st_size;
	if (!gbe_bbolt_read_metas(fd, what, meta, state, error))
		return false;
	*ret_usable = state[0] == GBE_META_VALID || state[1] == GBE_META_VALID;
	if (!*ret_usable) {
		say_unusable(&db, state);
	} else {
		choose_meta(&db, meta, state);
		check_size(&db);
	}
	gbe_window_init(&db.window, fd, what, GBE_BBOLT_WINDOW, look);
	for (gsize i = 0; i < G_N_ELEMENTS(db.levels); i++)
		gbe_window_init(&db.levels[i], fd, what, GBE_BBOLT_LEVEL_WINDOW, look);
	*ret_db = db;
	return true;
}

void
gbe_bbolt_close(GbeBbolt *db)
{
	gbe_window_clear(&db->window);
	for (gsize i = 0; i < G_N_ELEMENTS(db->levels); i++)
		gbe_window_clear(&db->levels[i]);
}

bool
gbe_bbolt_fetch(GbeBbolt *db, guint64 offset, gsize want, const guint8 **ret_at, GError **error)
{
	const guint8 *at = NULL;
	gsize got = 0;

	if (!gbe_window_at(&db->window, offset, want, &at, &got, error))
		return false;
	/* The caller has compared with the file's size. */
	if (got < want)
		return gbe_throw(error, GBE_ERROR_FAILED, "%s became shorter while it was read",
				 db->what);
	*ret_at = at;
	return true;
}

/* ---- the buckets ---- */

static void
bucket_free(GbeBboltBucket *bucket)
{
	g_free(bucket->name);
	g_free(bucket->inlined);
	g_free(bucket);
}

typedef struct {
	GbeBbolt *db;
	GPtrArray *buckets;
} Collector;

static bool
is_bucket_value(const GbeBboltRow *row)
{
	if (row->value == NULL || row->value_size < GBE_BUCKET_HEADER)
		return false;
	return gbe_load64(row->value) != 0 ||
	       row->value_size >= GBE_BUCKET_HEADER + GBE_PAGE_HEADER;
}

static GbeWalk
take_bucket(const GbeBboltRow *row, gpointer data, GError **error)
{
	Collector *collector = data;
	GbeBboltBucket *bucket;

	/* A page that was reused during its copy holds keys where buckets should be. */
	if (!row->is_bucket || !is_bucket_value(row)) {
		gbe_bbolt_damage(collector->db, "bbolt-root", row->page, GBE_UNKNOWN,
				 "the root of the database holds something that is no bucket");
		return GBE_WALK_STOP;
	}
	if (collector->buckets->len >= GBE_BBOLT_BUCKETS_MAX) {
		gbe_findings_add(collector->db->findings, GBE_FINDING_UNKNOWN, "bbolt-buckets",
				 collector->db->what, GBE_PLACE_PAGE, row->page, GBE_NO,
				 GBE_UNKNOWN, "more than %d buckets: this is no etcd's",
				 GBE_BBOLT_BUCKETS_MAX);
		return GBE_WALK_STOP;
	}
	bucket = g_new0(GbeBboltBucket, 1);
	bucket->name = g_strndup((const char *)row->key, row->key_size);
	bucket->name_size = row->key_size;
	bucket->page = row->page;
	bucket->root = gbe_load64(row->value);
	bucket->sequence = gbe_load64(row->value + 8);
	if (bucket->root == 0) {
		bucket->inlined_size = (gsize)row->value_size - GBE_BUCKET_HEADER;
		bucket->inlined = g_malloc(bucket->inlined_size);
		memcpy(bucket->inlined, row->value + GBE_BUCKET_HEADER, bucket->inlined_size);
	}
	g_ptr_array_add(collector->buckets, bucket);
	return GBE_WALK_ON;
}

bool
gbe_bbolt_buckets(GbeBbolt *db, GbePageSet *reached, GPtrArray **ret_buckets, GError **error)
{
	g_autoptr(GPtrArray) buckets = g_ptr_array_new_with_free_func((GDestroyNotify)bucket_free);
	Collector collector = {.db = db, .buckets = buckets};
	GbeBboltVisitor visitor = {.row = take_bucket, .data = &collector};
	GbeBboltBucket root = {.root = db->meta.root, .sequence = db->meta.sequence};

	if (!gbe_bbolt_walk(db, &root, reached, &visitor, NULL, error))
		return false;
	*ret_buckets = g_steal_pointer(&buckets);
	return true;
}

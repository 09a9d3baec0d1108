/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "etcd/db/db.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "etcd/db/db-private.h"

void
gbe_db_clear(GbeDb *db)
{
	g_clear_pointer(&db->cluster_version, g_free);
	g_clear_pointer(&db->storage_version, g_free);
}

/* ---- rows of all buckets but "key" ---- */

typedef struct {
	GbeDbReader *reader;
	const char *bucket;
	bool take; /* read the row's meaning; else only sum it up */
} Small;

static GbeWalk
small_row(const GbeBboltRow *row, gpointer data, GError **error)
{
	Small *small = data;
	GbeDbReader *reader = small->reader;

	reader->db.keys++;
	gbe_stream_put(&reader->snapshot, row->key, row->key_size);
	if (row->is_bucket)
		return GBE_WALK_ON;
	if (small->take)
		gbe_db_take_row(reader, small->bucket, row);
	if (row->value != NULL) {
		gbe_stream_put(&reader->snapshot, row->value, (gsize)row->value_size);
		return GBE_WALK_ON;
	}
	gbe_stream_settle(&reader->snapshot);
	for (guint64 done = 0; done < row->value_size;) {
		gsize piece = (gsize)MIN(row->value_size - done, GBE_BBOLT_WINDOW);
		const guint8 *at = NULL;

		if (!gbe_bbolt_fetch(&reader->bolt, row->value_at + done, piece, &at, error))
			return GBE_WALK_FAIL;
		gbe_stream_put(&reader->snapshot, at, piece);
		gbe_stream_settle(&reader->snapshot);
		done += piece;
	}
	return GBE_WALK_ON;
}

static void
small_settle(gpointer data)
{
	gbe_stream_settle(&((Small *)data)->reader->snapshot);
}

/* Is it one of the few buckets that describe the rest? */
static bool
comes_first(const char *bucket)
{
	return strcmp(bucket, "meta") == 0 || strcmp(bucket, "cluster") == 0 ||
	       strcmp(bucket, "members") == 0;
}

static bool
read_small(GbeDbReader *reader, const GbeBboltBucket *bucket, GbePageSet *reached, bool take,
	   GError **error)
{
	Small small = {.reader = reader, .bucket = bucket->name, .take = take};
	GbeBboltVisitor visitor = {.row = small_row, .settle = small_settle, .data = &small};

	return gbe_bbolt_walk(&reader->bolt, bucket, reached, &visitor, NULL, error);
}

/* "meta" comes after "key" and tells which of its rows may be missing, so it is read first. A full reading proves
 * its pages, and reports damage, in their order. */
static bool
read_first(GbeDbReader *reader, const GPtrArray *buckets, GError **error)
{
	g_auto(GbePageSet) reached = {0};
	g_auto(GbeFindings) later = {0};
	guint64 damages = reader->bolt.damages;

	gbe_page_set_init(&reached);
	gbe_findings_init(&later);
	if (reader->options->level == GBE_VERIFY_FULL)
		reader->bolt.findings = &later;
	for (guint i = 0; i < buckets->len; i++) {
		const GbeBboltBucket *bucket = g_ptr_array_index(buckets, i);

		if (!comes_first(bucket->name))
			continue;
		if (strcmp(bucket->name, "meta") == 0)
			reader->has_meta = true;
		if (strcmp(bucket->name, "members") == 0)
			reader->db.members = 0;
		if (!read_small(reader, bucket, &reached, true, error))
			return false;
	}
	if (reader->options->level == GBE_VERIFY_FULL) {
		reader->bolt.findings = reader->findings;
		reader->bolt.damages = damages;
	}
	if (reader->scheduled > 0 || reader->finished > 0)
		reader->db.compact_revision = MAX(reader->scheduled, reader->finished);
	if (reader->scheduled > reader->finished)
		reader->db.compacting = reader->scheduled;
	if (reader->finished > reader->scheduled)
		gbe_findings_add(reader->findings, GBE_FINDING_WARNING, "db-compaction",
				 reader->bolt.what, GBE_PLACE_FILE, 0, GBE_NO, GBE_UNKNOWN,
				 "a compaction was finished that was never begun");
	return true;
}

static GbeWalk
last_row(const GbeBboltRow *row, gpointer data, GError **error)
{
	GbeDbReader *reader = data;
	GbeRevision revision;

	(void)error;
	if (gbe_revision_read(row->key, row->key_size, &revision))
		reader->db.last_row = revision.main;
	return GBE_WALK_ON;
}

/* Finds the revision without reading the rows before the last leaf. */
static bool
read_last(GbeDbReader *reader, const GPtrArray *buckets, GError **error)
{
	const GbeBboltVisitor visitor = {.row = last_row, .data = reader};
	g_auto(GbePageSet) reached = {0};
	guint64 damages = reader->bolt.damages;

	gbe_page_set_init(&reached);
	for (guint i = 0; i < buckets->len; i++) {
		const GbeBboltBucket *bucket = g_ptr_array_index(buckets, i);

		if (strcmp(bucket->name, "key") == 0 &&
		    !gbe_bbolt_walk_end(&reader->bolt, bucket, &reached, &visitor, error))
			return false;
	}
	if (reader->bolt.damages > damages)
		reader->db.last_row = 0;
	else
		reader->db.revision = MAX(reader->db.last_row, reader->db.compact_revision);
	return true;
}

static bool
read_all(GbeDbReader *reader, const GPtrArray *buckets, GbePageSet *reached, GError **error)
{
	for (guint i = 0; i < buckets->len; i++) {
		const GbeBboltBucket *bucket = g_ptr_array_index(buckets, i);

		gbe_stream_put(&reader->snapshot, (const guint8 *)bucket->name, bucket->name_size);
		gbe_stream_settle(&reader->snapshot);
		if (strcmp(bucket->name, "key") == 0
			? !gbe_db_read_rows(reader, bucket, reached, error)
			: !read_small(reader, bucket, reached, !comes_first(bucket->name), error))
			return false;
	}
	if (!gbe_bbolt_check_free(&reader->bolt, reached, &reader->db.free_pages, error))
		return false;
	reader->db.checked |= GBE_DB_CHECKED_PAGES | GBE_DB_CHECKED_FREE;
	reader->db.has_hash = reader->bolt.damages == 0;
	reader->db.snapshot_hash = gbe_stream_sum(&reader->snapshot);
	return true;
}

static bool
read_database(GbeDbReader *reader, GError **error)
{
	g_autoptr(GPtrArray) buckets = NULL;
	g_auto(GbePageSet) reached = {0};
	guint64 damages = reader->bolt.damages;

	gbe_page_set_init(&reached);
	if (!gbe_bbolt_buckets(&reader->bolt, &reached, &buckets, error) ||
	    !read_first(reader, buckets, error))
		return false;
	if (reader->bolt.damages == damages)
		gbe_db_check_names(reader, buckets);
	reader->db.checked |= GBE_DB_CHECKED_BUCKETS;
	if (reader->options->level == GBE_VERIFY_SANITY)
		return read_last(reader, buckets, error);
	reader->db.keys = 0;
	reader->snapshot = (GbeStream){0};
	return read_all(reader, buckets, &reached, error);
}

/* The number may be anything. */
static guint64
total_size(const GbeBboltMeta *meta)
{
	guint64 size = 0;

	return __builtin_mul_overflow(meta->high_water, meta->page_size, &size) ? G_MAXUINT64
										: size;
}

bool
gbe_db_read(int fd, const char *what, const GbeDbOptions *options, GbeDb *ret_db,
	    GbeFindings *findings, GError **error)
{
	GbeDbReader reader = {.options = options, .findings = findings};
	g_autoptr(GError) local = NULL;
	g_auto(GbeDb) db = {0};
	bool usable = false;
	bool good;

	reader.db = (GbeDb){.compact_revision = -1, .voters = -1, .learners = -1, .members = -1};
	reader.look = gbe_look_begin(options->seconds);
	reader.look.progress = options->progress;
	reader.look.progress_data = options->progress_data;
	if (!gbe_bbolt_open(fd, what, &reader.look, findings, &reader.bolt, &usable, error))
		return false;
	reader.db.size = reader.bolt.file_size;
	reader.db.present = usable;
	reader.db.page_size = reader.bolt.meta.page_size;
	reader.db.total_size = total_size(&reader.bolt.meta);
	good = !usable || read_database(&reader, &local);
	reader.db.bytes_read = reader.bolt.window.read;
	db = reader.db;
	gbe_bbolt_close(&reader.bolt);
	if (!good && !gbe_pass_unless(error, &local, GBE_ERROR_CANNOT_TELL))
		return false;
	db.unread = !good;
	if (!good)
		gbe_findings_add(findings, GBE_FINDING_UNKNOWN, "db-unread", what, GBE_PLACE_FILE,
				 0, GBE_UNKNOWN, GBE_UNKNOWN, "%s", local->message);
	*ret_db = db;
	db = (GbeDb){0};
	return true;
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The bucket "key": one row for each change, by revision. For etcd/db.h. */
#include "etcd/db-private.h"

/* Of one kind, so that one lost page does not fill the list. */
#define FINDINGS_MAX 8
#define ROW_BYTES_MIN 48
#define HASH_KV_BEGIN gbe_crc32c(0, "key", 3)

typedef struct {
	GbeDbReader *reader;
	GbeHistory *history; /* NULL: left out, or through */
	gint64 compacted;    /* 1 where it never was: the first change is revision 2 */
	GbeRevision last;
	guint64 rows;	/* seen in this pass */
	guint64 prefix; /* of them, up to the compacted revision */
	guint64 bad_rows, gaps;
	/* The snapshot's hash where the first row begins. */
	guint32 start;
	guint64 start_size;
	gboolean leaves_out; /* HashKV has not all of the rows, whatever their histories say */
	/* The snapshot's hash where the first row beyond that revision begins. */
	gboolean beyond;
	guint32 from;
	guint64 from_size;
	gint64 last_prefix_main;
	GbeStream kept; /* HashKV, up to the compacted revision */
} Rows;

static bool
finding_is_due(guint64 *count)
{
	return (*count)++ < FINDINGS_MAX;
}

static void
say_more(const Rows *rows, const char *code, guint64 count)
{
	if (count > FINDINGS_MAX)
		gbe_findings_add(rows->reader->findings, GBE_FINDING_DAMAGE, code,
				 rows->reader->bolt.what, GBE_PLACE_FILE, 0, GBE_UNKNOWN, GBE_YES,
				 "%" G_GUINT64_FORMAT " more of that kind", count - FINDINGS_MAX);
}

static void
bad_row(Rows *rows, const GbeBboltRow *row, gint64 revision, GbeTri etcd_notices, const char *why)
{
	GbePlace place = revision > 0 ? GBE_PLACE_ROW : GBE_PLACE_PAGE;

	if (finding_is_due(&rows->bad_rows))
		gbe_findings_add(rows->reader->findings, GBE_FINDING_DAMAGE, "db-row",
				 rows->reader->bolt.what, place,
				 revision > 0 ? (guint64)revision : row->page, etcd_notices,
				 GBE_YES, "%s", why);
}

static void
gap(Rows *rows, const GbeRevision *revision)
{
	if (finding_is_due(&rows->gaps))
		gbe_findings_add(rows->reader->findings, GBE_FINDING_DAMAGE, "db-revision-gap",
				 rows->reader->bolt.what, GBE_PLACE_ROW, (guint64)revision->main,
				 GBE_NO, GBE_YES,
				 "changes are missing between %" G_GINT64_FORMAT
				 ".%" G_GINT64_FORMAT " and %" G_GINT64_FORMAT ".%" G_GINT64_FORMAT,
				 rows->last.main, rows->last.sub, revision->main, revision->sub);
}

/* I3: beyond the compacted revision every transaction is there, and each change of it. */
static void
check_revision(Rows *rows, const GbeRevision *revision)
{
	if (revision->main <= rows->compacted)
		return;
	if (revision->main == rows->last.main) {
		if (revision->sub < 1 || revision->sub - 1 != rows->last.sub)
			gap(rows, revision);
		return;
	}
	if (revision->main - 1 != MAX(rows->last.main, rows->compacted) || revision->sub != 0)
		gap(rows, revision);
}

/* I1. A key is put at most once in a transaction, so that it cannot have more versions than there were
 * since it began. */
static const char *
bad_put(const GbeRevision *revision, const GbeKeyValue *kv)
{
	if (kv->key_size == 0)
		return "a put without a key";
	if (kv->mod != revision->main)
		return "its value says that it is of another revision";
	if (kv->create < 1 || kv->create > kv->mod)
		return "its key was created later than it was changed, or never";
	if (kv->version < 1 || kv->version - 1 > kv->mod - kv->create ||
	    (kv->version == 1) != (kv->create == kv->mod))
		return "its key's version does not fit the revisions it was created and changed in";
	return NULL;
}

static const char *
bad_tombstone(const GbeKeyValue *kv)
{
	if (kv->key_size == 0)
		return "a deletion without a key";
	if (kv->create != 0 || kv->mod != 0 || kv->version != 0)
		return "a deletion that has versions";
	return NULL;
}

/* A row with an empty value, in place of the revisions that `etcdutl snapshot restore --bump-revision
 * --mark-compacted` skips: it is where the compaction ends that this begins. */
static gboolean
is_bump(const Rows *rows, const GbeRevision *revision, const GbeBboltRow *row)
{
	return row->value_size == 0 && revision->main <= rows->compacted &&
	       revision->main > rows->last.main;
}

static void
add_to_history(Rows *rows, const GbeRevision *revision, const GbeKeyValue *kv)
{
	GbeHistoryRow row = {
	    .hash = kv->hash,
	    .main = revision->main,
	    .create = kv->create,
	    .version = kv->version,
	    .tombstone = revision->tombstone,
	    .ordinal = GBE_ORDINAL_NONE,
	};

	if (revision->main <= rows->compacted)
		row.ordinal = (guint32)MIN(rows->prefix, GBE_ORDINAL_NONE - 1);
	gbe_history_add(rows->history, &row);
}

static void
count_row(Rows *rows, const GbeRevision *revision)
{
	rows->rows++;
	rows->prefix += revision->main <= rows->compacted;
	rows->last = *revision;
}

/* Sums up a value that is too large for the window. */
static bool
stream_value(GbeDbReader *reader, const GbeBboltRow *row, GbeStream *stream, GError **error)
{
	for (guint64 done = 0; done < row->value_size;) {
		gsize piece = (gsize)MIN(row->value_size - done, GBE_BBOLT_WINDOW);
		const guint8 *at = NULL;

		if (!gbe_bbolt_fetch(&reader->bolt, row->value_at + done, piece, &at, error))
			return false;
		gbe_stream_put(stream, at, piece);
		gbe_stream_settle(stream);
		done += piece;
	}
	return true;
}

static bool
stream_row(GbeDbReader *reader, const GbeBboltRow *row, GbeStream *stream, GError **error)
{
	gbe_stream_put(stream, row->key, row->key_size);
	if (row->value != NULL) {
		gbe_stream_put(stream, row->value, (gsize)row->value_size);
		return true;
	}
	gbe_stream_settle(stream);
	return stream_value(reader, row, stream, error);
}

/* A deletion at the compacted revision never counts. */
static gboolean
is_left_out(const Rows *rows, const GbeRevision *revision)
{
	return revision->tombstone && revision->main == rows->compacted;
}

static GbeWalk
check_row(const GbeBboltRow *row, gpointer data, GError **error)
{
	Rows *rows = data;
	GbeRevision revision = {0};
	const char *why = NULL;
	GbeKeyValue kv;
	bool good = false;

	rows->reader->db.keys++;
	if (!gbe_revision_read(row->key, row->key_size, &revision) || row->is_bucket) {
		bad_row(rows, row, 0, GBE_UNKNOWN, "a row whose key is no revision");
		return GBE_WALK_ON;
	}
	if (!rows->beyond && revision.main > rows->compacted) {
		rows->beyond = TRUE;
		rows->from = gbe_stream_sum(&rows->reader->snapshot);
		rows->from_size = rows->reader->snapshot.size;
	}
	if (is_left_out(rows, &revision))
		rows->leaves_out = TRUE;
	if (!stream_row(rows->reader, row, &rows->reader->snapshot, error) ||
	    !gbe_key_value_read(&rows->reader->bolt, row, &kv, &good, error))
		return GBE_WALK_FAIL;
	check_revision(rows, &revision);
	if (!good) {
		bad_row(rows, row, revision.main, GBE_YES, "its value is not what etcd writes");
	} else {
		why = revision.tombstone ? bad_tombstone(&kv) : bad_put(&revision, &kv);
		if (why != NULL && !is_bump(rows, &revision, row))
			bad_row(rows, row, revision.main, GBE_NO, why);
		if (rows->history != NULL)
			add_to_history(rows, &revision, &kv);
	}
	count_row(rows, &revision);
	return GBE_WALK_ON;
}

static void
settle(gpointer data)
{
	Rows *rows = data;

	gbe_stream_settle(&rows->reader->snapshot);
}

/* ---- once more: what the first pass had no memory for ---- */

static GbeWalk
history_row(const GbeBboltRow *row, gpointer data, GError **error)
{
	Rows *rows = data;
	GbeRevision revision = {0};
	GbeKeyValue kv;
	bool good = false;

	if (!gbe_revision_read(row->key, row->key_size, &revision))
		return GBE_WALK_ON;
	if (!gbe_key_value_read(&rows->reader->bolt, row, &kv, &good, error))
		return GBE_WALK_FAIL;
	if (good)
		add_to_history(rows, &revision, &kv);
	count_row(rows, &revision);
	return GBE_WALK_ON;
}

static bool
finish_histories(Rows *rows, const GbeBboltBucket *bucket, GError **error)
{
	GbeBboltVisitor visitor = {.row = history_row, .data = rows};
	gint64 at[GBE_HISTORY_BROKEN_MAX];
	guint64 count;

	while (gbe_history_end_pass(rows->history)) {
		rows->rows = 0;
		rows->prefix = 0;
		if (!gbe_bbolt_walk(&rows->reader->bolt, bucket, NULL, &visitor, NULL, error))
			return false;
	}
	count = gbe_history_broken(rows->history, at);
	for (guint64 i = 0; i < MIN(count, GBE_HISTORY_BROKEN_MAX); i++)
		gbe_findings_add(rows->reader->findings, GBE_FINDING_DAMAGE, "db-history",
				 rows->reader->bolt.what, GBE_PLACE_ROW, (guint64)at[i], GBE_NO,
				 GBE_YES, "it does not follow on the change before it of its key");
	say_more(rows, "db-history", count);
	if (!gbe_history_is_complete(rows->history)) {
		gbe_findings_add(rows->reader->findings, GBE_FINDING_WARNING, "db-history-unread",
				 rows->reader->bolt.what, GBE_PLACE_FILE, 0, GBE_NO, GBE_UNKNOWN,
				 "keys were chosen so that their histories cannot be told apart");
		return true;
	}
	rows->reader->db.live_keys = gbe_history_live(rows->history);
	rows->reader->db.checked |= GBE_DB_CHECKED_HISTORIES;
	return true;
}

/* The rows up to the compacted revision that HashKV has: the newest put of each key that still is. Where
 * no key is, etcd leaves none out. */
static GbeWalk
keep_row(const GbeBboltRow *row, gpointer data, GError **error)
{
	Rows *rows = data;
	GbeRevision revision = {0};
	gboolean skip;

	if (!gbe_revision_read(row->key, row->key_size, &revision))
		return GBE_WALK_ON;
	if (revision.main > rows->compacted)
		return GBE_WALK_STOP;
	skip = is_left_out(rows, &revision) ||
	       (rows->reader->db.live_keys > 0 &&
		gbe_history_is_superseded(rows->history, (guint32)rows->prefix));
	rows->prefix++;
	if (!skip && !stream_row(rows->reader, row, &rows->kept, error))
		return GBE_WALK_FAIL;
	return GBE_WALK_ON;
}

static void
settle_kept(gpointer data)
{
	Rows *rows = data;

	gbe_stream_settle(&rows->kept);
}

/* Once more over the rows up to the compacted revision. */
static bool
sum_up_kept(Rows *rows, const GbeBboltBucket *bucket, GError **error)
{
	GbeBboltVisitor visitor = {.row = keep_row, .settle = settle_kept, .data = rows};

	rows->kept = (GbeStream){.crc = HASH_KV_BEGIN};
	rows->prefix = 0;
	return gbe_bbolt_walk(&rows->reader->bolt, bucket, NULL, &visitor, NULL, error);
}

static bool
compute_hash_kv(Rows *rows, const GbeBboltBucket *bucket, guint64 prefix, GError **error)
{
	GbeDbReader *reader = rows->reader;
	guint32 end = gbe_stream_sum(&reader->snapshot);
	guint64 size = reader->snapshot.size;

	if (prefix > 0 && (rows->history == NULL || !gbe_history_knows_superseded(rows->history)))
		return true;
	/* A compaction has taken all that HashKV would leave out, in most databases. */
	if (prefix == 0 || (!rows->leaves_out && !gbe_history_has_superseded(rows->history))) {
		reader->db.hash_kv =
		    gbe_hash_kv(HASH_KV_BEGIN, rows->start, end, size - rows->start_size);
	} else {
		if (!sum_up_kept(rows, bucket, error))
			return false;
		reader->db.hash_kv = rows->beyond
					 ? gbe_hash_kv(gbe_stream_sum(&rows->kept), rows->from, end,
						       size - rows->from_size)
					 : gbe_stream_sum(&rows->kept);
	}
	reader->db.has_hash_kv = TRUE;
	return true;
}

bool
gbe_db_read_rows(GbeDbReader *reader, const GbeBboltBucket *bucket, GbePageSet *reached,
		 GError **error)
{
	Rows rows = {
	    .reader = reader,
	    .compacted = MAX(1, reader->db.compact_revision),
	};
	GbeBboltVisitor visitor = {.row = check_row, .settle = settle, .data = &rows};
	g_autoptr(GbeHistory) history = NULL;
	guint64 damages = reader->bolt.damages;
	guint64 prefix;

	if (!reader->options->quick)
		history = gbe_history_new(
		    rows.compacted, MIN(reader->db.total_size, reader->db.size) / ROW_BYTES_MIN);
	rows.history = history;
	rows.start = gbe_stream_sum(&reader->snapshot);
	rows.start_size = reader->snapshot.size;
	if (!gbe_bbolt_walk(&reader->bolt, bucket, reached, &visitor, NULL, error))
		return false;
	say_more(&rows, "db-row", rows.bad_rows);
	say_more(&rows, "db-revision-gap", rows.gaps);
	reader->db.rows = rows.rows;
	reader->db.last_row = rows.last.main;
	reader->db.revision = MAX(rows.last.main, rows.compacted);
	reader->db.checked |= GBE_DB_CHECKED_ROWS | GBE_DB_CHECKED_REVISIONS;
	/* What could not be read would look like history; it is said already. */
	if (reader->bolt.damages != damages || rows.bad_rows > 0)
		return true;
	prefix = rows.prefix;
	if (!gbe_db_read_newest(reader, bucket, error))
		return false;
	return (history == NULL || finish_histories(&rows, bucket, error)) &&
	       compute_hash_kv(&rows, bucket, prefix, error);
}

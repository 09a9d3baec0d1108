/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Reads the bucket "key": one row for each change, by revision. For etcd/db/db.h. */
#include "etcd/db/db-private.h"

#include <string.h>

#include "etcd/db/history.h"
#include "etcd/db/key-value.h"
#include "etcd/protobuf.h"

/* Findings of one kind: one lost page must not fill the list. */
#define FINDINGS_MAX 8
#define ROW_BYTES_MIN 48
#define HASH_KV_BEGIN gbe_crc32c(0, "key", 3)

typedef struct {
	GbeDbReader *reader;
	GbeHistory *history; /* NULL: not checked, or finished */
	/* 1 for a database that was never compacted: the first change is revision 2 */
	gint64 compacted;
	GbeRevision last;
	guint64 rows;	/* seen in this pass */
	guint64 prefix; /* how many of them are up to the compacted revision */
	guint64 bad_rows, gaps;
	GbeStream start; /* the snapshot's hash before the first row */
	bool leaves_out; /* HashKV leaves out rows, whatever their histories say */
	bool beyond;	 /* there is a row beyond that revision */
	GbeStream from;	 /* the snapshot's hash before the first of them */
	GbeStream kept;	 /* HashKV, up to the compacted revision */
} Rows;

static bool
finding_is_due(guint64 *count)
{
	return (*count)++ < FINDINGS_MAX;
}

static void
report_more(const Rows *rows, const char *code, guint64 count)
{
	if (count > FINDINGS_MAX)
		gbe_findings_add(rows->reader->findings, GBE_FINDING_DAMAGE, code,
				 rows->reader->bolt.what, GBE_PLACE_FILE, 0, GBE_UNKNOWN, GBE_YES,
				 "%" G_GUINT64_FORMAT " more of that kind", count - FINDINGS_MAX);
}

static void
report_row(Rows *rows, const GbeBboltRow *row, gint64 revision, GbeTri etcd_notices,
	   const char *why)
{
	GbePlace place = revision > 0 ? GBE_PLACE_ROW : GBE_PLACE_PAGE;

	if (finding_is_due(&rows->bad_rows))
		gbe_findings_add(rows->reader->findings, GBE_FINDING_DAMAGE, "db-row",
				 rows->reader->bolt.what, place,
				 revision > 0 ? (guint64)revision : row->page, etcd_notices,
				 GBE_YES, "%s", why);
}

/* I3: beyond the compacted revision every transaction is there, with each of its changes. */
static void
check_revision(Rows *rows, const GbeRevision *revision)
{
	bool follows =
	    revision->main == rows->last.main
		? revision->sub >= 1 && revision->sub - 1 == rows->last.sub
		: revision->main - 1 == MAX(rows->last.main, rows->compacted) && revision->sub == 0;

	if (revision->main > rows->compacted && !follows && finding_is_due(&rows->gaps))
		gbe_findings_add(rows->reader->findings, GBE_FINDING_DAMAGE, "db-revision-gap",
				 rows->reader->bolt.what, GBE_PLACE_ROW, (guint64)revision->main,
				 GBE_NO, GBE_YES,
				 "changes are missing between %" G_GINT64_FORMAT
				 ".%" G_GINT64_FORMAT " and %" G_GINT64_FORMAT ".%" G_GINT64_FORMAT,
				 rows->last.main, rows->last.sub, revision->main, revision->sub);
}

/* I1. A transaction puts a key at most once, so a key cannot have more versions than there were transactions since
 * it began. NULL: the row is sound. */
static const char *
reason_against(const GbeRevision *revision, const GbeKeyValue *kv)
{
	if (revision->tombstone) {
		if (kv->key_size == 0)
			return "a deletion without a key";
		if (kv->create != 0 || kv->mod != 0 || kv->version != 0)
			return "a deletion that has versions";
		return NULL;
	}
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

/* The key spaces of kube-apiserver: its own default, which k3s has, and that of OpenShift and MicroShift. */
static bool
is_kubernetes(const GbeKeyValue *kv)
{
	static const char *const prefixes[] = {"/registry/", "/kubernetes.io/"};

	for (gsize i = 0; i < G_N_ELEMENTS(prefixes); i++)
		if (kv->key != NULL && kv->key_size > strlen(prefixes[i]) &&
		    memcmp(kv->key, prefixes[i], strlen(prefixes[i])) == 0)
			return true;
	return false;
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

bool
gbe_db_stream_value(GbeDbReader *reader, const GbeBboltRow *row, GbeStream *stream, GError **error)
{
	gbe_stream_settle(stream);
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

/* A deletion at the compacted revision never counts. */
static bool
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
	bool bump;

	rows->reader->db.keys++;
	if (!gbe_revision_read(row->key, row->key_size, &revision) || row->is_bucket) {
		report_row(rows, row, 0, GBE_UNKNOWN, "a row whose key is no revision");
		return GBE_WALK_ON;
	}
	if (!rows->beyond && revision.main > rows->compacted) {
		rows->beyond = true;
		gbe_stream_settle(&rows->reader->snapshot);
		rows->from = rows->reader->snapshot;
	}
	if (is_left_out(rows, &revision))
		rows->leaves_out = true;
	if (!gbe_db_stream_row(rows->reader, row, &rows->reader->snapshot, error) ||
	    !gbe_key_value_read(&rows->reader->bolt, row, &kv, &good, error))
		return GBE_WALK_FAIL;
	check_revision(rows, &revision);
	if (!good) {
		report_row(rows, row, revision.main, GBE_YES, "its value is not what etcd writes");
	} else {
		why = reason_against(&revision, &kv);
		/* A row with an empty value, in place of the revisions that `etcdutl snapshot restore --bump-revision
		 * --mark-compacted` skips. The compaction that it starts ends at this row. */
		bump = row->value_size == 0 && revision.main <= rows->compacted &&
		       revision.main > rows->last.main;
		if (why != NULL && !bump)
			report_row(rows, row, revision.main, GBE_NO, why);
		rows->reader->db.kubernetes = rows->reader->db.kubernetes || is_kubernetes(&kv);
		if (rows->history != NULL)
			add_to_history(rows, &revision, &kv);
	}
	count_row(rows, &revision);
	return GBE_WALK_ON;
}

static void
settle_rows(gpointer data)
{
	Rows *rows = data;

	gbe_stream_settle(&rows->reader->snapshot);
	gbe_stream_settle(&rows->kept);
}

/* ---- second pass: what the first pass had no memory for ---- */

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
	const GbeHistoryResult *result = gbe_history_result(rows->history);

	while (gbe_history_end_pass(rows->history)) {
		rows->rows = 0;
		rows->prefix = 0;
		if (!gbe_bbolt_walk(&rows->reader->bolt, bucket, NULL, &visitor, error))
			return false;
	}
	for (guint64 i = 0; i < MIN(result->broken, GBE_HISTORY_BROKEN_MAX); i++)
		gbe_findings_add(rows->reader->findings, GBE_FINDING_DAMAGE, "db-history",
				 rows->reader->bolt.what, GBE_PLACE_ROW,
				 (guint64)result->broken_at[i], GBE_NO, GBE_YES,
				 "it does not follow on the change before it of its key");
	report_more(rows, "db-history", result->broken);
	if (result->incomplete) {
		gbe_findings_add(rows->reader->findings, GBE_FINDING_WARNING, "db-history-unread",
				 rows->reader->bolt.what, GBE_PLACE_FILE, 0, GBE_NO, GBE_UNKNOWN,
				 "keys were chosen so that their histories look the same");
		return true;
	}
	rows->reader->db.live_keys = result->live;
	rows->reader->db.checked |= GBE_DB_CHECKED_HISTORIES;
	return true;
}

/* HashKV's rows up to the compacted revision: the newest put of each live key. If no key is live, etcd leaves
 * none out. */
static GbeWalk
keep_row(const GbeBboltRow *row, gpointer data, GError **error)
{
	Rows *rows = data;
	GbeRevision revision = {0};
	bool skip;

	if (!gbe_revision_read(row->key, row->key_size, &revision))
		return GBE_WALK_ON;
	if (revision.main > rows->compacted)
		return GBE_WALK_STOP;
	skip = is_left_out(rows, &revision) ||
	       (rows->reader->db.live_keys > 0 &&
		gbe_history_is_superseded(rows->history, (guint32)rows->prefix));
	rows->prefix++;
	if (!skip && !gbe_db_stream_row(rows->reader, row, &rows->kept, error))
		return GBE_WALK_FAIL;
	return GBE_WALK_ON;
}

/* HashKV from the snapshot's hash. @prefix: the hash of "key" and of the rows that count up to the compacted
 * revision. @from and @to: the snapshot's hash before the first row beyond that revision and after the last row. */
static guint32
hash_kv(guint32 prefix, const GbeStream *from, const GbeStream *to)
{
	return to->crc ^ gbe_crc32c_shift(prefix ^ from->crc, to->size - from->size);
}

static bool
compute_hash_kv(Rows *rows, const GbeBboltBucket *bucket, guint64 prefix, GError **error)
{
	GbeBboltVisitor visitor = {.row = keep_row, .settle = settle_rows, .data = rows};
	GbeDbReader *reader = rows->reader;

	gbe_stream_settle(&reader->snapshot);
	if (prefix > 0 &&
	    (rows->history == NULL || !gbe_history_result(rows->history)->knows_superseded))
		return true;
	/* In most databases a compaction has removed all rows that HashKV would leave out. */
	if (prefix == 0 ||
	    (!rows->leaves_out && !gbe_history_result(rows->history)->has_superseded)) {
		reader->db.hash_kv = hash_kv(HASH_KV_BEGIN, &rows->start, &reader->snapshot);
	} else {
		/* Reads the rows up to the compacted revision again. */
		rows->kept = (GbeStream){.crc = HASH_KV_BEGIN};
		rows->prefix = 0;
		if (!gbe_bbolt_walk(&reader->bolt, bucket, NULL, &visitor, error))
			return false;
		reader->db.hash_kv = gbe_stream_sum(&rows->kept);
		if (rows->beyond)
			reader->db.hash_kv =
			    hash_kv(reader->db.hash_kv, &rows->from, &reader->snapshot);
	}
	reader->db.has_hash_kv = true;
	return true;
}

/* Reads the newest row of the bucket "key". */
static GbeWalk
newest_row(const GbeBboltRow *row, gpointer data, GError **error)
{
	GbeDbNewest *newest = data;
	GbeRevision revision = {0};
	GbeProtobuf kv;

	(void)error;
	newest->known = row->value != NULL && gbe_revision_read(row->key, row->key_size, &revision);
	newest->deleted = revision.tombstone;
	newest->key = gbe_key_hash(NULL, 0);
	newest->value = 0;
	if (!newest->known)
		return GBE_WALK_ON;
	kv = gbe_protobuf_begin(row->value, (gsize)row->value_size);
	while (gbe_protobuf_next(&kv))
		if (gbe_protobuf_is(&kv, 1, GBE_WIRE_BYTES))
			newest->key = gbe_key_hash(kv.data, kv.size);
		else if (gbe_protobuf_is(&kv, 5, GBE_WIRE_BYTES))
			newest->value = gbe_crc32c(0, kv.data, kv.size);
	return GBE_WALK_ON;
}

/* Reads the last leaf again. A compaction beyond the last row can only have removed deletions. */
static bool
read_newest(GbeDbReader *reader, const GbeBboltBucket *bucket, GError **error)
{
	GbeDbNewest newest = {.known = true, .none = true};
	const GbeBboltVisitor visitor = {.row = newest_row, .data = &newest, .last_leaf = true};
	g_auto(GbePageSet) reached = {0};

	if (!gbe_bbolt_walk(&reader->bolt, bucket, &reached, &visitor, error))
		return false;
	newest.none = reader->db.last_row == 0 && reader->db.compact_revision <= 0;
	newest.deleted = newest.deleted || reader->db.last_row < reader->db.compact_revision;
	reader->db.newest = newest;
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
	GbeBboltVisitor visitor = {.row = check_row, .settle = settle_rows, .data = &rows};
	g_autoptr(GbeHistory) history = NULL;
	guint64 damages = reader->bolt.damages;
	guint64 prefix;

	if (!reader->options->quick)
		history = gbe_history_new(
		    rows.compacted, MIN(reader->db.total_size, reader->db.size) / ROW_BYTES_MIN);
	rows.history = history;
	gbe_stream_settle(&reader->snapshot);
	rows.start = reader->snapshot;
	if (!gbe_bbolt_walk(&reader->bolt, bucket, reached, &visitor, error))
		return false;
	report_more(&rows, "db-row", rows.bad_rows);
	report_more(&rows, "db-revision-gap", rows.gaps);
	reader->db.rows = rows.rows;
	reader->db.last_row = rows.last.main;
	reader->db.revision = MAX(rows.last.main, rows.compacted);
	reader->db.checked |= GBE_DB_CHECKED_ROWS | GBE_DB_CHECKED_REVISIONS;
	/* Rows that could not be read would look like broken histories. They have a finding already. */
	if (reader->bolt.damages != damages || rows.bad_rows > 0)
		return true;
	prefix = rows.prefix;
	if (!read_newest(reader, bucket, error))
		return false;
	if (history != NULL && !finish_histories(&rows, bucket, error))
		return false;
	return compute_hash_kv(&rows, bucket, prefix, error);
}

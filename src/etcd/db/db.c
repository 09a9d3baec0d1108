/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "etcd/db/db.h"

#include <errno.h>
#include <json-glib/json-glib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/format.h"
#include "etcd/db/db-private.h"
#include "etcd/db/key-value.h"
#include "etcd/protobuf.h"

#define JSON_MAX 65536U
#define JSON_DEPTH_MAX 16
#define VERSION_MAX 64U

void
gbe_db_clear(GbeDb *db)
{
	g_clear_pointer(&db->cluster_version, g_free);
	g_clear_pointer(&db->storage_version, g_free);
}

/* ---- the buckets with few rows, which describe etcd itself (reference etcd.md section 5) ---- */

static void G_GNUC_PRINTF(4, 5) report_row(GbeDbReader *reader, const char *code,
					   const GbeBboltRow *row, const char *format, ...)
{
	g_autofree char *text = GBE_VFORMAT(format);

	gbe_findings_add(reader->findings, GBE_FINDING_DAMAGE, code, reader->bolt.what,
			 GBE_PLACE_PAGE, row->page, GBE_UNKNOWN, GBE_UNKNOWN, "%s", text);
}

static bool
key_is(const GbeBboltRow *row, const char *name)
{
	return row->key_size == strlen(name) && memcmp(row->key, name, row->key_size) == 0;
}

/* ---- JSON that may come from anybody ---- */

/* The parser descends without a limit of its own. */
static bool
is_shallow(const char *text, gsize size)
{
	guint depth = 0;

	for (gsize i = 0; i < size; i++) {
		if (text[i] == '{' || text[i] == '[')
			depth++;
		if (depth > JSON_DEPTH_MAX)
			return false;
		if ((text[i] == '}' || text[i] == ']') && depth > 0)
			depth--;
	}
	return true;
}

/* NULL: it is no JSON object. */
static JsonObject *
parse_object(const GbeBboltRow *row, JsonParser *parser)
{
	const char *text = (const char *)row->value;
	JsonNode *root;

	if (text == NULL || row->value_size > JSON_MAX ||
	    !is_shallow(text, (gsize)row->value_size) ||
	    !g_utf8_validate(text, (gssize)row->value_size, NULL) ||
	    !json_parser_load_from_data(parser, text, (gssize)row->value_size, NULL))
		return NULL;
	root = json_parser_get_root(parser);
	return root != NULL && JSON_NODE_HOLDS_OBJECT(root) ? json_node_get_object(root) : NULL;
}

/* The length of a list; 0: absent; -1: not a list. */
static int
list_length(JsonObject *object, const char *name)
{
	JsonNode *node = json_object_get_member(object, name);

	if (node == NULL || JSON_NODE_HOLDS_NULL(node))
		return 0;
	return JSON_NODE_HOLDS_ARRAY(node) ? (int)json_array_get_length(json_node_get_array(node))
					   : -1;
}

/* ---- meta ---- */

static void
take_conf_state(GbeDbReader *reader, const GbeBboltRow *row)
{
	g_autoptr(JsonParser) parser = json_parser_new();
	JsonObject *object = parse_object(row, parser);
	int voters = object != NULL ? list_length(object, "voters") : -1;
	int learners = object != NULL ? list_length(object, "learners") : -1;

	if (voters < 0 || learners < 0) {
		report_row(reader, "db-meta", row, "confState is not the JSON that etcd writes");
		return;
	}
	reader->db.voters = voters;
	reader->db.learners = learners;
}

/* "3.5.0". */
static void
take_version(GbeDbReader *reader, const GbeBboltRow *row, const char *name, char **ret_version)
{
	g_autofree char *text = NULL;

	g_clear_pointer(ret_version, g_free);
	if (row->value != NULL && row->value_size <= VERSION_MAX)
		text = g_strndup((const char *)row->value, (gsize)row->value_size);
	if (text == NULL || strlen(text) != row->value_size ||
	    !g_regex_match_simple("^[0-9]{1,5}\\.[0-9]{1,5}\\.[0-9]{1,5}(-[0-9A-Za-z.+-]+)?$", text,
				  0, 0))
		report_row(reader, "db-version", row, "%s is no version", name);
	else
		*ret_version = g_steal_pointer(&text);
}

static void
take_meta(GbeDbReader *reader, const GbeBboltRow *row)
{
	bool term = key_is(row, "term");
	bool scheduled = key_is(row, "scheduledCompactRev");
	GbeRevision revision;

	if (term || key_is(row, "consistent_index")) {
		if (row->value_size == 8 && row->value != NULL)
			*(term ? &reader->db.term : &reader->db.consistent_index) =
			    gbe_load_be64(row->value);
		else
			report_row(reader, "db-meta", row, "%s has not eight bytes",
				   term ? "term" : "consistent_index");
	} else if (scheduled || key_is(row, "finishedCompactRev")) {
		if (row->value != NULL &&
		    gbe_revision_read(row->value, (gsize)row->value_size, &revision))
			*(scheduled ? &reader->scheduled : &reader->finished) = revision.main;
		else
			report_row(reader, "db-meta", row, "%s is no revision",
				   scheduled ? "scheduledCompactRev" : "finishedCompactRev");
	} else if (key_is(row, "confState")) {
		take_conf_state(reader, row);
	} else if (key_is(row, "storageVersion")) {
		take_version(reader, row, "storageVersion", &reader->db.storage_version);
	}
}

/* ---- the others ---- */

static void
take_cluster(GbeDbReader *reader, const GbeBboltRow *row)
{
	g_autoptr(JsonParser) parser = json_parser_new();

	if (key_is(row, "clusterVersion"))
		take_version(reader, row, "clusterVersion", &reader->db.cluster_version);
	else if (key_is(row, "downgrade") && parse_object(row, parser) == NULL)
		report_row(reader, "db-cluster", row, "downgrade is not the JSON that etcd writes");
}

static void
take_member(GbeDbReader *reader, const GbeBboltRow *row)
{
	g_autoptr(JsonParser) parser = json_parser_new();
	JsonObject *object = parse_object(row, parser);
	bool good = object != NULL && json_object_has_member(object, "id");

	reader->db.members++;
	/* The key is the id in hex, without leading zeros. */
	good = good && row->key_size > 0 && row->key_size <= 16;
	for (gsize i = 0; good && i < row->key_size; i++)
		good = g_ascii_isxdigit((char)row->key[i]);
	if (!good)
		report_row(reader, "db-member", row, "a member that etcd could not read");
}

static void
take_lease(GbeDbReader *reader, const GbeBboltRow *row)
{
	GbeProtobuf lease;
	guint64 id = 0;

	if (row->key_size == 8 && row->value != NULL) {
		lease = gbe_protobuf_begin(row->value, (gsize)row->value_size);
		while (gbe_protobuf_next(&lease))
			if (gbe_protobuf_is(&lease, 1, GBE_WIRE_VARINT))
				id = lease.value;
		if (!lease.bad && id == gbe_load_be64(row->key))
			return;
	}
	report_row(reader, "db-lease", row,
		   "a lease that etcd could not read, or under another one's id");
}

static void
take_alarm(GbeDbReader *reader, const GbeBboltRow *row)
{
	GbeProtobuf alarm = gbe_protobuf_begin(row->key, row->key_size);

	while (gbe_protobuf_next(&alarm))
		;
	reader->db.refuses = true;
	if (alarm.bad)
		report_row(reader, "db-alarm", row, "an alarm that etcd could not read");
}

static void
take_auth(GbeDbReader *reader, const GbeBboltRow *row)
{
	if (key_is(row, "authEnabled") &&
	    (row->value_size != 1 || row->value == NULL || row->value[0] > 1))
		report_row(reader, "db-auth", row, "authEnabled has a value that is not yes or no");
	else if (key_is(row, "authEnabled"))
		reader->db.refuses |= row->value[0] != 0;
	if (key_is(row, "authRevision") && row->value_size != 8)
		report_row(reader, "db-auth", row, "authRevision has not eight bytes");
}

/* The buckets that etcd has, from 3.4 to 3.7. */
typedef struct {
	const char *name;
	void (*take)(GbeDbReader *reader, const GbeBboltRow *row);
	bool vital; /* a missing one means lost data, not only a missing empty bucket */
	bool first; /* it describes the rest */
} KnownBucket;

static const KnownBucket known_buckets[] = {
    {"alarm", take_alarm, false, false},     {"auth", take_auth, false, false},
    {"authRoles", NULL, false, false},	     {"authUsers", NULL, false, false},
    {"cluster", take_cluster, true, true},   {"key", NULL, true, false},
    {"lease", take_lease, false, false},     {"members", take_member, true, true},
    {"members_removed", NULL, false, false}, {"meta", take_meta, true, true},
};

/* NULL: etcd has no bucket of that name. */
static const KnownBucket *
find_known(const char *name)
{
	for (gsize i = 0; i < G_N_ELEMENTS(known_buckets); i++)
		if (strcmp(name, known_buckets[i].name) == 0)
			return &known_buckets[i];
	return NULL;
}

static bool
comes_first(const GbeBboltBucket *bucket)
{
	const KnownBucket *known = find_known(bucket->name);

	return known != NULL && known->first;
}

/* Reports missing and unknown buckets. A database without any entry of the log may lack each of them. */
static void
check_names(GbeDbReader *reader, const GPtrArray *buckets)
{
	bool young = reader->db.consistent_index == 0;

	for (guint i = 0; i < buckets->len; i++) {
		const GbeBboltBucket *bucket = g_ptr_array_index(buckets, i);
		g_autofree char *name = NULL;

		if (find_known(bucket->name) != NULL)
			continue;
		name = g_strescape(bucket->name, NULL);
		gbe_findings_add(reader->findings, GBE_FINDING_WARNING, "db-bucket-unknown",
				 reader->bolt.what, GBE_PLACE_PAGE, bucket->page, GBE_NO, GBE_NO,
				 "bucket \"%.100s\": etcd up to 3.7 has none of that name", name);
	}
	for (gsize i = 0; i < G_N_ELEMENTS(known_buckets); i++) {
		const KnownBucket *known = &known_buckets[i];
		bool has = false;

		for (guint j = 0; j < buckets->len && !has; j++) {
			const GbeBboltBucket *bucket = g_ptr_array_index(buckets, j);

			has = bucket->name_size == strlen(known->name) &&
			      strcmp(bucket->name, known->name) == 0;
		}
		if (has)
			continue;
		gbe_findings_add(reader->findings,
				 young		? GBE_FINDING_NOTE
				 : known->vital ? GBE_FINDING_DAMAGE
						: GBE_FINDING_WARNING,
				 "db-bucket-missing", reader->bolt.what, GBE_PLACE_FILE, 0, GBE_NO,
				 young ? GBE_NO : GBE_YES, "there is no bucket \"%s\"",
				 known->name);
	}
}

typedef struct {
	GbeDbReader *reader;
	/* reads the row's meaning; NULL: the row is only summed up */
	void (*take)(GbeDbReader *reader, const GbeBboltRow *row);
} Small;

static GbeWalk
small_row(const GbeBboltRow *row, gpointer data, GError **error)
{
	const Small *small = data;
	GbeDbReader *reader = small->reader;

	reader->db.keys++;
	if (row->is_bucket) {
		gbe_stream_put(&reader->snapshot, row->key, row->key_size);
		return GBE_WALK_ON;
	}
	if (small->take != NULL)
		small->take(reader, row);
	return gbe_db_stream_row(reader, row, &reader->snapshot, error) ? GBE_WALK_ON
									: GBE_WALK_FAIL;
}

static void
small_settle(gpointer data)
{
	gbe_stream_settle(&((Small *)data)->reader->snapshot);
}

static bool
read_small(GbeDbReader *reader, const GbeBboltBucket *bucket, GbePageSet *reached, bool take,
	   GError **error)
{
	const KnownBucket *known = find_known(bucket->name);
	Small small = {.reader = reader, .take = take && known != NULL ? known->take : NULL};
	GbeBboltVisitor visitor = {.row = small_row, .settle = small_settle, .data = &small};

	return gbe_bbolt_walk(&reader->bolt, bucket, reached, &visitor, error);
}

/* "meta" comes after "key" and tells which of its rows may be missing, so it is read first. A full reading proves
 * its pages, and reports damage, in their order. */
static bool
read_first(GbeDbReader *reader, const GPtrArray *buckets, GError **error)
{
	g_auto(GbePageSet) reached = {0};
	g_auto(GbeFindings) later = {0};
	guint64 damages = reader->bolt.damages;

	gbe_findings_init(&later);
	if (reader->options->level == GBE_VERIFY_FULL)
		reader->bolt.findings = &later;
	for (guint i = 0; i < buckets->len; i++) {
		const GbeBboltBucket *bucket = g_ptr_array_index(buckets, i);

		if (!comes_first(bucket))
			continue;
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
	const GbeBboltVisitor visitor = {.row = last_row, .data = reader, .last_leaf = true};
	g_auto(GbePageSet) reached = {0};
	guint64 damages = reader->bolt.damages;

	for (guint i = 0; i < buckets->len; i++) {
		const GbeBboltBucket *bucket = g_ptr_array_index(buckets, i);

		if (strcmp(bucket->name, "key") == 0 &&
		    !gbe_bbolt_walk(&reader->bolt, bucket, &reached, &visitor, error))
			return false;
	}
	if (reader->bolt.damages > damages)
		reader->db.last_row = 0;
	else
		reader->db.revision = MAX(reader->db.last_row, reader->db.compact_revision);
	return true;
}

static bool
read_database(GbeDbReader *reader, GError **error)
{
	g_autoptr(GPtrArray) buckets = NULL;
	g_auto(GbePageSet) reached = {0};
	guint64 damages = reader->bolt.damages;

	if (!gbe_bbolt_buckets(&reader->bolt, &reached, &buckets, error) ||
	    !read_first(reader, buckets, error))
		return false;
	if (reader->bolt.damages == damages)
		check_names(reader, buckets);
	reader->db.checked |= GBE_DB_CHECKED_BUCKETS;
	if (reader->options->level == GBE_VERIFY_SANITY)
		return read_last(reader, buckets, error);
	reader->db.keys = 0;
	reader->snapshot = (GbeStream){0};
	for (guint i = 0; i < buckets->len; i++) {
		const GbeBboltBucket *bucket = g_ptr_array_index(buckets, i);

		gbe_stream_put(&reader->snapshot, (const guint8 *)bucket->name, bucket->name_size);
		gbe_stream_settle(&reader->snapshot);
		if (strcmp(bucket->name, "key") == 0
			? !gbe_db_read_rows(reader, bucket, &reached, error)
			: !read_small(reader, bucket, &reached, !comes_first(bucket), error))
			return false;
	}
	if (!gbe_bbolt_check_free(&reader->bolt, &reached, &reader->db.free_pages, error))
		return false;
	reader->db.checked |= GBE_DB_CHECKED_PAGES | GBE_DB_CHECKED_FREE;
	reader->db.has_hash = reader->bolt.damages == 0;
	reader->db.snapshot_hash = gbe_stream_sum(&reader->snapshot);
	return true;
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
	/* The number may be anything. */
	if (__builtin_mul_overflow(reader.bolt.meta.high_water, reader.bolt.meta.page_size,
				   &reader.db.total_size))
		reader.db.total_size = G_MAXUINT64;
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

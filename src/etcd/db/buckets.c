/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Reads the buckets with few rows, which describe etcd itself. For etcd/db/db.h; formats: reference etcd.md section
 * 5. */
#include <json-glib/json-glib.h>
#include <string.h>

#include "base/format.h"
#include "etcd/db/db-private.h"
#include "etcd/protobuf.h"

#define JSON_MAX 65536U
#define JSON_DEPTH_MAX 16
#define VERSION_MAX 64U

static void bad(GbeDbReader *reader, const char *code, const GbeBboltRow *row, const char *format,
		...) G_GNUC_PRINTF(4, 5);

static void
bad(GbeDbReader *reader, const char *code, const GbeBboltRow *row, const char *format, ...)
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

static guint64
load_be(const guint8 *at)
{
	guint64 value;

	memcpy(&value, at, sizeof(value));
	return GUINT64_FROM_BE(value);
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

/* The length of a list; 0 where there is none; -1: it is no list. */
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
take_index(GbeDbReader *reader, const GbeBboltRow *row, const char *name, guint64 *ret_index)
{
	if (row->value_size == 8 && row->value != NULL)
		*ret_index = load_be(row->value);
	else
		bad(reader, "db-meta", row, "%s has not eight bytes", name);
}

static void
take_compaction(GbeDbReader *reader, const GbeBboltRow *row, const char *name, gint64 *ret_revision)
{
	GbeRevision revision;

	if (row->value != NULL && gbe_revision_read(row->value, (gsize)row->value_size, &revision))
		*ret_revision = revision.main;
	else
		bad(reader, "db-meta", row, "%s is no revision", name);
}

static void
take_conf_state(GbeDbReader *reader, const GbeBboltRow *row)
{
	g_autoptr(JsonParser) parser = json_parser_new();
	JsonObject *object = parse_object(row, parser);
	int voters = object != NULL ? list_length(object, "voters") : -1;
	int learners = object != NULL ? list_length(object, "learners") : -1;

	if (voters < 0 || learners < 0) {
		bad(reader, "db-meta", row, "confState is not the JSON that etcd writes");
		return;
	}
	reader->db.voters = voters;
	reader->db.learners = learners;
}

/* "3.5.0". */
static char *
take_version(GbeDbReader *reader, const GbeBboltRow *row, const char *name)
{
	g_autofree char *text = NULL;

	if (row->value != NULL && row->value_size <= VERSION_MAX)
		text = g_strndup((const char *)row->value, (gsize)row->value_size);
	if (text == NULL || strlen(text) != row->value_size ||
	    !g_regex_match_simple("^[0-9]{1,5}\\.[0-9]{1,5}\\.[0-9]{1,5}(-[0-9A-Za-z.+-]+)?$", text,
				  0, 0)) {
		bad(reader, "db-version", row, "%s is no version", name);
		return NULL;
	}
	return g_steal_pointer(&text);
}

static void
take_meta(GbeDbReader *reader, const GbeBboltRow *row)
{
	if (key_is(row, "consistent_index"))
		take_index(reader, row, "consistent_index", &reader->db.consistent_index);
	else if (key_is(row, "term"))
		take_index(reader, row, "term", &reader->db.term);
	else if (key_is(row, "scheduledCompactRev"))
		take_compaction(reader, row, "scheduledCompactRev", &reader->scheduled);
	else if (key_is(row, "finishedCompactRev"))
		take_compaction(reader, row, "finishedCompactRev", &reader->finished);
	else if (key_is(row, "confState"))
		take_conf_state(reader, row);
	else if (key_is(row, "storageVersion")) {
		g_free(reader->db.storage_version);
		reader->db.storage_version = take_version(reader, row, "storageVersion");
	}
}

/* ---- the others ---- */

static void
take_cluster(GbeDbReader *reader, const GbeBboltRow *row)
{
	g_autoptr(JsonParser) parser = json_parser_new();

	if (key_is(row, "clusterVersion")) {
		g_free(reader->db.cluster_version);
		reader->db.cluster_version = take_version(reader, row, "clusterVersion");
	} else if (key_is(row, "downgrade") && parse_object(row, parser) == NULL) {
		bad(reader, "db-cluster", row, "downgrade is not the JSON that etcd writes");
	}
}

/* The key is the id in hex, without leading zeros. */
static bool
id_from_key(const GbeBboltRow *row, guint64 *ret_id)
{
	guint64 id = 0;

	if (row->key_size == 0 || row->key_size > 16)
		return false;
	for (gsize i = 0; i < row->key_size; i++) {
		int digit = g_ascii_xdigit_value((char)row->key[i]);

		if (digit < 0)
			return false;
		id = id << 4 | (guint64)digit;
	}
	*ret_id = id;
	return true;
}

static void
take_member(GbeDbReader *reader, const GbeBboltRow *row)
{
	g_autoptr(JsonParser) parser = json_parser_new();
	JsonObject *object = parse_object(row, parser);
	guint64 id = 0;

	reader->db.members++;
	if (!id_from_key(row, &id) || object == NULL || !json_object_has_member(object, "id"))
		bad(reader, "db-member", row, "a member that etcd could not read");
}

static void
take_lease(GbeDbReader *reader, const GbeBboltRow *row)
{
	GbeProtobuf message;
	GbeFieldResult result;
	GbeField field;
	guint64 id = 0;

	if (row->key_size == 8 && row->value != NULL) {
		gbe_protobuf_init(&message, row->value, (gsize)row->value_size);
		while ((result = gbe_protobuf_next(&message, &field)) == GBE_FIELD_NEXT)
			if (gbe_field_is(&field, 1, GBE_WIRE_VARINT))
				id = field.value;
		if (result == GBE_FIELD_END && id == load_be(row->key))
			return;
	}
	bad(reader, "db-lease", row, "a lease that etcd could not read, or under another one's id");
}

static void
take_alarm(GbeDbReader *reader, const GbeBboltRow *row)
{
	GbeProtobuf message;
	GbeFieldResult result;
	GbeField field;

	gbe_protobuf_init(&message, row->key, row->key_size);
	while ((result = gbe_protobuf_next(&message, &field)) == GBE_FIELD_NEXT)
		;
	reader->db.refuses = true;
	if (result != GBE_FIELD_END)
		bad(reader, "db-alarm", row, "an alarm that etcd could not read");
}

static void
take_auth(GbeDbReader *reader, const GbeBboltRow *row)
{
	if (key_is(row, "authEnabled") &&
	    (row->value_size != 1 || row->value == NULL || row->value[0] > 1))
		bad(reader, "db-auth", row, "authEnabled is neither yes nor no");
	else if (key_is(row, "authEnabled"))
		reader->db.refuses |= row->value[0] != 0;
	if (key_is(row, "authRevision") && row->value_size != 8)
		bad(reader, "db-auth", row, "authRevision has not eight bytes");
}

/* The buckets that etcd has, from 3.4 to 3.7. */
static const struct {
	const char *name;
	void (*take)(GbeDbReader *reader, const GbeBboltRow *row);
	bool vital; /* a missing one means lost data, not only a missing empty bucket */
} known[] = {
    {"alarm", take_alarm, false}, {"auth", take_auth, false},	   {"authRoles", NULL, false},
    {"authUsers", NULL, false},	  {"cluster", take_cluster, true}, {"key", NULL, true},
    {"lease", take_lease, false}, {"members", take_member, true},  {"members_removed", NULL, false},
    {"meta", take_meta, true},
};

void
gbe_db_take_row(GbeDbReader *reader, const char *bucket, const GbeBboltRow *row)
{
	for (gsize i = 0; i < G_N_ELEMENTS(known); i++)
		if (strcmp(bucket, known[i].name) == 0 && known[i].take != NULL)
			known[i].take(reader, row);
}

static bool
has_bucket(const GPtrArray *buckets, const char *name)
{
	for (guint i = 0; i < buckets->len; i++) {
		const GbeBboltBucket *bucket = g_ptr_array_index(buckets, i);

		if (bucket->name_size == strlen(name) && strcmp(bucket->name, name) == 0)
			return true;
	}
	return false;
}

static bool
is_known(const GbeBboltBucket *bucket)
{
	for (gsize i = 0; i < G_N_ELEMENTS(known); i++)
		if (strcmp(bucket->name, known[i].name) == 0)
			return true;
	return false;
}

/* A database without any entry of the log may lack each of them. */
void
gbe_db_check_names(GbeDbReader *reader, const GPtrArray *buckets)
{
	bool young = reader->db.consistent_index == 0;

	for (guint i = 0; i < buckets->len; i++) {
		const GbeBboltBucket *bucket = g_ptr_array_index(buckets, i);
		g_autofree char *name = NULL;

		if (is_known(bucket))
			continue;
		name = g_strescape(bucket->name, NULL);
		gbe_findings_add(reader->findings, GBE_FINDING_WARNING, "db-bucket-unknown",
				 reader->bolt.what, GBE_PLACE_PAGE, bucket->page, GBE_NO, GBE_NO,
				 "bucket \"%.100s\": etcd up to 3.7 has none of that name", name);
	}
	for (gsize i = 0; i < G_N_ELEMENTS(known); i++) {
		if (has_bucket(buckets, known[i].name))
			continue;
		gbe_findings_add(reader->findings,
				 young		  ? GBE_FINDING_NOTE
				 : known[i].vital ? GBE_FINDING_DAMAGE
						  : GBE_FINDING_WARNING,
				 "db-bucket-missing", reader->bolt.what, GBE_PLACE_FILE, 0, GBE_NO,
				 young ? GBE_NO : GBE_YES, "there is no bucket \"%s\"",
				 known[i].name);
	}
}

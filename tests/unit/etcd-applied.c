/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The index of the log that the database claims, compared with its newest row. A log is written as words, one for each
 * record. */
#include "etcd-log.h"

#include "etcd/db/key-value.h"
#include "etcd/directory/applied.h"

/* A word is a record. Puts: "a=1", "a=1~" with a lease, "a" keeps the value. A deletion: "-a". Transactions: "!a=1" a
 * put, "?a=1" with a condition, "?-a" of a deletion. Requests: "~" revokes a lease, "@" an alarm, "." asks for alarms,
 * "u" users, "x" unknown, "v" of the v2 API. "g" is garbage, "z" zeros, "0" nothing (as a new leader writes it), "c" a
 * change of members. The cluster's version, as 3.5 and 3.4 write it: "V3.5.0" and "P3.5.0". "C9" is a compaction up to
 * 9, "s4" a snapshot at 4; ">9" sets the number of the next entry. */
typedef struct {
	const char *log;
	guint64 index;	    /* that the database claims */
	const char *newest; /* "a=1", "-" a deletion, "" none */
	const char *codes;
	gint64 compacting;
	bool refuses;
} Case;

#define LACKS "member-db-lacks-entries"
#define INDEX "member-db-index"

static const Case cases[] = {
    {"0 c a=1 b=2 c=3", 5, "c=3", "", 0, false},
    /* An older page; an index of another database, in both directions. */
    {"0 c a=1 b=2 c=3", 5, "a=1", LACKS, 0, false},
    {"0 c a=1 b=2 c=3", 5, "", LACKS, 0, false},
    {"0 c a=1 b=2 c=3 0", 4, "b=2", "", 0, false},
    {"0 c a=1 b=2 c=3 0", 4, "c=3", INDEX, 0, false},
    {"0 c a=1 b=2 c=3 0", 3, "c=3", INDEX, 0, false},
    {"0 c a=1 b=2 a=1", 4, "a=1", INDEX, 0, false},
    {"0 c a=1 b=2 a=1", 3, "a=1", "", 0, false},
    {"0 c -a -b", 2, "-", INDEX, 0, false},
    {"0 c -a -b", 3, "-", "", 0, false},
    /* A repeated put. */
    {"a=1 a=1 a=1", 2, "a=1", "", 0, false},
    {"a= a=2", 2, "a=", LACKS, 0, false},
    {"a=2 a=", 2, "a=", "", 0, false},
    /* Entries that may have made no row. */
    {"a=1 b=2~ ?c=3 ?-d -e ~ . 0 v c C9", 11, "a=1", "", 0, false},
    {"a=1 b", 2, "a=1", "", 0, false},
    {"a=1 @ b=2", 3, "a=1", "", 0, false},
    {"a=1 b=2 @", 3, "a=1", "", 0, false},
    {"a=1 . b=2", 3, "a=1", LACKS, 0, false},
    {"a=1 u b=2", 3, "a=1", "", 0, false},
    {"a=1 b=2", 2, "a=1", "", 0, true},
    {"a=1 !b=2", 2, "a=1", LACKS, 0, false},
    /* Entries that may have made a row. */
    {"a=1 b=2 a=1~", 3, "a=1", "", 0, false},
    {"a=1 b=2 a", 3, "a=7", "", 0, false},
    {"b=2 ?a=1", 2, "a=1", "", 0, false},
    {"b=2 !a=1", 2, "a=1", "", 0, false},
    {"b=2 -x", 2, "-", "", 0, false},
    {"b=2 ?-x", 2, "-", "", 0, false},
    {"b=2 ~", 2, "-", "", 0, false},
    {"b=2 -x c=3", 3, "-", LACKS, 0, false},
    {"b=2 x", 2, "a=1", "", 0, false},
    {"b=2 g", 2, "a=1", "", 0, false},
    {"b=2 v", 2, "a=1", LACKS, 0, false},
    {"b=2 g c=3", 3, "a=1", LACKS, 0, false},
    /* A log that does not reach back to the beginning: the row may be older than the log. */
    {">90 0 ?b=2 0", 92, "a=1", "", 0, false},
    {">90 0 ?b=2 a=1", 91, "a=1", "", 0, false},
    {">90 0 b=2 a=1", 91, "a=1", INDEX, 0, false},
    {">90 0 b=2 c=3", 92, "a=1", LACKS, 0, false},
    /* A restored directory: its first rows come from no entry, later rows do. */
    {"c s1", 1, "z=9", "", 0, false},
    {"c s1 0 z=9", 2, "z=9", "", 0, false},
    {"c s1 0 a=1", 3, "a=1", "", 0, false},
    {"c s1 0 a=1", 3, "z=9", LACKS, 0, false},
    {"c 0 a=1 s2 b=2 s4", 4, "a=1", LACKS, 0, false},
    /* A member that got a snapshot from its leader. */
    {"c a=1 s90 >91 0", 91, "z=9", "", 0, false},
    {"c a=1 s90", 90, "z=9", "", 0, false},
    {"c a=1 s90 b=2 c=3", 92, "z=9", LACKS, 0, false},
    /* Entries that a new leader replaced. */
    {"c a=1 b=2 >3 0 0", 4, "a=1", "", 0, false},
    {"c a=1 b=2 c=3 >3 d=4 0", 4, "d=4", "", 0, false},
    {"c a=1 b=2 >3 0 d=4", 4, "a=1", LACKS, 0, false},
    /* A compaction beyond every row must have an entry that asks for it. */
    {"a=1 -a C3 0", 4, "-", "", 3, false},
    {"a=1 -a 0 C3", 3, "-", "", 3, false},
    {"a=1 -a C3 0", 4, "-", "member-db-compaction", 536870915, false},
    {"-x a=1 0", 3, "-", "member-db-compaction", 536870915, false},
};

static void
put_request(GByteArray *to, const char *word)
{
	g_autofree char *key = g_strndup(word, 1);

	gbe_protobuf_put_string(to, 1, key);
	if (word[1] == '=' && word[2] != '\0')
		gbe_protobuf_put_bytes(to, 2, word + 2, 1);
	if (g_str_has_suffix(word, "~"))
		gbe_protobuf_put_varint(to, 3, 77);
	if (word[1] == '\0')
		gbe_protobuf_put_varint(to, 5, 1);
}

static void
txn_request(GByteArray *to, const char *word)
{
	g_autoptr(GByteArray) request = g_byte_array_new();
	g_autoptr(GByteArray) op = g_byte_array_new();
	bool deletes = word[1] == '-';

	put_request(request, word + 1 + deletes);
	gbe_protobuf_put_bytes(op, deletes ? 3 : 2, request->data, request->len);
	if (word[0] == '?')
		gbe_protobuf_put_string(to, 1, "\x1a\x01k");
	gbe_protobuf_put_bytes(to, 2, op->data, op->len);
}

/* The kind of request, by the number of its field. */
static guint
request_of(GByteArray *to, const char *word)
{
	switch (word[0]) {
	case '-':
		gbe_protobuf_put_bytes(to, 1, word + 1, 1);
		return 5;
	case '!':
	case '?':
		txn_request(to, word);
		return 6;
	case 'C':
		gbe_protobuf_put_varint(to, 1, g_ascii_strtoull(word + 1, NULL, 10));
		return 7;
	case '~':
		return 9;
	case '@':
		gbe_protobuf_put_varint(to, 1, 1);
		return 10;
	case '.':
		return 10;
	case 'u':
		return 1000;
	case 'x':
		return 50;
	case 'v':
		gbe_protobuf_put_string(to, 1, "PUT");
		return 2;
	default:
		put_request(to, word);
		return 4;
	}
}

static void
take(GbeApplied *applied, guint type, const GByteArray *data)
{
	GbeWalSegmentReader reader = {.record = {.type = type, .size = data->len},
				      .data = data->data,
				      .have = data->len};

	gbe_applied_take(&reader, applied);
}

static void
take_word(GbeApplied *applied, const char *word, guint64 *index)
{
	g_autoptr(GByteArray) request = g_byte_array_new();
	g_autoptr(GByteArray) data = g_byte_array_new();
	g_autoptr(GByteArray) record = g_byte_array_new();

	if (word[0] == '>') {
		*index = g_ascii_strtoull(word + 1, NULL, 10) - 1;
		return;
	}
	if (word[0] == 's') {
		gbe_protobuf_put_varint(record, 1, g_ascii_strtoull(word + 1, NULL, 10));
		gbe_protobuf_put_varint(record, 2, 1);
		take(applied, GBE_WAL_SNAPSHOT, record);
		*index = MAX(*index, g_ascii_strtoull(word + 1, NULL, 10));
		return;
	}
	if (strcmp(word, "c") == 0 || strcmp(word, "0") == 0) {
	} else if (word[0] == 'z') {
		gbe_protobuf_put_bytes(data, 4, "\0\0\0\0\0\0", 6);
		memset(data->data, 0, data->len);
	} else if (word[0] == 'V') {
		gbe_protobuf_put_string(request, 1, word + 1);
		gbe_protobuf_put_bytes(data, 1300, request->data, request->len);
	} else if (word[0] == 'P') {
		gbe_protobuf_put_varint(data, 1, 7);
		gbe_protobuf_put_string(data, 2, "PUT");
		gbe_protobuf_put_string(data, 3, "/0/version");
		gbe_protobuf_put_string(data, 4, word + 1);
	} else if (word[0] == 'g') {
		gbe_protobuf_put_bytes(data, 4, "\xff\xff", 2);
	} else {
		guint number = request_of(request, word);

		gbe_protobuf_put_bytes(data, number, request->data, request->len);
	}
	gbe_protobuf_put_varint(record, 1,
				word[0] == 'c' && word[1] == '\0' ? GBE_ENTRY_CONF_CHANGE
								  : GBE_ENTRY_NORMAL);
	gbe_protobuf_put_varint(record, 2, 2);
	gbe_protobuf_put_varint(record, 3, ++*index);
	if (data->len > 0)
		gbe_protobuf_put_bytes(record, 4, data->data, data->len);
	take(applied, GBE_WAL_ENTRY, record);
}

START_TEST(logs)
{
	const Case *this = &cases[_i];
	GbeDb db = {.consistent_index = this->index,
		    .compacting = this->compacting,
		    .refuses = this->refuses,
		    .newest = {.known = true}};
	g_auto(GStrv) words = g_strsplit(this->log, " ", -1);
	g_auto(GbeFindings) findings = {0};
	g_autofree char *codes = NULL;
	GbeApplied applied;
	guint64 index = 0;

	db.newest.none = this->newest[0] == '\0';
	db.newest.deleted = this->newest[0] == '-';
	db.newest.key = gbe_key_hash((const guint8 *)this->newest, 1);
	if (strlen(this->newest) > 2)
		db.newest.value = gbe_crc32c(0, this->newest + 2, 1);
	gbe_findings_init(&findings);
	gbe_applied_init(&applied, &db);
	for (guint i = 0; words[i] != NULL; i++)
		take_word(&applied, words[i], &index);
	gbe_applied_judge(&applied, "db", &findings);
	codes = codes_of(&findings);
	ck_assert_msg(g_str_equal(codes, this->codes),
		      "%s, up to %" G_GUINT64_FORMAT ", %s: \"%s\"", this->log, this->index,
		      this->newest, codes);
}
END_TEST

START_TEST(contents)
{
	static const struct {
		const char *log;
		guint64 garbled;
		const char *version; /* of the database, which has the log up to 3 */
		bool differs;
	} logs_with[] = {
	    {"0 c a=1 b=2 x v . @ g", 0, "3.5.0", false},
	    {"0 a=1 z b=2 z", 3, "3.5.0", false},
	    {"0 V3.5.0 a=1", 0, "3.5.0", false},
	    {"0 V3.5.0 a=1", 0, "3.7.0", true},
	    {"0 V3.4.0 V3.5.0", 0, "3.4.0", true},
	    {"0 P3.4.0 a=1", 0, "3.4.0", false},
	    {"0 P3.4.0 a=1", 0, "3.7.0", true},
	    /* Committed, and not yet with the index. */
	    {"0 V3.4.0 a=1 V3.5.0", 0, "3.5.0", false},
	    {"0 V3.4.0 a=1 V3.5.0", 0, "3.6.0", true},
	    {"0 V3.4.0 a=1", 0, NULL, false},
	};

	for (gsize i = 0; i < G_N_ELEMENTS(logs_with); i++) {
		GbeDb db = {.consistent_index = 3,
			    .cluster_version = (char *)logs_with[i].version,
			    .newest = {.known = true}};
		g_auto(GStrv) words = g_strsplit(logs_with[i].log, " ", -1);
		GbeApplied applied;
		guint64 index = 0;

		gbe_applied_init(&applied, &db);
		for (guint w = 0; words[w] != NULL; w++)
			take_word(&applied, words[w], &index);
		ck_assert_msg(applied.garbled == logs_with[i].garbled, "%s", logs_with[i].log);
		ck_assert_msg(gbe_applied_version_differs(&applied) == logs_with[i].differs,
			      "%s, %s", logs_with[i].log, logs_with[i].version);
	}
}
END_TEST

/* A newest row that was not examined gives no finding. */
START_TEST(unknown)
{
	GbeApplied applied = {.index = 9, .put = 9, .begins = true, .made_later = 10};
	g_auto(GbeFindings) findings = {0};

	gbe_findings_init(&findings);
	gbe_applied_judge(&applied, "db", &findings);
	ck_assert_uint_eq(findings.items->len, 0);
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("etcd-applied");
	TCase *tcase = tcase_create("logs");

	tcase_add_loop_test(tcase, logs, 0, G_N_ELEMENTS(cases));
	tcase_add_test(tcase, contents);
	tcase_add_test(tcase, unknown);
	suite_add_tcase(suite, tcase);
	return scratch_main(suite);
}

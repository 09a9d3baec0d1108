/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "etcd-log.h"
#include "etcd-real.h"
#include "lib/findings.h"
#include "lib/samples.h"

#include "etcd/wal/read.h"
#include "etcd/wal/rest.h"
#include "etcd/wal/segment.h"

#define FIRST "wal/0000000000000000-0000000000000000.wal"

typedef struct {
	GbeWal wal;
	GbeFindings findings;
	char *codes;
} Read;

static const char *version;

static void
read_clear(Read *read)
{
	gbe_wal_clear(&read->wal);
	gbe_findings_clear(&read->findings);
	g_free(read->codes);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Read, read_clear)

static void
read_at(int dir_fd, Read *ret)
{
	GbeLook look = gbe_look_begin(0);
	g_autoptr(GError) error = NULL;

	*ret = (Read){0};
	gbe_findings_init(&ret->findings);
	if (!gbe_wal_read(dir_fd, "wal", gbe_version_parse(version), &look, NULL, NULL, &ret->wal,
			  &ret->findings, &error))
		ck_abort_msg("%s", error->message);
	ret->codes = codes_of(&ret->findings);
}

static void
read_log(Read *ret)
{
	g_autofree char *path = root_path("wal");
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	ck_assert_int_ge(fd, 0);
	read_at(fd, ret);
	(void)close(fd);
}

/* The figures of an independent reader for logs that these versions of etcd wrote. */
START_TEST(samples)
{
	static const struct {
		const char *name;
		guint segments, snapshots;
		guint64 records, last;
	} cases[] = {
	    {"etcd34-small-stopped", 1, 1, 54, 26},
	    {"etcd36-7k5-snapfiles", 1, 8, 13096, 7504},
	    {"etcd35-wal3segments-compacted", 3, 1, 298, 145},
	};

	for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
		g_autofree char *data = sample(cases[i].name);
		g_autofree char *path = g_build_filename(data, "member/wal", NULL);
		int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		g_auto(Read) read = {0};

		read_at(fd, &read);
		(void)close(fd);
		ck_assert_str_eq(read.codes, "");
		ck_assert(read.wal.complete);
		ck_assert_uint_eq(read.wal.segments->len, cases[i].segments);
		ck_assert_uint_eq(read.wal.snapshots->len, cases[i].snapshots);
		ck_assert_uint_eq(read.wal.records, cases[i].records);
		ck_assert_uint_eq(read.wal.last_entry, cases[i].last);
		ck_assert_uint_eq(read.wal.state.commit, cases[i].last);
		ck_assert_uint_eq(read.wal.metadata.member, MEMBER);
		ck_assert_uint_eq(read.wal.metadata.cluster, CLUSTER);
		ck_assert_uint_eq(read.wal.gap, 0);
		ck_assert_uint_eq(read.wal.changes->len, 1);
		ck_assert_uint_eq(g_array_index(read.wal.changes, GbeConfChange, 0).node, MEMBER);
		ck_assert_int_eq(RUN("rm", "-rf", data), 0);
	}
}
END_TEST

/* Ten writes in the first segment, ten in the second. @ret_at: where each record of the second begins, and its end. */
static void
two_segments(Log *log, guint ret_at[12])
{
	log_begin(log);
	log_change(log, GBE_CONF_ADD, MEMBER);
	for (guint i = 0; i < 10; i++)
		log_put(log, 100 + 10 * i);
	log_cut(log);
	for (guint i = 0; i < 10; i++) {
		ret_at[i] = log->bytes->len;
		log_put(log, i == 5 ? 700000 : 900);
	}
	ret_at[10] = log->bytes->len;
}

START_TEST(made_to_measure)
{
	g_auto(Read) read = {0};
	guint at[12];
	Log log;

	two_segments(&log, at);
	log_save(&log, 100000);
	read_log(&read);
	ck_assert_str_eq(read.codes, "");
	ck_assert(read.wal.complete);
	ck_assert(read.wal.ended);
	ck_assert_uint_eq(read.wal.last_entry, 21);
	ck_assert_uint_eq(read.wal.state.commit, 21);
	ck_assert_uint_eq(read.wal.state.vote, MEMBER);
	ck_assert_uint_eq(((GbeWalSegment *)g_ptr_array_index(read.wal.segments, 1))->first_entry,
			  12);
	log_end(&log);
}
END_TEST

/* Cut off anywhere in the last segment: the rest is whole, and the log ends before the cut. */
START_TEST(cut_anywhere)
{
	g_autofree char *path = NULL;
	guint at[12];
	Log log;

	two_segments(&log, at);
	log_save(&log, 0);
	path = log_path(&log);
	for (guint size = log.bytes->len; size > 0;) {
		g_auto(Read) read = {0};

		size -= size > 3000 ? MIN(size - 3000, 4999) : 1;
		ck_assert_int_eq(truncate(path, size), 0);
		read_log(&read);
		ck_assert_msg(read.wal.complete, "%u: %s", size, read.codes);
		ck_assert_msg(!read.wal.ended, "%u", size);
		ck_assert_msg(g_str_equal(read.codes, "") || g_str_equal(read.codes, "wal-torn"),
			      "%u: %s", size, read.codes);
		ck_assert_uint_le(read.wal.last_entry, 21);
		ck_assert(size < at[9] || read.wal.last_entry >= 20);
	}
	log_end(&log);
}
END_TEST

/* Changes the bits of one byte of the saved segment. */
static void
flip(const char *path, const Log *log, guint at, guint8 bits)
{
	guint8 byte = log->bytes->data[at] ^ bits;
	int fd = open(path, O_WRONLY | O_CLOEXEC);

	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(pwrite(fd, &byte, 1, at), 1);
	(void)close(fd);
}

/* Each byte of the first and of the last segment wrong in turn, by bit _i: found, unless the bit means nothing. */
START_TEST(every_byte)
{
	g_autofree char *path = NULL;
	guint at[12];
	Log log;

	two_segments(&log, at);
	/* Without the large record, because all of it is read each time. */
	g_byte_array_set_size(log.bytes, at[5]);
	log_save(&log, 5000);
	path = log_path(&log);
	for (guint i = 0; i < at[3]; i += i < at[1] ? 1 : 7) {
		g_auto(Read) read = {0};

		flip(path, &log, i, (guint8)(1U << _i));
		read_log(&read);
		flip(path, &log, i, 0);
		/* Padding, and bits of a length field that etcd also ignores. */
		if (g_str_equal(read.codes, "")) {
			ck_assert_uint_eq(read.wal.last_entry, 16);
			ck_assert_uint_eq(read.wal.last_term, 2);
			continue;
		}
		ck_assert_msg(gbe_findings_worst(&read.findings) >= GBE_FINDING_DAMAGE, "%u: %s", i,
			      read.codes);
		ck_assert(!read.wal.complete);
	}
	log_end(&log);
}
END_TEST

/* A length of zero in the middle: etcd would take it for the end and clear the rest. */
START_TEST(hole)
{
	g_auto(Read) read = {0};
	guint at[12];
	Log log;

	two_segments(&log, at);
	memset(log.bytes->data + at[2], 0, 16);
	log_save(&log, 5000);
	read_log(&read);
	ck_assert_str_eq(read.codes, "wal-hole");
	ck_assert_uint_eq(gbe_findings_first(&read.findings)->at, at[2]);
	ck_assert_int_eq(gbe_findings_first(&read.findings)->loses_data, GBE_YES);
	ck_assert_int_eq(gbe_findings_first(&read.findings)->etcd_notices, GBE_NO);
	ck_assert(!read.wal.complete);
	log_end(&log);
}
END_TEST

/* A frame with a wrong length, and a whole record: no power cut leaves that, whether bytes follow or not. At the
 * end of a sector the frame may be missing. */
START_TEST(frames)
{
	static const guint8 wrong[][8] = {{0},
					  {0x7e, 0x7e, 0x7e, 0x7e, 0x7e, 0x7e, 0x7e},
					  {0xff, 1, 0x40, 0, 0, 0, 0, 0x87}};
	guint at[12];
	Log log;

	two_segments(&log, at);
	for (guint i = 1; i < 10; i++)
		for (gsize kind = 0; kind < G_N_ELEMENTS(wrong); kind++) {
			g_auto(Read) read = {0};
			guint8 was[8];

			memcpy(was, log.bytes->data + at[i], 8);
			memcpy(log.bytes->data + at[i], wrong[kind], 8);
			log_save(&log, 5000);
			memcpy(log.bytes->data + at[i], was, 8);
			read_log(&read);
			if (at[i] % 512 == 504 && kind == 0)
				continue;
			ck_assert_msg(strstr(read.codes, "wal-length") == read.codes, "%u, %zu: %s",
				      i, kind, read.codes);
			ck_assert_int_eq(gbe_findings_worst(&read.findings), GBE_FINDING_DAMAGE);
			ck_assert(!read.wal.complete);
		}
	log_end(&log);
}
END_TEST

/* There it may be missing, but never wrong, however much follows. */
START_TEST(frame_at_the_end_of_a_sector)
{
	for (guint writes = 1; writes < 4; writes++)
		for (guint missing = 0; missing < 2; missing++) {
			g_auto(Read) read = {0};
			gsize at;
			Log log;

			log_begin(&log);
			log_change(&log, GBE_CONF_ADD, MEMBER);
			for (guint i = 0; log.bytes->len % 512 != 504; i++)
				log_put(&log, 1 + 8 * (i % 7));
			at = log.bytes->len;
			for (guint i = 0; i < writes; i++)
				log_put(&log, 95);
			if (missing)
				memset(log.bytes->data + at, 0, 8);
			else
				log.bytes->data[at + 2] ^= 0x40;
			log_save(&log, 10000000);
			log_end(&log);
			read_log(&read);
			ck_assert_str_eq(read.codes, !missing	  ? "wal-length"
						     : writes > 1 ? "wal-hole"
								  : "wal-tail");
			ck_assert_int_eq(read.wal.complete, missing && writes == 1);
			ck_assert(!read.wal.ended);
		}
}
END_TEST

/* Too little or too much padding: the next record is not found. */
START_TEST(padding)
{
	guint at[12];
	Log log;

	two_segments(&log, at);
	for (guint i = 1; i < 9; i++)
		for (guint bit = 56; bit < 64; bit++) {
			g_auto(Read) read = {0};
			guint8 *frame = log.bytes->data + at[i] + 7;

			if (bit >= 59 && bit < 63)
				continue;
			*frame ^= (guint8)(1U << (bit - 56));
			log_save(&log, 5000);
			*frame ^= (guint8)(1U << (bit - 56));
			read_log(&read);
			/* Padding that a record does not need is not read. */
			if (g_str_equal(read.codes, "")) {
				ck_assert_uint_eq(read.wal.last_entry, 21);
				continue;
			}
			ck_assert_msg(gbe_findings_worst(&read.findings) == GBE_FINDING_DAMAGE,
				      "%u, %u: %s", i, bit, read.codes);
		}
	log_end(&log);
}
END_TEST

/* The same with only the last write after the hole, which was never acknowledged. */
START_TEST(residue)
{
	g_auto(Read) read = {0};
	guint at[12];
	Log log;

	two_segments(&log, at);
	memset(log.bytes->data + at[8], 0, at[9] - at[8]);
	log_save(&log, 5000);
	read_log(&read);
	ck_assert_str_eq(read.codes, "wal-tail");
	ck_assert_int_eq(gbe_findings_worst(&read.findings), GBE_FINDING_NOTE);
	ck_assert(read.wal.complete);
	ck_assert(!read.wal.ended);
	ck_assert_uint_eq(read.wal.last_entry, 19);
	log_end(&log);
}
END_TEST

/* One record more at the end, with any number of zeros after it: a log as etcd leaves it. */
START_TEST(committed)
{
	for (gsize zeros = 0; zeros <= 5000; zeros += 2500) {
		g_auto(Read) read = {0}, after = {0};
		g_autofree char *path = root_path("wal");
		g_autoptr(GError) error = NULL;
		GbeHardState state;
		guint at[12];
		Log log;
		int fd;

		two_segments(&log, at);
		memset(log.bytes->data + at[8], 0, at[9] - at[8]);
		log_save(&log, zeros);
		read_log(&read);
		ck_assert_str_eq(read.codes, "wal-tail");
		state = read.wal.state;
		state.commit = read.wal.last_entry;
		fd = open_dir(path);
		ck_assert(gbe_wal_commit(fd, "wal", &state, &error));
		(void)close(fd);
		read_log(&after);
		ck_assert_str_eq(after.codes, "");
		ck_assert(after.wal.complete && after.wal.ended);
		ck_assert_uint_eq(after.wal.records, read.wal.records + 1);
		ck_assert_uint_eq(after.wal.last_entry, read.wal.last_entry);
		ck_assert_uint_eq(after.wal.state.commit, read.wal.last_entry);
		ck_assert_uint_eq(after.wal.state.term, read.wal.state.term);
		ck_assert_uint_eq(after.wal.state.vote, read.wal.state.vote);
		log_end(&log);
	}
}
END_TEST

/* A sector of a record was never written: torn in the last record, a hole in another. */
START_TEST(unwritten_sector)
{
	guint at[12];
	Log log;

	two_segments(&log, at);
	for (guint write = 2; write < 10; write++) {
		g_auto(Read) read = {0};
		guint sector = (at[write] + 512 + 8) / 512 * 512;
		guint8 was[512];

		memcpy(was, log.bytes->data + sector, sizeof(was));
		memset(log.bytes->data + sector, 0, sizeof(was));
		log_save(&log, 5000);
		memcpy(log.bytes->data + sector, was, sizeof(was));
		read_log(&read);
		ck_assert_str_eq(read.codes, write < 8 ? "wal-hole" : "wal-torn");
		ck_assert_uint_eq(read.wal.last_entry, 11 + write);
	}
	log_end(&log);
}
END_TEST

START_TEST(length_too_large)
{
	static const struct {
		const char *version, *code;
		GbeSeverity severity;
	} cases[] = {
	    {"3.4.23", "wal-length", GBE_FINDING_DAMAGE},
	    {"3.5.0", "wal-length", GBE_FINDING_WARNING},
	    {NULL, "wal-length", GBE_FINDING_UNKNOWN},
	};
	guint at[12];
	Log log;

	two_segments(&log, at);
	memset(log.bytes->data + at[9], 0x7e, 7);
	log.bytes->data[at[9] + 24] ^= 1;
	log_save(&log, 5000);
	for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
		g_auto(Read) read = {0};

		version = cases[i].version;
		read_log(&read);
		version = NULL;
		ck_assert_str_eq(read.codes, cases[i].code);
		ck_assert_int_eq(gbe_findings_worst(&read.findings), cases[i].severity);
	}
	log_end(&log);
}
END_TEST

static void
three_segments(Log *log)
{
	guint at[12];

	two_segments(log, at);
	log_cut(log);
	log_put(log, 10);
	log_save(log, 1000);
}

START_TEST(segments)
{
	g_autofree char *first = root_path(FIRST);
	g_autofree char *second = root_path("wal/0000000000000001-000000000000000c.wal");
	g_autofree char *aside = root_path("aside");
	Log log;

	three_segments(&log);
	log_end(&log);
	for (guint i = 0; i < 4; i++) {
		static const char *const codes[] = {"wal-chain wal-chain", "wal-gap", "",
						    "wal-not-a-file"};
		g_auto(Read) read = {0};

		if (i == 0) { /* swapped */
			ck_assert_int_eq(rename(first, aside), 0);
			ck_assert_int_eq(rename(second, first), 0);
			ck_assert_int_eq(rename(aside, second), 0);
		}
		if (i == 1) { /* the middle one is missing */
			ck_assert_int_eq(rename(first, aside), 0);
			ck_assert_int_eq(rename(second, first), 0);
			ck_assert_int_eq(rename(aside, second), 0);
			ck_assert_int_eq(rename(second, aside), 0);
		}
		if (i == 2) { /* the oldest one is missing */
			ck_assert_int_eq(rename(aside, second), 0);
			ck_assert_int_eq(rename(first, aside), 0);
		}
		if (i == 3)
			ck_assert_int_eq(mkfifo(first, 0600), 0);
		read_log(&read);
		if (i == 0) {
			ck_assert_msg(!read.wal.complete, "%s", read.codes);
			ck_assert_ptr_nonnull(findings_find(&read.findings, "wal-chain"));
		} else {
			ck_assert_str_eq(read.codes, codes[i]);
			ck_assert(read.wal.complete == (i == 2));
		}
		if (i == 2)
			ck_assert_uint_eq(read.wal.gap, 12);
	}
}
END_TEST

/* Only a segment that is not the last may end with its file. */
START_TEST(cut_in_the_middle)
{
	g_autofree char *second = root_path("wal/0000000000000001-000000000000000c.wal");
	g_auto(Read) read = {0};
	struct stat st;
	Log log;

	three_segments(&log);
	log_end(&log);
	ck_assert_int_eq(stat(second, &st), 0);
	ck_assert_int_eq(truncate(second, st.st_size - 5), 0);
	read_log(&read);
	ck_assert_str_eq(read.codes, "wal-cut");
	ck_assert(!read.wal.complete);
}
END_TEST

START_TEST(contents)
{
	static const char *const codes[] = {"wal-content",	  "wal-content",
					    "wal-unknown-format", "wal-other-member",
					    "wal-no-metadata",	  ""};

	for (guint i = 0; i < G_N_ELEMENTS(codes); i++) {
		g_autoptr(GByteArray) odd = g_byte_array_new();
		g_auto(Read) read = {0};
		Log log;

		/* A number in place of bytes, or an unknown field. */
		gbe_protobuf_put_varint(odd, i < 2 ? (i == 0 ? 4 : 3) : 9, 1);
		log_begin(&log);
		if (i == 0)
			log_record(&log, GBE_WAL_ENTRY, odd);
		else if (i == 1)
			log_record(&log, GBE_WAL_SNAPSHOT, odd);
		else if (i == 2)
			log_record(&log, 6, odd);
		else if (i == 3)
			log_pair(&log, GBE_WAL_METADATA, MEMBER, CLUSTER + 1);
		else if (i == 4)
			g_byte_array_set_size(log.bytes, 0);
		else
			log_record(&log, GBE_WAL_STATE, odd);
		log_save(&log, 100);
		log_end(&log);
		read_log(&read);
		ck_assert_str_eq(read.codes, codes[i]);
		ck_assert(read.wal.complete == (*codes[i] == '\0'));
	}
}
END_TEST

/* No checksum covers a record's type: raft's rules find a wrong one. */
START_TEST(order)
{
	static const char *const said[] = {
	    "the entry's term cannot be right",
	    "the entry would replace one that had been agreed on",
	    "the entry is of an older term than the one before it",
	    "the state is older than the one before it",
	    "the state is older than the one before it",
	};

	for (guint i = 0; i < G_N_ELEMENTS(said); i++) {
		g_auto(Read) read = {0};
		Log log;

		log_begin(&log);
		log_put(&log, 10);
		log_put(&log, 10);
		if (i == 0)
			log_triple(&log, GBE_WAL_ENTRY, 2, MEMBER, 3);
		else if (i == 1)
			log_triple(&log, GBE_WAL_ENTRY, 0, 2, 2);
		else if (i == 2)
			log_triple(&log, GBE_WAL_ENTRY, 0, 1, 3);
		else if (i == 3)
			log_triple(&log, GBE_WAL_STATE, 1, MEMBER, 2);
		else
			log_triple(&log, GBE_WAL_STATE, 2, MEMBER, 1);
		log_save(&log, 100);
		log_end(&log);
		read_log(&read);
		ck_assert_str_eq(read.codes, "wal-order");
		ck_assert_str_eq(gbe_findings_first(&read.findings)->what, said[i]);
		ck_assert(!read.wal.complete);
	}
}
END_TEST

/* Voters are recorded in order; a change that a new leader replaced is dropped. */
START_TEST(members)
{
	g_auto(Read) read = {0};
	Log log;

	log_begin(&log);
	log_change(&log, GBE_CONF_ADD, MEMBER);
	log_change(&log, GBE_CONF_ADD, 7);
	log_put(&log, 10);
	log_change(&log, GBE_CONF_REMOVE, 7);
	log.index = 3;
	log_put(&log, 10);
	log_save(&log, 100);
	log_end(&log);
	read_log(&read);
	ck_assert_str_eq(read.codes, "");
	ck_assert_uint_eq(read.wal.changes->len, 2);
	ck_assert_uint_eq(g_array_index(read.wal.changes, GbeConfChange, 1).node, 7);
	ck_assert_uint_eq(read.wal.last_entry, 4);
	ck_assert_uint_eq(read.wal.gap, 0);
	ck_assert(!read.wal.changes_lost);
}
END_TEST

/* 3.4 writes a record that it cannot read again. */
START_TEST(entry_of_10_mib)
{
	static const struct {
		const char *version, *codes;
		gsize size;
		GbeSeverity severity;
	} cases[] = {
	    {"3.4.23", "wal-entry-size", GBE_WAL_LENGTH_OLD, GBE_FINDING_DAMAGE},
	    {"3.4.23", "", GBE_WAL_LENGTH_OLD - 100, GBE_FINDING_NOTE},
	    {"3.5.16", "wal-entry-size", GBE_WAL_LENGTH_OLD, GBE_FINDING_WARNING},
	    {"3.6.0", "", GBE_WAL_LENGTH_OLD, GBE_FINDING_NOTE},
	    {NULL, "wal-entry-size", GBE_WAL_LENGTH_OLD, GBE_FINDING_WARNING},
	};
	g_auto(Read) read = {0};
	Log log;

	log_begin(&log);
	log_put(&log, cases[_i].size);
	log_save(&log, 5000);
	log_end(&log);
	version = cases[_i].version;
	read_log(&read);
	version = NULL;
	ck_assert_str_eq(read.codes, cases[_i].codes);
	ck_assert_int_eq(gbe_findings_worst(&read.findings), cases[_i].severity);
	ck_assert_uint_eq(read.wal.last_entry, 1);
}
END_TEST

/* 3.7 leaves out a number that is 0; above all an entry's type, also of one that no window holds. */
START_TEST(entry_without_type)
{
	static const gsize sizes[] = {10, 300000, 5000000};
	g_autofree guint8 *bytes = g_malloc0(sizes[_i]);
	g_autoptr(GByteArray) data = g_byte_array_new();
	g_auto(Read) read = {0};
	Log log;

	memset(bytes, 'v', sizes[_i]);
	log_begin(&log);
	gbe_protobuf_put_varint(data, 2, 2);
	gbe_protobuf_put_varint(data, 3, 1);
	gbe_protobuf_put_bytes(data, 4, bytes, sizes[_i]);
	log_record(&log, GBE_WAL_ENTRY, data);
	log_triple(&log, GBE_WAL_STATE, 2, MEMBER, 1);
	log_save(&log, 5000);
	log_end(&log);
	read_log(&read);
	ck_assert_str_eq(read.codes, "");
	ck_assert_uint_eq(read.wal.last_entry, 1);
	ck_assert_uint_eq(read.wal.last_term, 2);
}
END_TEST

START_TEST(other_names)
{
	g_auto(Read) read = {0};
	Log log;

	log_begin(&log);
	log_save(&log, 0);
	log_end(&log);
	root_write("wal/0.tmp", "");
	root_write(FIRST ".broken", "");
	read_log(&read);
	ck_assert_str_eq(read.codes, "member-leftover member-leftover");
	ck_assert(read.wal.complete);
	ck_assert_int_eq(gbe_findings_worst(&read.findings), GBE_FINDING_NOTE);
}
END_TEST

/* Bytes after the end that all look like records cost no more time than their number. */
START_TEST(hostile_tail)
{
	g_autoptr(GByteArray) bytes = g_byte_array_new();
	static const guint8 claim[] = {0,    0, 0x20, 0, 0,    0,    0,	   0,
				       0x08, 2, 0x10, 1, 0x1a, 0xfa, 0xff, 0x7f};
	gint64 begin = g_get_monotonic_time();
	g_auto(Read) read = {0};
	Log log;

	log_begin(&log);
	for (guint i = 0; i < 8 * 1024 * 1024 / sizeof(claim); i++)
		g_byte_array_append(bytes, claim, sizeof(claim));
	g_byte_array_append(log.bytes, (const guint8[8]){0}, 8);
	g_byte_array_append(log.bytes, bytes->data, bytes->len);
	log_save(&log, 0);
	log_end(&log);
	read_log(&read);
	ck_assert_str_eq(read.codes, "wal-tail");
	ck_assert_int_lt(g_get_monotonic_time() - begin, 20 * G_USEC_PER_SEC);
}
END_TEST

/* Makes an entry's record that claims @size bytes of a hole; the file ends after it. */
static void
put_hole(Log *log, guint64 size)
{
	g_autofree char *path = NULL;
	g_autofree char *full = NULL;
	g_autoptr(GByteArray) head = g_byte_array_new();
	guint64 length;

	gbe_protobuf_put_varint(head, 1, GBE_WAL_ENTRY);
	gbe_protobuf_put_varint(head, 2, 1);
	g_byte_array_append(head, (const guint8[]){0x1a}, 1);
	for (guint64 left = size; left > 0; left >>= 7)
		g_byte_array_append(
		    head, &(guint8){(guint8)((left & 0x7f) | (left > 0x7f ? 0x80 : 0))}, 1);
	length = GUINT64_TO_LE(head->len + size);
	g_byte_array_append(log->bytes, (const guint8 *)&length, sizeof(length));
	g_byte_array_append(log->bytes, head->data, head->len);
	log_save(log, 0);
	path = g_build_filename("wal", log->name, NULL);
	full = root_path(path);
	ck_assert_int_eq(truncate(full, (off_t)(log->bytes->len + size)), 0);
}

/* In the last segment, and in one before it: a record is not read to its claimed length. */
START_TEST(record_in_a_hole)
{
	gint64 begin = g_get_monotonic_time();
	g_auto(Read) read = {0};
	Log log;

	log_begin(&log);
	log_put(&log, 10);
	put_hole(&log, (guint64)1 << 40);
	if (_i == 1) {
		g_clear_pointer(&log.bytes, g_byte_array_unref);
		log.sequence++;
		log_head(&log);
		log_save(&log, 0);
	}
	log_end(&log);
	read_log(&read);
	ck_assert_str_eq(read.codes, "wal-unread");
	ck_assert_int_eq(gbe_findings_worst(&read.findings), GBE_FINDING_UNKNOWN);
	ck_assert(!read.wal.complete);
	ck_assert_int_lt(g_get_monotonic_time() - begin, 20 * G_USEC_PER_SEC);
}
END_TEST

/* A small hole is read as zeros. */
START_TEST(small_hole_in_a_record)
{
	g_auto(Read) read = {0};
	Log log;

	log_begin(&log);
	log_put(&log, 10);
	put_hole(&log, (guint64)64 * 1024 * 1024);
	log_end(&log);
	read_log(&read);
	ck_assert_str_eq(read.codes, "wal-torn");
}
END_TEST

/* Names cost nothing: of so many no segment is read, and there is no finding about their content. */
START_TEST(too_many_segments)
{
	gint64 begin = g_get_monotonic_time();
	g_auto(Read) read = {0};
	Log log;

	log_begin(&log);
	log_save(&log, 0);
	log_end(&log);
	for (guint i = 0; i < 20000; i++) {
		g_autofree char *name = g_strdup_printf("wal/%016x-%016x.wal", i + 1000, i + 1000);
		g_autofree char *path = root_path(name);

		ck_assert_int_eq(mknod(path, S_IFREG | 0600, 0), 0);
	}
	begin = g_get_monotonic_time();
	read_log(&read);
	ck_assert_str_eq(read.codes, "wal-too-many");
	ck_assert_int_eq(gbe_findings_worst(&read.findings), GBE_FINDING_UNKNOWN);
	ck_assert(!read.wal.complete);
	ck_assert_int_lt(g_get_monotonic_time() - begin, 10 * G_USEC_PER_SEC);
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("etcd-wal-read");
	TCase *files = tcase_create("files");

	tcase_add_checked_fixture(files, root_setup, root_teardown);
	tcase_set_timeout(files, 120);
	tcase_add_test(files, samples);
	tcase_add_test(files, made_to_measure);
	tcase_add_test(files, cut_anywhere);
	tcase_add_loop_test(files, every_byte, 0, 8);
	tcase_add_test(files, hole);
	tcase_add_test(files, frames);
	tcase_add_test(files, frame_at_the_end_of_a_sector);
	tcase_add_test(files, padding);
	tcase_add_test(files, residue);
	tcase_add_test(files, committed);
	tcase_add_test(files, unwritten_sector);
	tcase_add_test(files, length_too_large);
	tcase_add_test(files, segments);
	tcase_add_test(files, cut_in_the_middle);
	tcase_add_test(files, contents);
	tcase_add_test(files, order);
	tcase_add_test(files, members);
	tcase_add_test(files, other_names);
	tcase_add_loop_test(files, entry_of_10_mib, 0, 5);
	tcase_add_loop_test(files, entry_without_type, 0, 3);
	tcase_add_test(files, hostile_tail);
	tcase_add_loop_test(files, record_in_a_hole, 0, 2);
	tcase_add_test(files, small_hole_in_a_record);
	tcase_add_test(files, too_many_segments);
	suite_add_tcase(suite, files);
	return scratch_main(suite);
}

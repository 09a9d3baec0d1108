/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "etcd-log.h"
#include "etcd-real.h"

#include "etcd/db/bbolt.h"
#include "etcd/directory/directory.h"
#include "lib/bbolt-file.h"
#include "lib/findings.h"
#include "lib/samples.h"

#include <sys/socket.h>
#include <sys/un.h>

typedef struct {
	GbeDirectory directory;
	GbeFindings findings;
	char *codes;
} Read;

static void
read_clear(Read *read)
{
	gbe_directory_clear(&read->directory);
	gbe_findings_clear(&read->findings);
	g_free(read->codes);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Read, read_clear)

/* @minor: etcd 3.@minor is to start on it; 0: the one that the data names. */
static void
read_data_for(const char *data, GbeVerifyLevel level, guint minor, Read *ret)
{
	const GbeDbOptions options = {.level = level, .reader = {3, minor, minor > 0}};
	g_autoptr(GError) error = NULL;
	int fd = open(data, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	ck_assert_int_ge(fd, 0);
	*ret = (Read){0};
	gbe_findings_init(&ret->findings);
	if (!gbe_directory_read(fd, "", -1, &options, &ret->directory, &ret->findings, &error))
		ck_abort_msg("%s", error->message);
	(void)close(fd);
	ret->codes = codes_of(&ret->findings);
}

static void
read_data(const char *data, GbeVerifyLevel level, Read *ret)
{
	read_data_for(data, level, 0, ret);
}

/* The expected findings of every sample, from their README. */
static const struct {
	const char *name, *codes;
	GbeSeverity worst;
	guint64 start, index, last;
} samples[] = {
    {"etcd34-small-stopped", "", GBE_FINDING_NOTE, 0, 26, 26},
    {"etcd34-20k-puts", "", GBE_FINDING_NOTE, 0, 20004, 20004},
    {"etcd34-7k5-snapfiles", "", GBE_FINDING_NOTE, 7014, 7504, 7504},
    {"etcd34-compact-tombstones", "", GBE_FINDING_NOTE, 0, 3518, 3518},
    {"etcd34-restored-from-snapshot", "", GBE_FINDING_NOTE, 1, 1, 1},
    {"etcd35-7k5-snapfiles", "", GBE_FINDING_NOTE, 7010, 7504, 7504},
    {"etcd35-compact-tombstones", "", GBE_FINDING_NOTE, 0, 3518, 3518},
    {"etcd35-restored-from-snapshot", "", GBE_FINDING_NOTE, 1, 1, 1},
    {"etcd35-wal3segments-compacted", "", GBE_FINDING_NOTE, 0, 145, 145},
    {"etcd36-7k5-snapfiles", "", GBE_FINDING_NOTE, 7011, 7504, 7504},
    {"etcd36-compact-tombstones", "", GBE_FINDING_NOTE, 0, 3518, 3518},
    {"etcd34-live", "member-leftover", GBE_FINDING_NOTE, 2505, 2636, 2714},
    {"etcd34-live-torn-db", "bbolt-root member-leftover", GBE_FINDING_DAMAGE, 2505, 0, 2522},
    {"etcd34-live-db-ahead", "member-leftover snap-skipped snap-skipped member-db-ahead-of-wal",
     GBE_FINDING_DAMAGE, 2505, 3679, 2716},
};

START_TEST(every_sample)
{
	g_autofree char *data = sample(samples[_i].name);

	for (guint full = 0; full < 2; full++) {
		g_auto(Read) read = {0};

		read_data(data, full ? GBE_VERIFY_FULL : GBE_VERIFY_SANITY, &read);
		ck_assert_str_eq(read.codes, samples[_i].codes);
		ck_assert_int_eq(gbe_findings_worst(&read.findings), samples[_i].worst);
		ck_assert_uint_eq(read.directory.start.index, samples[_i].start);
		ck_assert_uint_eq(read.directory.db.consistent_index, samples[_i].index);
		ck_assert_uint_eq(read.directory.wal.last_entry, samples[_i].last);
		ck_assert_uint_eq(read.directory.conf.voters->len, 1);
		ck_assert_uint_eq(g_array_index(read.directory.conf.voters, guint64, 0),
				  read.directory.wal.metadata.member);
	}
	ck_assert_int_eq(RUN("rm", "-rf", data), 0);
}
END_TEST

/* Directories that etcd 3.7.1 wrote, and others on which it cannot start: the etcd, the findings and their severity. */
static const struct {
	const char *name;
	guint minor;
	const char *codes;
	GbeSeverity worst;
	guint32 hash; /* 0: not given */
} relative[] = {
    {"etcd37-plain", 7, "", GBE_FINDING_NOTE, 411638515},
    {"etcd37-learner", 7, "", GBE_FINDING_NOTE, 0},
    {"etcd37-users", 7, "", GBE_FINDING_NOTE, 0},
    {"etcd37-large-entry", 7, "", GBE_FINDING_NOTE, 116469008},
    {"etcd37-large-entry", 0, "", GBE_FINDING_NOTE, 116469008},
    {"etcd37-purged-with-snap", 7, "", GBE_FINDING_NOTE, 267702044},
    {"etcd37-purged-with-snap", 6, "", GBE_FINDING_NOTE, 267702044},
    {"etcd37-purged-no-snap", 7, "", GBE_FINDING_NOTE, 267702044},
    {"etcd37-purged-no-snap", 0, "", GBE_FINDING_NOTE, 267702044},
    {"etcd37-purged-no-snap", 6, "member-no-start", GBE_FINDING_DAMAGE, 0},
    {"v2trap-36", 6, "", GBE_FINDING_NOTE, 0},
    {"ghost-34", 4, "member-ghosts", GBE_FINDING_WARNING, 0},
    {"ghost-34", 0, "member-ghosts", GBE_FINDING_WARNING, 0},
    {"ghost-36", 6, "member-leftover member-ghosts", GBE_FINDING_WARNING, 0},
    {"ghost-36", 7, "member-leftover member-ghosts", GBE_FINDING_DAMAGE, 0},
};

START_TEST(for_which_etcd)
{
	g_autofree char *data = sample(relative[_i].name);
	g_auto(Read) read = {0};

	read_data_for(data, GBE_VERIFY_FULL, relative[_i].minor, &read);
	ck_assert_str_eq(read.codes, relative[_i].codes);
	ck_assert_int_eq(gbe_findings_worst(&read.findings), relative[_i].worst);
	if (relative[_i].hash != 0)
		ck_assert_uint_eq(read.directory.db.hash_kv, relative[_i].hash);
	ck_assert_int_eq(RUN("rm", "-rf", data), 0);
}
END_TEST

/* etcd makes an empty database again from a log that has everything, and dies of it where the log has not. */
START_TEST(a_database_of_0_bytes)
{
	static const char *const names[] = {"etcd34-20k-puts", "etcd36-7k5-snapfiles"};
	static const GbeSeverity worst[] = {GBE_FINDING_WARNING, GBE_FINDING_DAMAGE};
	g_autofree char *data = sample(names[_i]);
	g_autofree char *db = g_build_filename(data, "member/snap/db", NULL);
	g_auto(Read) read = {0};

	ck_assert_int_eq(truncate(db, 0), 0);
	read_data(data, GBE_VERIFY_FULL, &read);
	ck_assert_str_eq(read.codes, "member-no-db");
	ck_assert_int_eq(gbe_findings_worst(&read.findings), worst[_i]);
	ck_assert_int_eq(RUN("rm", "-rf", data), 0);
}
END_TEST

/* One older page: the root of "key", from when it held all keys itself. */
START_TEST(a_stale_root)
{
	static const char *const names[] = {"etcd34-7k5-snapfiles", "etcd35-7k5-snapfiles",
					    "etcd36-7k5-snapfiles", "etcd36-compact-tombstones"};
	g_autofree char *data = sample(names[_i]);
	g_autofree char *path = g_build_filename(data, "member/snap/db", NULL);
	g_autofree guint8 *page = g_malloc(4096);
	g_autoptr(GPtrArray) buckets = NULL;
	g_auto(GbePageSet) reached = {0};
	g_auto(GbeFindings) findings = {0};
	g_auto(GbeBbolt) bolt = {0};
	g_auto(Read) read = {0};
	guint64 root_id = 0;
	guint64 leaf;
	bool usable = false;
	int fd;

	fd = open(path, O_RDWR | O_CLOEXEC);
	gbe_findings_init(&findings);
	ck_assert(gbe_bbolt_open(fd, "db", NULL, &findings, &bolt, &usable, NULL));
	ck_assert(gbe_bbolt_buckets(&bolt, &reached, &buckets, NULL));
	for (guint i = 0; i < buckets->len; i++) {
		const GbeBboltBucket *bucket = g_ptr_array_index(buckets, i);

		if (g_str_equal(bucket->name, "key"))
			root_id = bucket->root;
	}
	ck_assert_int_eq(pread(fd, page, 4096, (off_t)root_id * 4096), 4096);
	/* It has branches; the first of each leads to the first leaf. */
	ck_assert_uint_eq(page[8], FILE_BRANCH);
	while (page[8] != FILE_LEAF) {
		memcpy(&leaf, page + 16 + 8, 8);
		ck_assert_int_eq(pread(fd, page, 4096, (off_t)GUINT64_FROM_LE(leaf) * 4096), 4096);
	}
	root_id = GUINT64_TO_LE(root_id);
	memcpy(page, &root_id, 8);
	ck_assert_int_eq(pwrite(fd, page, 4096, (off_t)GUINT64_FROM_LE(root_id) * 4096), 4096);
	(void)close(fd);
	read_data(data, GBE_VERIFY_FULL, &read);
	ck_assert_str_eq(read.codes, "member-db-lacks-entries");
	ck_assert_int_eq(gbe_findings_worst(&read.findings), GBE_FINDING_DAMAGE);
	ck_assert_int_eq(RUN("rm", "-rf", data), 0);
}
END_TEST

/* The rules, without files: a log of one segment from the beginning with entries 1 to @last, snapshots at 0 and 50. The
 * database has the entries up to @index. */
typedef struct {
	guint64 last, commit, index, gap;
	guint64 snap;	 /* of the only .snap file; 0: none */
	guint64 segment; /* index in the segment's name */
	guint64 snap_db; /* of a .snap.db; 0: none */
	bool no_db, no_log, no_state, broken, incomplete, open_end;
	bool no_snapshot; /* except the one at 0 */
	guint64 db_term;
	gint64 row;	/* the revision of the newest one */
	guint minor;	/* etcd 3.minor is to start on it; 0: not known */
	int members;	/* in the database */
	bool elsewhere; /* the log may be */
	const char *codes;
} Case;

static void
judge(const Case *c, Read *ret)
{
	GbeDirectory *directory = &ret->directory;
	GbeRaftPoint points[] = {{0, 0}, {50, 2}};
	GbeConfChange change = {.index = 1, .type = GBE_CONF_ADD, .node = MEMBER};

	*ret = (Read){0};
	gbe_findings_init(&ret->findings);
	directory->snapfiles = g_ptr_array_new_with_free_func((GDestroyNotify)gbe_snapfile_free);
	directory->databases = g_array_new(false, false, sizeof(guint64));
	directory->wal.segments = g_ptr_array_new_with_free_func(g_free);
	directory->wal.snapshots = g_array_new(false, false, sizeof(GbeRaftPoint));
	directory->wal.changes = g_array_new(false, false, sizeof(GbeConfChange));
	directory->reader = (GbeVersion){3, c->minor, c->minor > 0};
	directory->log_elsewhere = c->elsewhere;
	directory->has_db = !c->no_db;
	directory->db.members = c->members;
	directory->db.present = directory->db_tells = !c->no_db;
	directory->db.consistent_index = c->index;
	directory->db.last_row = c->row;
	directory->db.term = c->db_term;
	if (c->snap_db != 0)
		g_array_append_val(directory->databases, c->snap_db);
	if (c->snap != 0) {
		GbeSnapfile *snapfile = g_new0(GbeSnapfile, 1);

		snapfile->name = g_strdup("x.snap");
		snapfile->named = snapfile->point = (GbeRaftPoint){c->snap, 2};
		gbe_conf_state_init(&snapfile->conf);
		g_array_append_val(snapfile->conf.voters, change.node);
		snapfile->fault = c->broken ? g_strdup("its checksum is wrong") : NULL;
		g_ptr_array_add(directory->snapfiles, snapfile);
	}
	if (!c->no_log) {
		GbeWalSegment *segment = g_new0(GbeWalSegment, 1);

		segment->name = (char *)"segment";
		segment->index = c->segment;
		segment->first_entry = MAX(c->segment, 1);
		g_ptr_array_add(directory->wal.segments, segment);
		g_array_append_vals(directory->wal.snapshots, points, c->no_snapshot ? 1 : 2);
		g_array_append_val(directory->wal.changes, change);
		directory->wal.complete = !c->incomplete;
		directory->wal.ended = !c->open_end;
		directory->wal.has_metadata = true;
		directory->wal.metadata = (GbeWalMetadata){MEMBER, CLUSTER};
		directory->wal.has_state = !c->no_state;
		directory->wal.state = (GbeHardState){2, MEMBER, c->commit};
		directory->wal.last_entry = c->last;
		directory->wal.gap = c->gap != 0 ? c->gap : c->segment > 1 ? c->segment : 0;
	}
	gbe_directory_judge(directory, "", &ret->findings);
	ret->codes = codes_of(&ret->findings);
}

static const Case cases[] = {
    {.last = 100, .commit = 100, .index = 100, .snap = 50, .codes = ""},
    {.last = 100, .commit = 100, .index = 50, .snap = 50, .codes = ""},
    {.last = 100, .commit = 99, .index = 98, .codes = ""},
    /* Behind the snapshot; ahead of the log. */
    {.last = 100, .commit = 100, .index = 49, .snap = 50, .codes = "member-db-behind-snap"},
    {.last = 100, .commit = 100, .index = 49, .snap = 50, .snap_db = 50, .codes = ""},
    {.last = 100, .commit = 100, .index = 101, .codes = "member-db-ahead-of-wal"},
    /* A lost last state record is legal; so is a snapshot that the log does not know as committed. */
    {.last = 100, .commit = 99, .index = 100, .codes = "member-commit-behind"},
    {.last = 100, .commit = 49, .index = 48, .snap = 50, .codes = "snap-skipped"},
    {.last = 100, .commit = 100, .index = 100, .snap = 60, .codes = "snap-skipped"},
    {.last = 100, .commit = 101, .index = 100, .codes = "wal-commit"},
    {.last = 0, .commit = 0, .index = 0, .no_state = true, .codes = ""},
    /* Entries without any leader. */
    {.last = 100, .index = 0, .no_state = true, .codes = "wal-no-state"},
    /* Rows that come from no entry. */
    {.last = 100, .commit = 100, .index = 0, .row = 7, .codes = "member-db-index"},
    {.last = 100, .commit = 100, .index = 0, .row = 7, .snap = 50, .codes = "member-db-index"},
    {.last = 100, .commit = 100, .index = 1, .row = 7, .codes = ""},
    /* The beginning of the log. */
    {.last = 100, .commit = 100, .index = 90, .segment = 40, .codes = "member-no-start"},
    {.last = 100, .commit = 100, .index = 90, .segment = 40, .snap = 50, .codes = ""},
    {.last = 100,
     .commit = 100,
     .index = 90,
     .segment = 52,
     .snap = 50,
     .codes = "member-no-start"},
    {.last = 100,
     .commit = 100,
     .index = 90,
     .gap = 70,
     .snap = 50,
     .codes = "wal-entries-missing"},
    {.last = 100, .commit = 100, .index = 90, .gap = 51, .snap = 50, .codes = ""},
    {.last = 100, .commit = 100, .index = 90, .gap = 20, .snap = 50, .codes = ""},
    {.last = 100, .commit = 100, .index = 90, .gap = 20, .codes = "wal-entries-missing"},
    /* A broken .snap file: if the log reaches back far enough, etcd starts without the file. */
    {.last = 100, .commit = 100, .index = 90, .snap = 50, .broken = true, .codes = "snap-broken"},
    {.last = 100,
     .commit = 100,
     .index = 90,
     .snap = 50,
     .broken = true,
     .segment = 40,
     .codes = "snap-broken member-no-start"},
    /* Missing parts. */
    {.last = 100, .commit = 100, .no_db = true, .codes = "member-no-db"},
    {.last = 100, .commit = 100, .no_db = true, .snap = 50, .codes = "member-no-db"},
    {.no_log = true, .index = 7, .codes = "member-no-wal"},
    {.no_log = true, .index = 0, .codes = "member-no-wal"},
    {.no_log = true, .no_db = true, .codes = "member-not-etcd"},
    {.last = 100, .commit = 100, .index = 90, .db_term = 3, .codes = "member-term"},
    {.last = 100, .commit = 100, .index = 90, .db_term = 2, .codes = ""},
    {.last = 100, .commit = 100, .index = 90, .open_end = true, .codes = ""},
    /* 3.7 starts from what the log names, and from no .snap file. */
    {.last = 100, .commit = 100, .index = 90, .segment = 40, .minor = 7, .codes = ""},
    {.last = 100,
     .commit = 100,
     .index = 90,
     .segment = 40,
     .minor = 6,
     .codes = "member-no-start"},
    {.last = 100,
     .commit = 100,
     .index = 90,
     .segment = 40,
     .minor = 7,
     .no_snapshot = true,
     .codes = "member-no-start"},
    {.last = 100,
     .commit = 49,
     .index = 90,
     .segment = 40,
     .minor = 7,
     .codes = "member-no-start member-commit-behind"},
    {.last = 100,
     .commit = 100,
     .index = 49,
     .minor = 7,
     .snap = 60,
     .broken = true,
     .codes = "member-db-behind-snap"},
    {.last = 100, .commit = 100, .index = 90, .gap = 51, .minor = 7, .codes = ""},
    {.last = 100,
     .commit = 100,
     .index = 90,
     .gap = 52,
     .minor = 7,
     .codes = "wal-entries-missing"},
    /* Members that raft does not know. */
    {.last = 100, .commit = 100, .index = 90, .members = 1, .codes = ""},
    {.last = 100, .commit = 100, .index = 90, .members = 2, .codes = "member-ghosts"},
    {.last = 100, .commit = 100, .index = 0, .members = 2, .codes = ""},
    /* Of a broken log only the certain parts are used. */
    {.last = 10, .commit = 10, .index = 90, .incomplete = true, .codes = ""},
};

START_TEST(rules)
{
	g_auto(Read) read = {0};

	judge(&cases[_i], &read);
	ck_assert_msg(g_str_equal(read.codes, cases[_i].codes), "case %d: \"%s\", not \"%s\"", _i,
		      read.codes, cases[_i].codes);
}
END_TEST

START_TEST(severities)
{
	const Case fresh = {.no_log = true, .index = 0};
	const Case gone = {.no_log = true, .index = 7};
	const Case rebuilt = {.last = 100, .commit = 100, .no_db = true, .no_snapshot = true};
	const Case begun = {.last = 100, .commit = 100, .no_db = true};
	const Case cut = {.last = 9, .no_db = true, .no_snapshot = true, .open_end = true};
	const Case lost = {.last = 100, .commit = 100, .no_db = true, .snap = 50};
	g_auto(Read) a = {0};
	g_auto(Read) b = {0};
	g_auto(Read) c = {0};
	g_auto(Read) d = {0};
	g_auto(Read) e = {0};
	g_auto(Read) f = {0};

	judge(&fresh, &a);
	judge(&gone, &b);
	judge(&rebuilt, &c);
	judge(&lost, &d);
	judge(&begun, &e);
	judge(&cut, &f);
	ck_assert_int_eq(gbe_findings_worst(&a.findings), GBE_FINDING_WARNING);
	ck_assert_int_eq(gbe_findings_worst(&b.findings), GBE_FINDING_DAMAGE);
	ck_assert_int_eq(gbe_findings_worst(&c.findings), GBE_FINDING_WARNING);
	ck_assert_int_eq(gbe_findings_worst(&d.findings), GBE_FINDING_DAMAGE);
	ck_assert_int_eq(gbe_findings_worst(&e.findings), GBE_FINDING_DAMAGE);
	ck_assert_int_eq(gbe_findings_worst(&f.findings), GBE_FINDING_DAMAGE);
	ck_assert_str_eq(f.codes, "member-no-db");
}
END_TEST

/* The same fault is worse for one etcd than for another; what may lie elsewhere is not known to be lost. */
START_TEST(relative_severities)
{
	static const struct {
		Case c;
		GbeSeverity worst;
	} table[] = {
	    {{.last = 100, .commit = 100, .index = 90, .segment = 40}, GBE_FINDING_UNKNOWN},
	    {{.last = 100, .commit = 100, .index = 90, .segment = 40, .minor = 6},
	     GBE_FINDING_DAMAGE},
	    {{.last = 100, .commit = 100, .index = 90, .segment = 40, .no_snapshot = true},
	     GBE_FINDING_DAMAGE},
	    {{.last = 100, .commit = 100, .index = 90, .members = 2}, GBE_FINDING_WARNING},
	    {{.last = 100, .commit = 100, .index = 90, .members = 2, .minor = 6},
	     GBE_FINDING_WARNING},
	    {{.last = 100,
	      .commit = 100,
	      .index = 90,
	      .members = 2,
	      .minor = 7,
	      .no_snapshot = true},
	     GBE_FINDING_DAMAGE},
	    {{.no_log = true, .index = 7, .elsewhere = true}, GBE_FINDING_UNKNOWN},
	    {{.no_log = true, .index = 7}, GBE_FINDING_DAMAGE},
	};
	g_auto(Read) read = {0};

	judge(&table[_i].c, &read);
	ck_assert_int_eq(gbe_findings_worst(&read.findings), table[_i].worst);
}
END_TEST

START_TEST(voters)
{
	Case c = {.last = 100, .commit = 100, .index = 90, .snap = 50};
	GbeConfChange second = {.index = 60, .type = GBE_CONF_ADD, .node = 7};
	GbeConfChange learner = {.index = 61, .type = GBE_CONF_ADD_LEARNER, .node = 8};
	g_auto(Read) read = {0};

	judge(&c, &read);
	ck_assert_uint_eq(read.directory.conf.voters->len, 1);
	g_array_append_val(read.directory.wal.changes, second);
	g_array_append_val(read.directory.wal.changes, learner);
	gbe_directory_judge(&read.directory, "", &read.findings);
	ck_assert_uint_eq(read.directory.conf.voters->len, 2);
	ck_assert_uint_eq(read.directory.conf.learners->len, 1);
	learner.type = GBE_CONF_ADD; /* promoted */
	g_array_append_val(read.directory.wal.changes, learner);
	gbe_directory_judge(&read.directory, "", &read.findings);
	ck_assert_uint_eq(read.directory.conf.voters->len, 3);
	ck_assert_uint_eq(read.directory.conf.learners->len, 0);
	read.directory.wal.changes_lost = true;
	gbe_directory_judge(&read.directory, "", &read.findings);
	ck_assert_ptr_null(read.directory.conf.voters);
}
END_TEST

/* A directory that is not etcd's, and entries that are no files. */
START_TEST(odd)
{
	{
		g_auto(Read) read = {0};

		root_mkdir("member");
		read_data(root, GBE_VERIFY_SANITY, &read);
		ck_assert_str_eq(read.codes, "member-not-etcd");
	}
	{
		g_auto(Read) read = {0};
		g_autofree char *db = root_path("member/snap/db");

		root_mkdir("member/snap");
		root_mkdir("member/wal");
		ck_assert_int_eq(mkfifo(db, 0600), 0);
		read_data(root, GBE_VERIFY_FULL, &read);
		ck_assert_str_eq(read.codes, "member-not-a-file member-no-wal");
	}
	{
		g_auto(Read) read = {0};
		g_autofree char *snap =
		    root_path("member/snap/0000000000000002-0000000000001b63.snap");
		g_autofree char *db = root_path("member/snap/db");

		ck_assert_int_eq(symlink("/dev/zero", snap), 0);
		ck_assert_int_eq(unlink(db), 0);
		ck_assert_int_eq(symlink("/etc/passwd", db), 0);
		root_write("member/snap/db.tmp.1234", "");
		read_data(root, GBE_VERIFY_FULL, &read);
		ck_assert_int_eq(gbe_findings_worst(&read.findings), GBE_FINDING_DAMAGE);
		ck_assert_ptr_nonnull(findings_find(&read.findings, "member-not-a-file"));
		ck_assert_ptr_nonnull(findings_find(&read.findings, "member-leftover"));
	}
}
END_TEST

static void
put_kind(const char *path, guint kind)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int fd;

	switch (kind) {
	case 0:
		ck_assert_int_eq(mkfifo(path, 0600), 0);
		break;
	case 1:
		ck_assert_int_eq(symlink("/dev/zero", path), 0);
		break;
	case 2:
		ck_assert_int_eq(mkdir(path, 0700), 0);
		break;
	default:
		fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
		ck_assert_uint_lt(strlen(path), sizeof(address.sun_path));
		(void)g_strlcpy(address.sun_path, path, sizeof(address.sun_path));
		ck_assert_int_eq(bind(fd, (struct sockaddr *)&address, sizeof(address)), 0);
		(void)close(fd);
		break;
	}
}

/* The directory's owner can put anything in the place of a file: opening it must not block. */
START_TEST(in_place_of_files)
{
	static const char *const files[] = {
	    "member/snap/db",
	    "member/snap/0000000000000002-0000000000001b62.snap",
	    "member/wal/0000000000000000-0000000000000000.wal",
	};
	g_autofree char *data = sample("etcd35-7k5-snapfiles");
	g_autofree char *path = g_build_filename(data, files[_i / 4], NULL);
	gint64 begin = g_get_monotonic_time();
	g_auto(Read) read = {0};

	ck_assert_int_eq(unlink(path), 0);
	put_kind(path, (guint)_i % 4);
	read_data(data, GBE_VERIFY_FULL, &read);
	ck_assert_msg(strstr(read.codes, _i / 4 == 2 ? "wal-not-a-file"
					 : _i / 4 == 1 && _i % 4 != 1 && _i % 4 != 3
					     ? "snap-broken"
					     : "member-not-a-file") != NULL,
		      "%d: %s", _i, read.codes);
	ck_assert_int_lt(g_get_monotonic_time() - begin, 20 * G_USEC_PER_SEC);
	ck_assert_int_eq(RUN("rm", "-rf", data), 0);
}
END_TEST

/* A database that is a hole after its first pages, any number of names, and a .snap file of 1 TiB. etcd would read that
 * file first. */
START_TEST(giants_of_nothing)
{
	static const char *const codes[] = {"bbolt-metas", "snap-too-many", "snap-too-large"};
	g_autofree char *data = sample("etcd35-7k5-snapfiles");
	g_autofree char *db = g_build_filename(data, "member/snap/db", NULL);
	g_autofree char *snap =
	    g_build_filename(data, "member/snap/00000000000000ff-0000000000ffffff.snap", NULL);
	gint64 begin;
	g_auto(Read) read = {0};

	if (_i == 0) {
		ck_assert_int_eq(truncate(db, 0), 0);
		ck_assert_int_eq(truncate(db, (off_t)1 << 40), 0);
	}
	for (guint i = 0; _i == 1 && i < 70000; i++) {
		g_autofree char *name =
		    g_strdup_printf("%s/member/snap/%016x-%016x.snap", data, i + 10, i);

		ck_assert_int_eq(mknod(name, S_IFREG | 0600, 0), 0);
	}
	if (_i == 2) {
		ck_assert_int_eq(mknod(snap, S_IFREG | 0600, 0), 0);
		ck_assert_int_eq(truncate(snap, (off_t)1 << 40), 0);
	}
	begin = g_get_monotonic_time();
	read_data(data, GBE_VERIFY_FULL, &read);
	ck_assert_msg(strstr(read.codes, codes[_i]) != NULL, "%s", read.codes);
	ck_assert_int_lt(g_get_monotonic_time() - begin, 20 * G_USEC_PER_SEC);
	ck_assert_int_eq(RUN("rm", "-rf", data), 0);
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("etcd-directory");
	TCase *files = tcase_create("files");

	tcase_add_checked_fixture(files, root_setup, root_teardown);
	tcase_set_timeout(files, 120);
	tcase_add_loop_test(files, every_sample, 0, G_N_ELEMENTS(samples));
	tcase_add_loop_test(files, a_stale_root, 0, 4);
	tcase_add_loop_test(files, rules, 0, G_N_ELEMENTS(cases));
	tcase_add_test(files, severities);
	tcase_add_loop_test(files, relative_severities, 0, 8);
	tcase_add_loop_test(files, for_which_etcd, 0, G_N_ELEMENTS(relative));
	tcase_add_loop_test(files, a_database_of_0_bytes, 0, 2);
	tcase_add_test(files, voters);
	tcase_add_test(files, odd);
	tcase_add_loop_test(files, in_place_of_files, 0, 12);
	tcase_add_loop_test(files, giants_of_nothing, 0, 3);
	suite_add_tcase(suite, files);
	return scratch_main(suite);
}

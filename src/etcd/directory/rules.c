/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "etcd/directory/directory.h"

#include "etcd/layout.h"

#define U64 "%" G_GUINT64_FORMAT

/* From 3.7 on, etcd starts from the snapshot that the log names last, and takes the voters from the database: it never
 * reads a .snap file. */
static const GbeVersion without_snapfiles = {.major = 3, .minor = 7, .known = true};

static GbeTri
reads_snapfiles(const GbeDirectory *directory)
{
	return gbe_version_above(without_snapfiles, directory->reader);
}

typedef struct {
	GbeDirectory *directory;
	GbeFindings *findings;
	const char *member_path;
} Judge;

static void
add(const Judge *judge, GbeSeverity severity, const char *code, const char *below, GbeTri notices,
    GbeTri loses, const char *what)
{
	g_autofree char *file = gbe_layout_path(judge->member_path, below);

	gbe_findings_add(judge->findings, severity, code, file, GBE_PLACE_FILE, 0, notices, loses,
			 "%s", what);
}

static guint64
commit_of(const GbeWal *wal)
{
	/* An incomplete log does not tell what was committed. */
	if (!wal->complete)
		return G_MAXUINT64;
	return wal->has_state ? wal->state.commit : 0;
}

/* Does the log know this snapshot as committed? Then etcd may begin with it. */
static bool
is_in_log(const GbeWal *wal, const GbeRaftPoint *point)
{
	guint i = wal->snapshots->len;

	if (point->index > commit_of(wal))
		return false;
	while (i-- > 0) {
		const GbeRaftPoint *known = &g_array_index(wal->snapshots, GbeRaftPoint, i);

		if (known->index == point->index && known->term == point->term)
			return true;
	}
	return false;
}

/* The newest snapshot that the log knows as committed. */
static GbeRaftPoint
last_in_log(const GbeWal *wal)
{
	guint i = wal->snapshots->len;

	while (i-- > 0) {
		const GbeRaftPoint *known = &g_array_index(wal->snapshots, GbeRaftPoint, i);

		if (known->index <= commit_of(wal))
			return *known;
	}
	return (GbeRaftPoint){0};
}

/* Finds where etcd begins: with the newest whole .snap file that the log knows, or with what the log names. */
static void
choose(GbeDirectory *directory)
{
	directory->snapfile = NULL;
	directory->start = (GbeRaftPoint){0};
	if (reads_snapfiles(directory) == GBE_NO) {
		directory->start = last_in_log(&directory->wal);
		return;
	}
	for (guint i = 0; i < directory->snapfiles->len; i++) {
		const GbeSnapfile *snapfile = g_ptr_array_index(directory->snapfiles, i);

		if (snapfile->fault == NULL && !snapfile->unknown &&
		    is_in_log(&directory->wal, &snapfile->point)) {
			directory->snapfile = snapfile;
			directory->start = snapfile->point;
			return;
		}
	}
}

/* Reports the .snap files that etcd skips, and what that means. etcd reads them from the newest on, as far as the one
 * that it takes. */
static void
judge_snapfiles(const Judge *judge)
{
	const GbeDirectory *directory = judge->directory;
	bool reached = true;

	for (guint i = 0; i < directory->snapfiles->len; i++) {
		const GbeSnapfile *snapfile = g_ptr_array_index(directory->snapfiles, i);
		g_autofree char *below = g_build_filename("member/snap", snapfile->name, NULL);

		if (reached && snapfile->size > GBE_SNAPFILE_MAX)
			add(judge, GBE_FINDING_DAMAGE, "snap-too-large", below, GBE_YES, GBE_NO,
			    "it is larger than 512 MiB: etcd would read it whole into memory");
		else if (snapfile->unread != NULL)
			add(judge, GBE_FINDING_UNKNOWN, "snap-unread", below, GBE_UNKNOWN,
			    GBE_UNKNOWN, snapfile->unread);
		else if (snapfile->unknown)
			add(judge, GBE_FINDING_UNKNOWN, "snap-unknown-format", below, GBE_YES,
			    GBE_UNKNOWN, "its checksum is right, and it is no snapshot as known");
		else if (snapfile->fault != NULL)
			add(judge, GBE_FINDING_WARNING, "snap-broken", below, GBE_YES, GBE_NO,
			    snapfile->fault);
		else if (snapfile->named.index != snapfile->point.index ||
			 snapfile->named.term != snapfile->point.term)
			add(judge, GBE_FINDING_WARNING, "snap-name", below, GBE_NO, GBE_NO,
			    "it is another snapshot than its name says");
		else if (directory->wal.complete && !is_in_log(&directory->wal, &snapfile->point))
			add(judge, GBE_FINDING_NOTE, "snap-skipped", below, GBE_NO, GBE_NO,
			    "the log does not know of it: etcd was ended while it made it");
		reached = reached && snapfile != directory->snapfile;
	}
}

/* The segment in which etcd begins to read: the last one whose name is not after the start. */
static const GbeWalSegment *
first_segment(const GbeDirectory *directory, guint *ret_number)
{
	const GPtrArray *segments = directory->wal.segments;
	guint i = segments->len;

	while (i-- > 0) {
		const GbeWalSegment *segment = g_ptr_array_index(segments, i);

		if (segment->index <= directory->start.index) {
			*ret_number = i;
			return segment;
		}
	}
	return NULL;
}

static guint64
first_entry_from(const GbeWal *wal, guint number)
{
	for (guint i = number; i < wal->segments->len; i++) {
		const GbeWalSegment *segment = g_ptr_array_index(wal->segments, i);

		if (segment->first_entry != 0)
			return segment->first_entry;
	}
	return 0;
}

static void
judge_no_start(const Judge *judge)
{
	if (reads_snapfiles(judge->directory) == GBE_UNKNOWN &&
	    last_in_log(&judge->directory->wal).index > 0)
		add(judge, GBE_FINDING_UNKNOWN, "member-no-start", "member/wal", GBE_YES, GBE_NO,
		    "no whole .snap file that the log knows of: etcd 3.7 and newer start without, "
		    "older ones do not, and which one it is for is not known");
	else
		add(judge, GBE_FINDING_DAMAGE, "member-no-start", "member/wal", GBE_YES, GBE_NO,
		    "no whole .snap file that the log knows of, and the log does not reach back to "
		    "the beginning");
}

/* Do the entries reach from the start to the end without a gap? */
static void
judge_entries(const Judge *judge)
{
	const GbeDirectory *directory = judge->directory;
	const GbeWal *wal = &directory->wal;
	guint64 next = directory->start.index + 1;
	g_autofree char *file = NULL;
	g_autofree char *below = NULL;
	const GbeWalSegment *segment;
	guint64 first;
	guint number = 0;

	segment = first_segment(directory, &number);
	if (segment == NULL ||
	    (directory->snapfile == NULL && !is_in_log(wal, &directory->start))) {
		judge_no_start(judge);
		return;
	}
	first = first_entry_from(wal, number);
	if (first <= next && (wal->gap <= next || wal->gap_segment < number))
		return;
	segment = g_ptr_array_index(wal->segments, first > next ? number : wal->gap_segment);
	below = g_build_filename("member/wal", segment->name, NULL);
	file = gbe_layout_path(judge->member_path, below);
	gbe_findings_add(judge->findings, GBE_FINDING_DAMAGE, "wal-entries-missing", file,
			 first > next ? GBE_PLACE_FILE : GBE_PLACE_RECORD,
			 first > next ? 0 : wal->gap_at, GBE_YES, GBE_NO,
			 "entries are missing before the one with the index " U64
			 "; etcd begins with " U64,
			 first > next ? first : wal->gap, next);
}

/* The last entry that etcd sees in the log. */
static guint64
end_of(const GbeDirectory *directory)
{
	return MAX(directory->wal.last_entry, directory->start.index);
}

static void
judge_state(const Judge *judge)
{
	const GbeDirectory *directory = judge->directory;
	g_autofree char *what = NULL;

	if (!directory->wal.has_state && directory->wal.last_entry != 0)
		add(judge, GBE_FINDING_DAMAGE, "wal-no-state", "member/wal", GBE_NO, GBE_YES,
		    "it has entries, and nothing says which of them had been agreed on: etcd would "
		    "never have a leader");
	if (!directory->wal.has_state || directory->wal.state.commit <= end_of(directory))
		return;
	what = g_strdup_printf("entries up to " U64 " had been agreed on, and it ends with " U64,
			       directory->wal.state.commit, end_of(directory));
	add(judge, GBE_FINDING_DAMAGE, "wal-commit", "member/wal", GBE_YES, GBE_NO, what);
}

static bool
has_database_of(const GbeDirectory *directory, guint64 index)
{
	for (guint i = 0; i < directory->databases->len; i++)
		if (g_array_index(directory->databases, guint64, i) == index)
			return true;
	return false;
}

static bool
knows_a_snapshot(const GbeWal *wal)
{
	for (guint i = 0; i < wal->snapshots->len; i++)
		if (g_array_index(wal->snapshots, GbeRaftPoint, i).index > 0)
			return true;
	return false;
}

/* etcd's own rule: the database is never behind the snapshot. */
static bool
judge_db_and_start(const Judge *judge)
{
	const GbeDirectory *directory = judge->directory;
	guint64 start = directory->start.index;
	g_autofree char *what = NULL;

	if (has_database_of(directory, start))
		return false;
	/* The data that a directory was restored from, for example, is in no entry. */
	if (!directory->has_db && start == 0 && knows_a_snapshot(&directory->wal)) {
		add(judge, GBE_FINDING_DAMAGE, "member-no-db", "member/snap", GBE_NO, GBE_UNKNOWN,
		    "there is no db, and none of the snapshots that the log knows of: etcd makes "
		    "it again from the log, which may never have had all of it");
		return false;
	}
	/* Only the db could tell how far a log with such an end went. */
	if (!directory->has_db && start == 0 && !directory->wal.ended) {
		add(judge, GBE_FINDING_DAMAGE, "member-no-db", "member/snap", GBE_NO, GBE_UNKNOWN,
		    "there is no db: etcd makes it again from the log, which does not end as etcd "
		    "leaves one; whether it had more nobody can tell");
		return false;
	}
	if (!directory->has_db && start == 0) {
		add(judge, GBE_FINDING_WARNING, "member-no-db", "member/snap", GBE_NO, GBE_NO,
		    "there is no db; etcd makes it again from the log");
		return false;
	}
	if (!directory->has_db) {
		add(judge, GBE_FINDING_DAMAGE, "member-no-db", "member/snap", GBE_YES, GBE_NO,
		    "there is no db, and the log does not reach back to the beginning");
		return false;
	}
	if (!directory->db_tells || directory->db.consistent_index >= start)
		return directory->db_tells;
	what = g_strdup_printf("it holds what the log says up to entry " U64
			       ", and etcd begins behind entry " U64,
			       directory->db.consistent_index, start);
	add(judge, GBE_FINDING_DAMAGE, "member-db-behind-snap", "member/snap/db", GBE_YES, GBE_NO,
	    what);
	return false;
}

/* Versions differ here: etcd applies the whole log again, or ends. */
static bool
judge_index(const Judge *judge)
{
	const GbeDb *db = &judge->directory->db;

	if (!db->present || db->consistent_index != 0 || db->last_row == 0)
		return true;
	add(judge, GBE_FINDING_DAMAGE, "member-db-index", "member/snap/db", GBE_UNKNOWN,
	    GBE_UNKNOWN, "it has rows, and does not say up to which entry it holds the log");
	return false;
}

/* etcd does not check this. */
static void
judge_db_and_log(const Judge *judge)
{
	const GbeDirectory *directory = judge->directory;
	guint64 index = directory->db.consistent_index;
	guint64 end = end_of(directory);
	g_autofree char *file = gbe_layout_path(judge->member_path, "member/snap/db");
	g_autofree char *what = NULL;

	if (index > end) {
		what = g_strdup_printf("it holds what the log says up to entry " U64
				       ", and the log ends with " U64,
				       index, end);
		add(judge, GBE_FINDING_DAMAGE, "member-db-ahead-of-wal", "member/snap/db", GBE_NO,
		    GBE_YES, what);
		return;
	}
	if (directory->wal.has_state && directory->db.term > directory->wal.state.term) {
		what = g_strdup_printf("it is of raft's term " U64 ", and the log of " U64,
				       directory->db.term, directory->wal.state.term);
		add(judge, GBE_FINDING_DAMAGE, "member-term", "member/snap/db", GBE_NO, GBE_UNKNOWN,
		    what);
	} else if (index > commit_of(&directory->wal)) {
		add(judge, GBE_FINDING_NOTE, "member-commit-behind", "member/wal", GBE_NO, GBE_NO,
		    "the last state record was not written to its end");
	}
	gbe_applied_judge(&directory->applied, file, judge->findings);
}

/* Checksums are right, so the writer may be an etcd with a format that is not known here: that is no certain damage. */
static void
judge_contents(const Judge *judge)
{
	const GbeApplied *applied = &judge->directory->applied;
	g_autofree char *what = NULL;

	if (applied->garbled != 0) {
		what = g_strdup_printf("the request in entry " U64
				       " cannot be decoded, although its checksum is right: etcd "
				       "may not start on it",
				       applied->garbled);
		add(judge, GBE_FINDING_UNKNOWN, "wal-unknown-request", "member/wal", GBE_UNKNOWN,
		    GBE_UNKNOWN, what);
	}
	if (gbe_applied_version_differs(applied)) {
		g_free(what);
		what = g_strdup_printf("clusterVersion is %s, and the last entry of the log that "
				       "sets it says %s",
				       applied->cluster_version, applied->version_set);
		add(judge, GBE_FINDING_UNKNOWN, "db-cluster-version", "member/snap/db", GBE_UNKNOWN,
		    GBE_UNKNOWN, what);
	}
}

static bool
is_voter(const GbeConfState *conf, guint64 node)
{
	for (guint i = 0; i < conf->voters->len; i++)
		if (g_array_index(conf->voters, guint64, i) == node)
			return true;
	return false;
}

static void
copy_conf(const GbeConfState *from, GbeConfState *ret)
{
	gbe_conf_state_init(ret);
	g_array_append_vals(ret->voters, from->voters->data, from->voters->len);
	g_array_append_vals(ret->learners, from->learners->data, from->learners->len);
}

/* Takes the newest recorded configuration, and applies the changes since. */
static void
find_voters(GbeDirectory *directory)
{
	const GbeWal *wal = &directory->wal;
	guint64 since = directory->start.index;

	gbe_conf_state_clear(&directory->conf);
	if (!wal->complete || wal->changes_lost)
		return;
	if (wal->conf.voters != NULL && wal->conf_at.index >= since) {
		since = wal->conf_at.index;
		copy_conf(&wal->conf, &directory->conf);
	} else if (directory->snapfile != NULL) {
		copy_conf(&directory->snapfile->conf, &directory->conf);
	} else {
		gbe_conf_state_init(&directory->conf);
	}
	for (guint i = 0; i < wal->changes->len; i++) {
		const GbeConfChange *change = &g_array_index(wal->changes, GbeConfChange, i);

		if (change->index > since)
			gbe_conf_state_apply(&directory->conf, change);
	}
}

static void
judge_identity(const Judge *judge)
{
	const GbeDirectory *directory = judge->directory;

	if (directory->conf.voters == NULL || directory->conf.voters->len == 0 ||
	    is_voter(&directory->conf, directory->wal.metadata.member))
		return;
	add(judge, GBE_FINDING_WARNING, "member-no-voter", "member/wal", GBE_UNKNOWN, GBE_NO,
	    "the member whose log it is has no vote in its cluster");
}

/* From 3.7 on, every member of the database that is no learner is a voter. Up to 3.6 a member that raft does not know
 * does no harm: `snapshot restore` of 3.4 left them, and nothing removed them until 3.5.26. */
static void
judge_members(const Judge *judge)
{
	const GbeDirectory *directory = judge->directory;
	const GbeConfState *conf = &directory->conf;
	GbeSeverity severity =
	    reads_snapfiles(directory) == GBE_NO ? GBE_FINDING_DAMAGE : GBE_FINDING_WARNING;
	const GArray *changes = directory->wal.changes;

	if (conf->voters == NULL || conf->voters->len == 0 || !directory->db_tells ||
	    directory->db.members <= (int)(conf->voters->len + conf->learners->len) ||
	    (changes->len > 0 && g_array_index(changes, GbeConfChange, changes->len - 1).index >
				     directory->db.consistent_index))
		return;
	add(judge, severity, "member-ghosts", "member/snap/db", GBE_NO, GBE_NO,
	    "it lists members that are not in the cluster: from 3.7 on, etcd would wait for their "
	    "votes, and never have a leader");
}

/* Without a log etcd begins a new one, whose entries count from 1 again. */
static void
judge_without_log(const Judge *judge)
{
	const GbeDirectory *directory = judge->directory;

	if (!directory->has_db)
		add(judge, GBE_FINDING_DAMAGE, "member-not-etcd", "member", GBE_UNKNOWN, GBE_NO,
		    "neither a database nor a log is in it");
	else if (directory->db_tells && directory->db.consistent_index == 0)
		add(judge, GBE_FINDING_WARNING, "member-no-wal", "member/wal", GBE_NO, GBE_NO,
		    "there is no log, and nothing in the database either: etcd never finished "
		    "its first start");
	else if (directory->log_elsewhere)
		add(judge, GBE_FINDING_UNKNOWN, "member-no-wal", "member/wal", GBE_NO, GBE_YES,
		    "there is no log: if etcd's --wal-dir= does not lie elsewhere, etcd would "
		    "begin "
		    "a new one, which the database is ahead of");
	else
		add(judge, GBE_FINDING_DAMAGE, "member-no-wal", "member/wal", GBE_NO, GBE_YES,
		    "there is no log: etcd would begin a new one, which the database is ahead of");
}

void
gbe_directory_judge(GbeDirectory *directory, const char *member_path, GbeFindings *findings)
{
	const Judge judge = {.directory = directory,
			     .findings = findings,
			     .member_path = member_path};

	if (directory->wal.segments->len == 0) {
		judge_without_log(&judge);
		return;
	}
	choose(directory);
	if (reads_snapfiles(directory) != GBE_NO)
		judge_snapfiles(&judge);
	find_voters(directory);
	/* The conclusions of a broken log are known to be wrong. */
	if (!directory->wal.complete)
		return;
	judge_entries(&judge);
	judge_state(&judge);
	if (judge_index(&judge) && judge_db_and_start(&judge))
		judge_db_and_log(&judge);
	judge_identity(&judge);
	judge_members(&judge);
	judge_contents(&judge);
}

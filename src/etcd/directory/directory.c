/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "etcd/directory/directory.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "base/format.h"
#include "etcd/layout.h"
#include "fs/list.h"

#define U64 "%" G_GUINT64_FORMAT

/* etcd keeps five. */
#define SNAPFILES_MAX 1024U
/* Limit of each kind that is kept in memory. */
#define NAMES_MAX 65536U

void
gbe_directory_clear(GbeDirectory *directory)
{
	gbe_db_clear(&directory->db);
	gbe_wal_clear(&directory->wal);
	g_clear_pointer(&directory->snapfiles, g_ptr_array_unref);
	g_clear_pointer(&directory->databases, g_array_unref);
	gbe_conf_state_clear(&directory->conf);
	directory->snapfile = NULL;
}

typedef struct {
	GbeDirectory *directory;
	GbeFindings *findings;
	const char *member_path;
	GPtrArray *names; /* of .snap files, to be read */
	guint seconds;
} Reading;

/* A finding about the whole file @below the member's path. */
static void G_GNUC_PRINTF(7, 8)
    report_file(const Reading *reading, GbeSeverity severity, const char *code, const char *below,
		GbeTri notices, GbeTri loses, const char *format, ...)
{
	g_autofree char *file = gbe_layout_path(reading->member_path, below);
	g_autofree char *what = GBE_VFORMAT(format);

	gbe_findings_add(reading->findings, severity, code, file, GBE_PLACE_FILE, 0, notices, loses,
			 "%s", what);
}

/* A part that could not be opened is missing, or is not a regular one: adds a finding. Takes @local. */
static bool
absent_or_odd(const Reading *reading, const char *below, GError *local, GError **error)
{
	g_autoptr(GError) failed = local;

	if (g_error_matches(failed, GBE_ERROR, GBE_ERROR_NOT_FOUND))
		return true;
	if (g_error_matches(failed, GBE_ERROR, GBE_ERROR_UNSAFE_SOURCE)) {
		report_file(reading, GBE_FINDING_DAMAGE, "member-not-a-file", below, GBE_UNKNOWN,
			    GBE_UNKNOWN, "%s", failed->message);
		return true;
	}
	return gbe_pass(error, &failed);
}

static bool
read_db(const Reading *reading, int data_fd, const GbeDbOptions *options, GError **error)
{
	g_autofree char *what = gbe_layout_path(reading->member_path, "member/snap/" GBE_DB_NAME);
	GbeDb *db = &reading->directory->db;
	GError *local = NULL;
	gbe_autofd int fd = -1;
	struct stat st;

	if (!gbe_layout_open_db(data_fd, reading->member_path, &fd, &local)) {
		reading->directory->has_db =
		    !g_error_matches(local, GBE_ERROR, GBE_ERROR_NOT_FOUND);
		return absent_or_odd(reading, "member/snap/" GBE_DB_NAME, local, error);
	}
	if (fstat(fd, &st) < 0)
		return gbe_throw_errno(error, errno, "cannot look at %s", what);
	/* etcd fills in an empty file as if it were not there. */
	reading->directory->has_db = st.st_size > 0;
	if (!reading->directory->has_db)
		return true;
	if (!gbe_db_read(fd, what, options, db, reading->findings, error))
		return false;
	if (!reading->directory->reader.known)
		reading->directory->reader = gbe_version_parse(db->cluster_version);
	/* If a damaged database says 0, its real number is unknown. */
	reading->directory->db_tells =
	    db->present && !db->unread &&
	    (db->consistent_index > 0 ||
	     gbe_findings_worst(reading->findings) != GBE_FINDING_DAMAGE);
	return true;
}

static void
take_name(const Reading *reading, const char *name)
{
	g_autofree char *below = NULL;
	GbeRaftPoint point;
	guint64 index;

	if (g_str_equal(name, GBE_DB_NAME))
		return;
	if (gbe_snapfile_is_name(name, &point)) {
		if (reading->names->len <= NAMES_MAX)
			g_ptr_array_add(reading->names, g_strdup(name));
		return;
	}
	if (gbe_snapfile_is_db_name(name, &index)) {
		if (reading->directory->databases->len <= NAMES_MAX)
			g_array_append_val(reading->directory->databases, index);
		return;
	}
	below = g_build_filename("member/snap", name, NULL);
	if (g_str_has_suffix(name, ".broken"))
		report_file(reading, GBE_FINDING_NOTE, "snap-broken-left", below, GBE_YES, GBE_NO,
			    "etcd found it broken once and continued without it");
	else
		report_file(reading, GBE_FINDING_NOTE, "member-leftover", below, GBE_YES, GBE_NO,
			    "%s",
			    g_str_has_prefix(name, "db.tmp.") || g_str_has_prefix(name, "tmp")
				? "work that was not finished; etcd removes it"
				: "etcd does not know it, and passes it over");
}

static gint
newest_first(gconstpointer a, gconstpointer b)
{
	const char *const *first = a;
	const char *const *second = b;

	return strcmp(*second, *first);
}

static bool
read_snapfiles(const Reading *reading, int data_fd, GError **error)
{
	GbeLook look = gbe_look_begin(reading->seconds);
	g_auto(GbeList) list = {NULL};
	gbe_autofd int snap_fd = -1;
	GError *local = NULL;
	const char *name;

	if (!gbe_layout_open(data_fd, reading->member_path, "member/snap", &snap_fd, &local))
		return absent_or_odd(reading, "member/snap", local, error);
	list = gbe_list_open_at(snap_fd, "member/snap");
	while ((name = gbe_list_next(&list)) != NULL)
		take_name(reading, name);
	if (!gbe_list_end(&list, error))
		return false;
	if (MAX(reading->names->len, reading->directory->databases->len) > NAMES_MAX)
		report_file(reading, GBE_FINDING_UNKNOWN, "snap-too-many", "member/snap", GBE_YES,
			    GBE_NO, "more snapshots than this program keeps count of");
	g_ptr_array_sort(reading->names, newest_first);
	for (guint i = 0; i < MIN(reading->names->len, SNAPFILES_MAX); i++) {
		gbe_autofd int fd = -1;
		GbeSnapfile *snapfile = NULL;

		name = g_ptr_array_index(reading->names, i);
		fd = openat(snap_fd, name,
			    O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
		if (fd < 0 && errno != ELOOP && errno != ENXIO)
			return gbe_throw_errno(error, errno, "cannot open member/snap/%s", name);
		if (fd < 0) {
			g_autofree char *below = g_build_filename("member/snap", name, NULL);

			report_file(reading, GBE_FINDING_DAMAGE, "member-not-a-file", below,
				    GBE_UNKNOWN, GBE_UNKNOWN, "it is not a regular file");
			continue;
		}
		if (!gbe_snapfile_read(fd, name, &look, &snapfile, error))
			return false;
		g_ptr_array_add(reading->directory->snapfiles, snapfile);
	}
	return true;
}

/* Reads the log, also for what the database must have of it. */
static bool
read_wal(const Reading *reading, int data_fd, int wal_dir_fd, GError **error)
{
	g_autofree char *path = wal_dir_fd >= 0
				    ? g_strdup("wal-dir")
				    : gbe_layout_path(reading->member_path, "member/wal");
	GbeDirectory *directory = reading->directory;
	bool compares = directory->db_tells && directory->db.newest.known;
	GbeLook look = gbe_look_begin(reading->seconds);
	GbeApplied applied = {0};
	gbe_autofd int fd = -1;
	GError *local = NULL;

	if (!gbe_layout_open_wal(data_fd, reading->member_path, wal_dir_fd, &fd, &local)) {
		directory->wal.segments = g_ptr_array_new();
		return absent_or_odd(reading, "member/wal", local, error);
	}
	gbe_applied_init(&applied, &directory->db);
	if (!gbe_wal_read(fd, path, directory->reader, &look, compares ? gbe_applied_take : NULL,
			  &applied, &directory->wal, reading->findings, error))
		return false;
	if (compares && directory->wal.complete && directory->wal.segments->len > 0)
		directory->applied = applied;
	return true;
}

/* ---- the rules between the parts ---- */

/* From 3.7 on, etcd starts from the snapshot that the log names last, and takes the voters from the database. It never
 * reads a .snap file. */
static const GbeVersion without_snapfiles = {.major = 3, .minor = 7, .known = true};

static GbeTri
reads_snapfiles(const GbeDirectory *directory)
{
	return gbe_version_above(without_snapfiles, directory->reader);
}

static guint64
commit_of(const GbeWal *wal)
{
	/* An incomplete log does not tell what was committed. */
	if (!wal->complete)
		return G_MAXUINT64;
	return wal->has_state ? wal->state.commit : 0;
}

/* Does the log know this snapshot as committed? Then etcd may begin from there. */
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
choose_start(GbeDirectory *directory)
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
judge_snapfiles(const Reading *reading)
{
	const GbeDirectory *directory = reading->directory;
	bool reached = true;

	for (guint i = 0; i < directory->snapfiles->len; i++) {
		const GbeSnapfile *snapfile = g_ptr_array_index(directory->snapfiles, i);
		g_autofree char *below = g_build_filename("member/snap", snapfile->name, NULL);

		if (reached && snapfile->size > GBE_SNAPFILE_MAX)
			report_file(
			    reading, GBE_FINDING_DAMAGE, "snap-too-large", below, GBE_YES, GBE_NO,
			    "it is larger than 512 MiB: etcd would read it whole into memory");
		else if (snapfile->unread != NULL)
			report_file(reading, GBE_FINDING_UNKNOWN, "snap-unread", below, GBE_UNKNOWN,
				    GBE_UNKNOWN, "%s", snapfile->unread);
		else if (snapfile->unknown)
			report_file(reading, GBE_FINDING_UNKNOWN, "snap-unknown-format", below,
				    GBE_YES, GBE_UNKNOWN,
				    "its checksum is right, and it is no snapshot as known");
		else if (snapfile->fault != NULL)
			report_file(reading, GBE_FINDING_WARNING, "snap-broken", below, GBE_YES,
				    GBE_NO, "%s", snapfile->fault);
		else if (snapfile->named.index != snapfile->point.index ||
			 snapfile->named.term != snapfile->point.term)
			report_file(reading, GBE_FINDING_WARNING, "snap-name", below, GBE_NO,
				    GBE_NO, "it is another snapshot than its name says");
		else if (directory->wal.complete && !is_in_log(&directory->wal, &snapfile->point))
			report_file(reading, GBE_FINDING_NOTE, "snap-skipped", below, GBE_NO,
				    GBE_NO,
				    "the log does not know of it: etcd was ended while it made it");
		reached = reached && snapfile != directory->snapfile;
	}
}

static const GbeWalSegment *
segment_at(const GbeWal *wal, guint number)
{
	return g_ptr_array_index(wal->segments, number);
}

/* Do the entries reach from the start to the end without a gap? */
static void
judge_entries(const Reading *reading)
{
	const GbeDirectory *directory = reading->directory;
	const GbeWal *wal = &directory->wal;
	guint64 next = directory->start.index + 1;
	g_autofree char *file = NULL;
	g_autofree char *below = NULL;
	const GbeWalSegment *segment;
	guint64 first = 0;
	guint number = wal->segments->len;

	/* etcd begins to read in the last segment whose name is not after the start. */
	while (number > 0 && segment_at(wal, number - 1)->index > directory->start.index)
		number--;
	if (number == 0 || (directory->snapfile == NULL && !is_in_log(wal, &directory->start))) {
		if (reads_snapfiles(directory) == GBE_UNKNOWN && last_in_log(wal).index > 0)
			report_file(reading, GBE_FINDING_UNKNOWN, "member-no-start", "member/wal",
				    GBE_YES, GBE_NO,
				    "the log names no whole .snap file; etcd 3.7 and newer start "
				    "without one, older ones do not, and the version of this "
				    "data's etcd is unknown");
		else
			report_file(
			    reading, GBE_FINDING_DAMAGE, "member-no-start", "member/wal", GBE_YES,
			    GBE_NO,
			    "no whole .snap file that the log knows of, and the log does not "
			    "reach back to the beginning");
		return;
	}
	number--;
	for (guint i = number; i < wal->segments->len && first == 0; i++)
		first = segment_at(wal, i)->first_entry;
	if (first <= next && (wal->gap <= next || wal->gap_segment < number))
		return;
	segment = segment_at(wal, first > next ? number : wal->gap_segment);
	below = g_build_filename("member/wal", segment->name, NULL);
	file = gbe_layout_path(reading->member_path, below);
	gbe_findings_add(reading->findings, GBE_FINDING_DAMAGE, "wal-entries-missing", file,
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
judge_state(const Reading *reading)
{
	const GbeDirectory *directory = reading->directory;

	if (!directory->wal.has_state && directory->wal.last_entry != 0)
		report_file(
		    reading, GBE_FINDING_DAMAGE, "wal-no-state", "member/wal", GBE_NO, GBE_YES,
		    "it has entries, and nothing says which of them had been agreed on: etcd would "
		    "never have a leader");
	if (directory->wal.has_state && directory->wal.state.commit > end_of(directory))
		report_file(reading, GBE_FINDING_DAMAGE, "wal-commit", "member/wal", GBE_YES,
			    GBE_NO,
			    "entries up to " U64 " had been agreed on, and it ends with " U64,
			    directory->wal.state.commit, end_of(directory));
}

/* etcd's own rule: the database is never older than the snapshot. */
static bool
judge_db_and_start(const Reading *reading)
{
	const GbeDirectory *directory = reading->directory;
	const GArray *snapshots = directory->wal.snapshots;
	guint64 start = directory->start.index;
	const GbeDb *db = &directory->db;
	bool knows_snapshot = false;

	/* Versions differ here: etcd applies the whole log again, or ends. */
	if (db->present && db->consistent_index == 0 && db->last_row != 0) {
		report_file(reading, GBE_FINDING_DAMAGE, "member-db-index", "member/snap/db",
			    GBE_UNKNOWN, GBE_UNKNOWN,
			    "it has rows, and does not say up to which entry it holds the log");
		return false;
	}
	for (guint i = 0; i < directory->databases->len; i++)
		if (g_array_index(directory->databases, guint64, i) == start)
			return false;
	for (guint i = 0; i < snapshots->len && !knows_snapshot; i++)
		knows_snapshot = g_array_index(snapshots, GbeRaftPoint, i).index > 0;
	/* The data that a directory was restored from, for example, is in no entry. */
	if (!directory->has_db && start == 0 && !knows_snapshot && directory->wal.ended) {
		report_file(reading, GBE_FINDING_WARNING, "member-no-db", "member/snap", GBE_NO,
			    GBE_NO, "there is no db; etcd makes it again from the log");
		return false;
	}
	/* Only the db could tell how far a log without such an end went. */
	if (!directory->has_db) {
		report_file(
		    reading, GBE_FINDING_DAMAGE, "member-no-db", "member/snap", gbe_tri(start != 0),
		    start != 0 ? GBE_NO : GBE_UNKNOWN, "%s",
		    start != 0 ? "there is no db, and the log does not reach back to the beginning"
		    : knows_snapshot
			? "the db and every snapshot that the log names are missing; etcd makes "
			  "the db again from the log, which may not have all of it"
			: "the db is missing; etcd makes it again from the log, which does not end "
			  "as etcd leaves one, so that the db may have had more");
		return false;
	}
	if (!directory->db_tells || db->consistent_index >= start)
		return directory->db_tells;
	report_file(
	    reading, GBE_FINDING_DAMAGE, "member-db-behind-snap", "member/snap/db", GBE_YES, GBE_NO,
	    "it holds what the log says up to entry " U64 ", and etcd begins after entry " U64,
	    db->consistent_index, start);
	return false;
}

/* etcd does not check this. */
static void
judge_db_and_log(const Reading *reading)
{
	const GbeDirectory *directory = reading->directory;
	guint64 index = directory->db.consistent_index;
	guint64 end = end_of(directory);
	g_autofree char *file = gbe_layout_path(reading->member_path, "member/snap/db");

	if (index > end) {
		report_file(reading, GBE_FINDING_DAMAGE, "member-db-ahead-of-wal", "member/snap/db",
			    GBE_NO, GBE_YES,
			    "it holds what the log says up to entry " U64
			    ", and the log ends with " U64,
			    index, end);
		return;
	}
	if (directory->wal.has_state && directory->db.term > directory->wal.state.term) {
		report_file(reading, GBE_FINDING_DAMAGE, "member-term", "member/snap/db", GBE_NO,
			    GBE_UNKNOWN, "it is of raft's term " U64 ", and the log of " U64,
			    directory->db.term, directory->wal.state.term);
	} else if (index > commit_of(&directory->wal)) {
		report_file(reading, GBE_FINDING_NOTE, "member-commit-behind", "member/wal", GBE_NO,
			    GBE_NO, "the last state record was not written to its end");
	}
	gbe_applied_judge(&directory->applied, file, reading->findings);
}

/* Checksums are right, so the writer may be an etcd with a format that is not known here: that is no certain damage. */
static void
judge_contents(const Reading *reading)
{
	const GbeApplied *applied = &reading->directory->applied;

	if (applied->garbled != 0)
		report_file(
		    reading, GBE_FINDING_UNKNOWN, "wal-unknown-request", "member/wal", GBE_UNKNOWN,
		    GBE_UNKNOWN,
		    "the request in entry " U64
		    " cannot be decoded, although its checksum is right: etcd may not start on it",
		    applied->garbled);
	if (gbe_applied_version_differs(applied))
		report_file(
		    reading, GBE_FINDING_UNKNOWN, "db-cluster-version", "member/snap/db",
		    GBE_UNKNOWN, GBE_UNKNOWN,
		    "clusterVersion is %s, and the last entry of the log that sets it says %s",
		    applied->cluster_version, applied->version_set);
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

/* From 3.7 on, every member of the database that is no learner is a voter. Up to 3.6 a member that raft does not know
 * does no harm: `snapshot restore` of 3.4 left them, and nothing removed them until 3.5.26. */
static void
judge_members(const Reading *reading)
{
	const GbeDirectory *directory = reading->directory;
	const GbeConfState *conf = &directory->conf;
	const GArray *changes = directory->wal.changes;
	bool votes = false;

	if (conf->voters == NULL || conf->voters->len == 0)
		return;
	for (guint i = 0; i < conf->voters->len && !votes; i++)
		votes = g_array_index(conf->voters, guint64, i) == directory->wal.metadata.member;
	if (!votes)
		report_file(reading, GBE_FINDING_WARNING, "member-no-voter", "member/wal",
			    GBE_UNKNOWN, GBE_NO,
			    "the member whose log it is has no vote in its cluster");
	if (!directory->db_tells ||
	    directory->db.members <= (int)(conf->voters->len + conf->learners->len) ||
	    (changes->len > 0 && g_array_index(changes, GbeConfChange, changes->len - 1).index >
				     directory->db.consistent_index))
		return;
	report_file(
	    reading,
	    reads_snapfiles(directory) == GBE_NO ? GBE_FINDING_DAMAGE : GBE_FINDING_WARNING,
	    "member-ghosts", "member/snap/db", GBE_NO, GBE_NO,
	    "it lists members that are not in the cluster: from 3.7 on, etcd would wait for their "
	    "votes, and never have a leader");
}

/* Without a log etcd begins a new one, whose entries count from 1 again. */
static void
judge_without_log(const Reading *reading)
{
	const GbeDirectory *directory = reading->directory;

	if (!directory->has_db)
		report_file(reading, GBE_FINDING_DAMAGE, "member-not-etcd", "member", GBE_UNKNOWN,
			    GBE_NO, "it has no database and no log");
	else if (directory->db_tells && directory->db.consistent_index == 0)
		report_file(
		    reading, GBE_FINDING_WARNING, "member-no-wal", "member/wal", GBE_NO, GBE_NO,
		    "there is no log, and nothing in the database either: etcd never finished "
		    "its first start");
	else if (directory->log_elsewhere)
		report_file(
		    reading, GBE_FINDING_UNKNOWN, "member-no-wal", "member/wal", GBE_NO, GBE_YES,
		    "there is no log: if etcd's --wal-dir= does not lie elsewhere, etcd would "
		    "begin "
		    "a new one, which the database is ahead of");
	else
		report_file(
		    reading, GBE_FINDING_DAMAGE, "member-no-wal", "member/wal", GBE_NO, GBE_YES,
		    "there is no log: etcd would begin a new one, which the database is ahead of");
}

void
gbe_directory_judge(GbeDirectory *directory, const char *member_path, GbeFindings *findings)
{
	const Reading reading = {.directory = directory,
				 .findings = findings,
				 .member_path = member_path};

	if (directory->wal.segments->len == 0) {
		judge_without_log(&reading);
		return;
	}
	choose_start(directory);
	if (reads_snapfiles(directory) != GBE_NO)
		judge_snapfiles(&reading);
	find_voters(directory);
	/* The conclusions of a broken log are known to be wrong. */
	if (!directory->wal.complete)
		return;
	judge_entries(&reading);
	judge_state(&reading);
	if (judge_db_and_start(&reading))
		judge_db_and_log(&reading);
	judge_members(&reading);
	judge_contents(&reading);
}

bool
gbe_directory_read(int data_fd, const char *member_path, int wal_dir_fd,
		   const GbeDbOptions *options, GbeDirectory *ret_directory, GbeFindings *findings,
		   GError **error)
{
	g_autoptr(GPtrArray) names = g_ptr_array_new_with_free_func(g_free);
	g_auto(GbeDirectory) directory = {
	    .reader = options->reader,
	    .log_elsewhere = options->log_elsewhere,
	    .snapfiles = g_ptr_array_new_with_free_func((GDestroyNotify)gbe_snapfile_free),
	    .databases = g_array_new(false, false, sizeof(guint64)),
	};
	const Reading reading = {.directory = &directory,
				 .findings = findings,
				 .member_path = member_path,
				 .names = names,
				 .seconds = options->seconds};

	if (!read_db(&reading, data_fd, options, error) ||
	    !read_snapfiles(&reading, data_fd, error) ||
	    !read_wal(&reading, data_fd, wal_dir_fd, error))
		return false;
	gbe_directory_judge(&directory, member_path, findings);
	*ret_directory = directory;
	directory = (GbeDirectory){0};
	return true;
}

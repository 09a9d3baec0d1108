/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "etcd/directory/directory.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "etcd/layout.h"
#include "fs/list.h"

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
	GPtrArray *names; /* of .snap files */
	guint seconds;
} Reading;

static void
add(const Reading *reading, GbeSeverity severity, const char *code, const char *below,
    const char *what)
{
	g_autofree char *file = gbe_layout_path(reading->member_path, below);

	gbe_findings_add(reading->findings, severity, code, file, GBE_PLACE_FILE, 0,
			 severity == GBE_FINDING_DAMAGE ? GBE_UNKNOWN : GBE_YES,
			 severity == GBE_FINDING_DAMAGE ? GBE_UNKNOWN : GBE_NO, "%s", what);
}

/* A part that could not be opened is missing, or is not a regular one: adds a finding. Takes @local. */
static bool
absent_or_odd(const Reading *reading, const char *below, GError *local, GError **error)
{
	g_autoptr(GError) failed = local;

	if (g_error_matches(failed, GBE_ERROR, GBE_ERROR_NOT_FOUND))
		return true;
	if (g_error_matches(failed, GBE_ERROR, GBE_ERROR_UNSAFE_SOURCE)) {
		add(reading, GBE_FINDING_DAMAGE, "member-not-a-file", below, failed->message);
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
		add(reading, GBE_FINDING_NOTE, "snap-broken-left", below,
		    "etcd found it broken once and went on without it");
	else
		add(reading, GBE_FINDING_NOTE, "member-leftover", below,
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
read_snapfile(const Reading *reading, int snap_fd, const char *name, GbeLook *look, GError **error)
{
	gbe_autofd int fd = -1;
	GbeSnapfile *snapfile = NULL;

	fd = openat(snap_fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
	if (fd < 0 && errno != ELOOP && errno != ENXIO)
		return gbe_throw_errno(error, errno, "cannot open member/snap/%s", name);
	if (fd < 0) {
		g_autofree char *below = g_build_filename("member/snap", name, NULL);

		add(reading, GBE_FINDING_DAMAGE, "member-not-a-file", below,
		    "it is not a regular file");
		return true;
	}
	if (!gbe_snapfile_read(fd, name, look, &snapfile, error))
		return false;
	g_ptr_array_add(reading->directory->snapfiles, snapfile);
	return true;
}

static bool
read_snapfiles(const Reading *reading, int data_fd, GError **error)
{
	GbeLook look = gbe_look_begin(reading->seconds);
	g_auto(GbeList) list = {NULL};
	gbe_autofd int fd = -1;
	GError *local = NULL;
	const char *name;

	if (!gbe_layout_open(data_fd, reading->member_path, "member/snap", &fd, &local))
		return absent_or_odd(reading, "member/snap", local, error);
	list = gbe_list_open_at(fd, "member/snap");
	while ((name = gbe_list_next(&list)) != NULL)
		take_name(reading, name);
	if (!gbe_list_end(&list, error))
		return false;
	if (MAX(reading->names->len, reading->directory->databases->len) > NAMES_MAX)
		add(reading, GBE_FINDING_UNKNOWN, "snap-too-many", "member/snap",
		    "more snapshots than this program keeps count of");
	g_ptr_array_sort(reading->names, newest_first);
	for (guint i = 0; i < MIN(reading->names->len, SNAPFILES_MAX); i++)
		if (!read_snapfile(reading, fd, g_ptr_array_index(reading->names, i), &look, error))
			return false;
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

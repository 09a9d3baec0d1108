/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A member's directory of any files: database, segments of the log, .snap files, and other names. The input is parts,
 * one after the other: which file, how, its place in the order, two bytes of length, so many bytes. The checksums are
 * made right where the part says so. A database of more than 64 KiB has several parts: each continues at the end of the
 * previous one.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "etcd/directory/directory.h"
#include "etcd/directory/member.h"
#include "lib/fuzz-etcd.h"

#define HEAD 5
#define PARTS_MAX 16

enum {
	PART_DB,
	PART_WAL,
	PART_SNAP,
	PART_SNAP_DB,
	PART_OTHER,
	PART_KINDS,
};

static struct {
	char *path;
	int data, snap, wal;
} top = {.data = -1};

static void
empty(int dir_fd, GPtrArray *names)
{
	for (guint i = 0; i < names->len; i++)
		(void)unlinkat(dir_fd, names->pdata[i], 0);
}

static int
make_dir(int above, const char *name)
{
	if (mkdirat(above, name, 0700) < 0)
		abort();
	return openat(above, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

static void
remove_top(void)
{
	(void)unlinkat(top.data, "member/snap", AT_REMOVEDIR);
	(void)unlinkat(top.data, "member/wal", AT_REMOVEDIR);
	(void)unlinkat(top.data, "member", AT_REMOVEDIR);
	(void)rmdir(top.path);
	g_free(top.path);
}

/* One for all inputs, in memory where that can be had. */
static void
need_top(void)
{
	gbe_autofd int member = -1;

	if (top.data >= 0)
		return;
	top.path = g_build_filename(access("/dev/shm", W_OK) == 0 ? "/dev/shm" : g_get_tmp_dir(),
				    "gbe-fuzz-member-XXXXXX", NULL);
	if (g_mkdtemp(top.path) == NULL)
		abort();
	top.data = open(top.path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	member = make_dir(top.data, "member");
	top.snap = make_dir(member, "snap");
	top.wal = make_dir(member, "wal");
	if (atexit(remove_top) != 0)
		abort();
}

typedef struct {
	guint8 kind, how, order;
	const guint8 *bytes;
	gsize size;
} Part;

static bool
next_part(const guint8 **data, gsize *size, Part *part)
{
	const guint8 *at = *data;

	if (*size < HEAD)
		return false;
	*part =
	    (Part){.kind = at[0] % PART_KINDS, .how = at[1], .order = at[2], .bytes = at + HEAD};
	part->size = MIN((gsize)(at[3] | at[4] << 8), *size - HEAD);
	*data += HEAD + part->size;
	*size -= HEAD + part->size;
	return true;
}

static void
put_file(int dir_fd, GPtrArray *names, char *name, const GByteArray *bytes, guint holes)
{
	gbe_autofd int fd = openat(dir_fd, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	if (fd < 0 || (bytes->len > 0 && write(fd, bytes->data, bytes->len) != (ssize_t)bytes->len))
		fuzz_fail("cannot write %s", name);
	/* The size that etcd preallocates. */
	if (holes > 0 && ftruncate(fd, (off_t)bytes->len + (off_t)holes * 4096) < 0)
		fuzz_fail("cannot extend %s", name);
	g_ptr_array_add(names, name);
}

typedef struct {
	GByteArray *db;
	bool mend_db;
	guint32 crc; /* of the log so far */
	GPtrArray *snap_names, *wal_names;
} Build;

static void
put_wal(Build *build, const Part *part, guint number)
{
	g_autoptr(GByteArray) bytes = g_byte_array_new();

	if (part->how % 2 == 0)
		(void)g_byte_array_append(bytes, part->bytes, (guint)part->size);
	else
		fuzz_wal_records(bytes, part->bytes, part->size, &build->crc);
	put_file(top.wal, build->wal_names,
		 g_strdup_printf("%016x-%016x.wal", number, (guint)part->order), bytes,
		 part->how / 2);
}

/* "TERM-INDEX": up to three terms, and the index. */
static void
put_snap(Build *build, const Part *part)
{
	g_autoptr(GByteArray) bytes = g_byte_array_new();

	if (part->how % 2 == 0)
		(void)g_byte_array_append(bytes, part->bytes, (guint)part->size);
	else
		fuzz_snap(bytes, part->bytes, part->size);
	put_file(
	    top.snap, build->snap_names,
	    g_strdup_printf("%016x-%016x.snap", (guint)part->how / 2 % 4 + 1, (guint)part->order),
	    bytes, 0);
}

static void
put_other(Build *build, const Part *part)
{
	static const char *const names[] = {"db.tmp.1", "0.tmp", "x.broken", "name", "\xff.snap"};
	const char *name = names[part->order % G_N_ELEMENTS(names)];
	g_autoptr(GByteArray) bytes = g_byte_array_new();

	(void)g_byte_array_append(bytes, part->bytes, (guint)part->size);
	if (part->kind == PART_SNAP_DB)
		put_file(top.snap, build->snap_names,
			 g_strdup_printf("%016x.snap.db", (guint)part->order), bytes, 0);
	else if (part->how % 2 == 0)
		put_file(top.snap, build->snap_names, g_strdup(name), bytes, 0);
	else
		put_file(top.wal, build->wal_names, g_strdup(name), bytes, 0);
}

static void
build_all(Build *build, const guint8 *data, gsize size)
{
	guint segments = 0;
	Part part;

	for (guint i = 0; i < PARTS_MAX && next_part(&data, &size, &part); i++) {
		if (part.kind == PART_DB) {
			build->mend_db = part.how % 2 == 1;
			(void)g_byte_array_append(build->db, part.bytes, (guint)part.size);
		} else if (part.kind == PART_WAL) {
			put_wal(build, &part, segments++);
		} else if (part.kind == PART_SNAP) {
			put_snap(build, &part);
		} else {
			put_other(build, &part);
		}
	}
	if (build->db->len == 0)
		return;
	if (build->mend_db)
		fuzz_db_mend(build->db->data, build->db->len);
	put_file(top.snap, build->snap_names, g_strdup("db"), build->db, 0);
}

/* The reader's results for the whole directory are consistent. Returns the worst finding. */
static GbeSeverity
read_all(const GbeDbOptions *options)
{
	g_auto(GbeDirectory) directory = {0};
	g_auto(GbeFindings) findings = {0};
	g_autoptr(GError) error = NULL;
	GbeSeverity worst;

	gbe_findings_init(&findings);
	if (!gbe_directory_read(top.data, "", -1, options, &directory, &findings, &error))
		fuzz_fail("%s", error->message);
	worst = gbe_findings_worst(&findings);
	if (worst > GBE_FINDING_WARNING)
		return worst;
	/* A result without findings requires that everything was read, and that etcd's starting point is known. */
	if (!directory.wal.complete)
		fuzz_fail("sound, and the log is not complete");
	if (directory.db.present && options->level == GBE_VERIFY_FULL && !options->quick &&
	    !directory.db.has_hash)
		fuzz_fail("sound, and no hash");
	if (directory.start.index > MAX(directory.wal.last_entry, directory.wal.state.commit) &&
	    directory.snapfile == NULL)
		fuzz_fail("sound, and it begins after the log's end");
	return worst;
}

static void
read_directory(void)
{
	GbeDbOptions options = {.level = GBE_VERIFY_FULL};
	g_autoptr(GError) error = NULL;
	GbeFingerprint fingerprint = {0};
	GbeSeverity full = read_all(&options);
	gint64 seconds = 0;
	bool has = false;

	options.quick = true;
	(void)read_all(&options);
	options = (GbeDbOptions){.level = GBE_VERIFY_SANITY};
	if (read_all(&options) == GBE_FINDING_DAMAGE && full != GBE_FINDING_DAMAGE)
		fuzz_fail("a short look finds damage that a full one does not");
	if (!gbe_member_has_data(top.data, "", &has, &error) ||
	    !gbe_member_last_write(top.data, "", &seconds, &error))
		fuzz_fail("%s", error->message);
	/* An unreadable directory is an error and yields no record. */
	if (gbe_member_fingerprint(top.data, "", -1, &fingerprint, NULL))
		gbe_fingerprint_clear(&fingerprint);
}

int
LLVMFuzzerTestOneInput(const guint8 *data, gsize size)
{
	g_autoptr(GPtrArray) snap_names = g_ptr_array_new_with_free_func(g_free);
	g_autoptr(GPtrArray) wal_names = g_ptr_array_new_with_free_func(g_free);
	g_autoptr(GByteArray) db = g_byte_array_new();
	Build build = {.db = db, .snap_names = snap_names, .wal_names = wal_names};

	need_top();
	build_all(&build, data, size);
	read_directory();
	empty(top.snap, snap_names);
	empty(top.wal, wal_names);
	return 0;
}

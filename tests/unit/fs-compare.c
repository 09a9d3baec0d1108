/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "fs/copy/compare.h"
#include "unit/fs-place.h"

#include "core/record/take-over.h"
#include "fs/copy/clone.h"

#include <sys/syscall.h>

static const GbeCompare all[] = {GBE_COMPARE_NAMES, GBE_COMPARE_CLONES, GBE_COMPARE_BYTES};
static const GbeCompare contents[] = {GBE_COMPARE_CLONES, GBE_COMPARE_BYTES};

/* Replaces the C library's function, and counts. */
static guint64 bytes_read;

ssize_t
pread(int fd, void *buffer, size_t size, off_t offset)
{
	ssize_t got = syscall(SYS_pread64, fd, buffer, size, offset);

	bytes_read += (guint64)MAX(got, 0);
	return got;
}

static int
open_at(const char *path)
{
	int fd = openat(place, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	ck_assert_msg(fd >= 0, "%s: %m", path);
	return fd;
}

static void
make_pair(GbeMethod method)
{
	const GbeCloneOptions options = {.allowed = method};
	g_auto(GbeCloneResult) result = {0};
	g_autoptr(GError) error = NULL;

	put_dir("src", 0750);
	put_dir("src/dir", 0700);
	put_dir("src/dir/empty", 0700);
	put_data("src/dir/db", 0, MIB, 1);
	put_data("src/dir/db", 3 * MIB, 100000, 2);
	put_size("src/dir/db", 6 * MIB);
	put_allocated("src/wal", 2 * MIB);
	put_data("src/wal", 0, 5000, 3);
	put("src/small", "small");
	put("src/nothing", "");
	put_size("src/hole", MIB);
	ck_assert_int_eq(linkat(place, "src/small", place, "src/dir/twin", 0), 0);
	ck_assert_int_eq(symlinkat("small", place, "src/link"), 0);
	put_xattr("src/small", "user.one", "value", 5);
	put_xattr("src/dir", "user.dir", "value", 5);
	put_time("src/dir/db", 1500000000, 123456789);
	assert_ok(gbe_clone_tree_at(place, "src", place, "dst", &options, &result, &error), error);
}

static bool
compare(GbeCompare how, GError **error)
{
	gbe_autofd int src = open_at("src");
	gbe_autofd int dst = open_at("dst");

	return gbe_compare_trees(src, dst, how, NULL, NULL, NULL, error);
}

START_TEST(a_copy_is_the_source)
{
	make_pair(_i == 0 ? GBE_METHOD_REFLINK : GBE_METHOD_COPY);
	for (gsize i = 0; i < G_N_ELEMENTS(all); i++) {
		g_autoptr(GError) error = NULL;

		assert_ok(compare(all[i], &error), error);
	}
}
END_TEST

/* Writes to the copy and resets the time: only the content differs. */
static void
change_content(const char *path, off_t offset, const char *text)
{
	struct stat st = stat_of(path);
	gbe_autofd int fd = openat(place, path, O_WRONLY | O_CLOEXEC);

	ck_assert_int_eq(pwrite(fd, text, strlen(text), offset), (ssize_t)strlen(text));
	ck_assert_int_eq(futimens(fd, (struct timespec[]){st.st_atim, st.st_mtim}), 0);
}

static const struct {
	const char *path;
	off_t offset;
	const char *text;
} changes[] = {
    {"dir/db", 0, "x"},		      /* the first byte */
    {"dir/db", 3 * MIB + 99999, "x"}, /* the last of the data */
    {"dir/db", 2 * MIB, "x"},	      /* in a hole */
    {"dir/db", 6 * MIB - 1, "x"},     /* the last byte of the file */
    {"wal", MIB, "x"},		      /* in the part that is only allocated */
    {"small", 4, "x"},
    {"hole", 500000, "x"},
};

START_TEST(a_changed_byte_is_seen)
{
	for (guint side = 0; side < 2; side++)
		for (guint synced = 0; synced < 2; synced++) {
			g_autofree char *path =
			    g_build_filename(side == 0 ? "src" : "dst", changes[_i].path, NULL);

			(void)place_run((const char *[]){"rm", "-rf", place_path, NULL});
			ck_assert_int_eq(mkdir(place_path, 0755), 0);
			gbe_close_fd(&place);
			place = open(place_path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
			make_pair(GBE_METHOD_REFLINK);
			change_content(path, changes[_i].offset, changes[_i].text);
			if (synced == 1)
				ck_assert_int_eq(syncfs(place), 0);
			for (gsize i = 0; i < G_N_ELEMENTS(contents); i++) {
				g_autoptr(GError) error = NULL;

				assert_fails(compare(contents[i], &error), error,
					     GBE_ERROR_VERIFY_FAILED, "the content differs");
				assert_ok(compare(GBE_COMPARE_NAMES, &error), error);
			}
		}
}
END_TEST

/* Reading each of 4,096 names of one file of 64 MiB would take as long as 256 GiB. */
START_TEST(a_file_is_read_once_whatever_names_it_has)
{
	g_autoptr(GbeManifest) manifest = gbe_manifest_new();
	g_autoptr(GError) error = NULL;
	gbe_autofd int fd = -1;

	put_dir("src", 0700);
	put_data("src/0", 0, MIB, 1);
	for (guint i = 1; i < 100; i++) {
		g_autofree char *name = g_strdup_printf("src/%u", i);

		ck_assert_int_eq(linkat(place, "src/0", place, name, 0), 0);
	}
	{
		const GbeCloneOptions options = {.allowed = GBE_METHOD_COPY};
		g_auto(GbeCloneResult) result = {0};

		assert_ok(gbe_clone_tree_at(place, "src", place, "dst", &options, &result, &error),
			  error);
	}
	bytes_read = 0;
	assert_ok(compare(GBE_COMPARE_BYTES, &error), error);
	ck_assert_uint_ge(bytes_read, 2 * MIB);
	ck_assert_uint_lt(bytes_read, 3 * MIB);
	fd = open_at("dst");
	bytes_read = 0;
	assert_ok(gbe_compare_record(fd, NULL, true, NULL, manifest, &error), error);
	assert_ok(gbe_compare_manifest(fd, manifest, true, NULL, NULL, &error), error);
	ck_assert_uint_ge(bytes_read, 2 * MIB);
	ck_assert_uint_lt(bytes_read, 3 * MIB);
}
END_TEST

START_TEST(zeros_and_holes_are_the_same)
{
	g_autofree char *zeros = g_malloc0(100000);
	gbe_autofd int fd = -1;

	make_pair(GBE_METHOD_COPY);
	fd = openat(place, "dst/hole", O_WRONLY | O_CLOEXEC);
	ck_assert_int_eq(pwrite(fd, zeros, 100000, 12345), 100000);
	put_time("dst/hole", 1500000000, 1);
	put_time("src/hole", 1500000000, 1);
	for (gsize i = 0; i < G_N_ELEMENTS(all); i++) {
		g_autoptr(GError) error = NULL;

		assert_ok(compare(all[i], &error), error);
	}
}
END_TEST

static void
change(const char *what)
{
	struct stat st = stat_of("dst/small");
	g_autofree char *small = at("dst/small");
	g_autofree char *hole = at("dst/hole");

	if (g_str_equal(what, "mode"))
		ck_assert_int_eq(fchmodat(place, "dst/small", 0600, 0), 0);
	else if (g_str_equal(what, "dir mode"))
		ck_assert_int_eq(fchmodat(place, "dst/dir/empty", 0701, 0), 0);
	else if (g_str_equal(what, "top mode"))
		ck_assert_int_eq(fchmodat(place, "dst", 0700, 0), 0);
	else if (g_str_equal(what, "owner") && geteuid() == 0)
		ck_assert_int_eq(fchownat(place, "dst/dir/db", 1, -1, 0), 0);
	else if (g_str_equal(what, "group") && geteuid() == 0)
		ck_assert_int_eq(fchownat(place, "dst/link", -1, 1, AT_SYMLINK_NOFOLLOW), 0);
	else if (g_str_equal(what, "time"))
		put_time("dst/dir/db", 1500000000, 123456788);
	else if (g_str_equal(what, "xattr value"))
		put_xattr("dst/small", "user.one", "valuE", 5);
	else if (g_str_equal(what, "xattr more"))
		put_xattr("dst/dir", "user.two", "", 0);
	else if (g_str_equal(what, "xattr less"))
		(void)removexattr(small, "user.one");
	else if (g_str_equal(what, "size"))
		ck_assert_int_eq(truncate(hole, MIB + 1), 0);
	else if (g_str_equal(what, "missing"))
		ck_assert_int_eq(unlinkat(place, "dst/nothing", 0), 0);
	else if (g_str_equal(what, "more"))
		put("dst/more", "x");
	else if (g_str_equal(what, "more below"))
		put("dst/dir/empty/more", "x");
	else if (g_str_equal(what, "symlink")) {
		struct stat link = stat_of("dst/link");

		ck_assert_int_eq(unlinkat(place, "dst/link", 0), 0);
		ck_assert_int_eq(symlinkat("smalL", place, "dst/link"), 0);
		put_time("dst/link", link.st_mtim.tv_sec, link.st_mtim.tv_nsec);
	} else if (g_str_equal(what, "type")) {
		ck_assert_int_eq(unlinkat(place, "dst/nothing", 0), 0);
		put_dir("dst/nothing", 0644);
	} else if (g_str_equal(what, "twin")) {
		g_autofree char *to = at("dst/dir/twin");

		ck_assert_int_eq(unlinkat(place, "dst/dir/twin", 0), 0);
		ck_assert_int_eq(place_run((const char *[]){"cp", "-a", small, to, NULL}), 0);
	}
	/* The directory in which something was changed. */
	if (strstr(what, "below") == NULL && S_ISREG(st.st_mode)) {
		struct stat dir = stat_of("src/dir");

		put_time("dst/dir", dir.st_mtim.tv_sec, dir.st_mtim.tv_nsec);
	}
}

static const struct {
	const char *what;
	const char *text;
} differences[] = {
    {"mode", "dir/twin: has another mode"},
    {"dir mode", "dir/empty: has another mode"},
    {"top mode", "the top of the tree: has another mode"},
    {"owner", "dir/db: has another owner"},
    {"group", "link: has another owner"},
    {"time", "dir/db: has another modification time"},
    {"xattr value", "dir/twin: the extended attribute user.one differs"},
    {"xattr more", "dir: the copy has an extended attribute user.two"},
    {"xattr less", "dir/twin: the extended attribute user.one is missing"},
    {"size", "hole: has 1048577 bytes instead of 1048576"},
    {"missing", "nothing: is missing in the copy"},
    {"more", "more: is in the copy only"},
    {"more below", "dir/empty"},
    {"symlink", "link: is a symlink to something else"},
    {"type", "nothing: is of another type"},
    {"twin", "is no further name of the same file"},
};

START_TEST(each_difference_is_named)
{
	const char *what = differences[_i].what;

	if (geteuid() != 0 && (g_str_equal(what, "owner") || g_str_equal(what, "group")))
		return;
	make_pair(GBE_METHOD_REFLINK);
	/* A file system without xattrs has none that could differ. */
	if (g_str_has_prefix(what, "xattr") && !put_xattr("src/small", "user.one", "value", 5))
		return;
	change(what);
	for (gsize i = 0; i < G_N_ELEMENTS(all); i++) {
		g_autoptr(GError) error = NULL;

		assert_fails(compare(all[i], &error), error, GBE_ERROR_VERIFY_FAILED,
			     differences[_i].text);
	}
}
END_TEST

START_TEST(what_is_excluded_is_not_looked_at)
{
	static const char *const exclude[] = {".store", NULL};
	g_autoptr(GError) error = NULL;
	gbe_autofd int src = -1;
	gbe_autofd int dst = -1;

	make_pair(GBE_METHOD_REFLINK);
	put_socket("src/sock");
	put("dst/" GBE_NONCE_NAME, "of the restore");
	put_dir("src/.store", 0700);
	put("src/.store/x", "x");
	src = open_at("src");
	dst = open_at("dst");
	assert_ok(gbe_compare_trees(src, dst, GBE_COMPARE_BYTES, exclude, NULL, NULL, &error),
		  error);
	assert_fails(gbe_compare_trees(src, dst, GBE_COMPARE_BYTES, NULL, NULL, NULL, &error),
		     error, GBE_ERROR_VERIFY_FAILED, ".store: is missing in the copy");
}
END_TEST

/* Files with the same blocks are not read; files that share no blocks are read in full. */
START_TEST(clones_are_proved_by_blocks)
{
	g_autofree char *io = NULL;
	g_autoptr(GError) error = NULL;
	guint64 before = 0, after = 0;

	if (!place_clones())
		return;
	put_dir("src", 0755);
	put_data("src/db", 0, 32 * MIB, 1);
	{
		const GbeCloneOptions options = {.allowed = GBE_METHOD_REFLINK};
		g_auto(GbeCloneResult) result = {0};

		assert_ok(gbe_clone_tree_at(place, "src", place, "dst", &options, &result, &error),
			  error);
	}
	for (guint i = 0; i < 2; i++) {
		ck_assert(g_file_get_contents("/proc/self/io", &io, NULL, NULL));
		before = g_ascii_strtoull(io + strlen("rchar: "), NULL, 10);
		g_clear_pointer(&io, g_free);
		assert_ok(compare(i == 0 ? GBE_COMPARE_CLONES : GBE_COMPARE_BYTES, &error), error);
		ck_assert(g_file_get_contents("/proc/self/io", &io, NULL, NULL));
		after = g_ascii_strtoull(io + strlen("rchar: "), NULL, 10);
		g_clear_pointer(&io, g_free);
		if (i == 0)
			ck_assert_uint_lt(after - before, MIB);
		else
			ck_assert_uint_ge(after - before, 64 * MIB);
	}
}
END_TEST

/* All blocks are shared, but not with the source. */
START_TEST(clones_of_something_else_are_seen)
{
	const GbeCloneOptions options = {.allowed = GBE_METHOD_REFLINK};
	static const char *const names[] = {"src", "dst"};
	g_autoptr(GError) error = NULL;

	for (guint i = 0; i < 2; i++) {
		g_auto(GbeCloneResult) result = {0};
		g_autofree char *file = g_build_filename(names[i], "db", NULL);
		g_autofree char *other = g_strconcat("of ", names[i], NULL);

		put_dir(names[i], 0755);
		put_data(file, 0, MIB, i);
		put_time(file, 1500000000, 0);
		assert_ok(
		    gbe_clone_tree_at(place, names[i], place, other, &options, &result, &error),
		    error);
	}
	assert_fails(compare(GBE_COMPARE_CLONES, &error), error, GBE_ERROR_VERIFY_FAILED,
		     "db: the content differs");
}
END_TEST

static bool
stop_at_once(guint64 bytes, gpointer data)
{
	return false;
}

static bool
last_bytes(guint64 bytes, gpointer data)
{
	guint64 *last = data;

	ck_assert_uint_ge(bytes, *last);
	*last = bytes;
	return true;
}

START_TEST(progress_goes_to_the_end)
{
	for (gsize i = 0; i < G_N_ELEMENTS(contents); i++) {
		g_autoptr(GError) error = NULL;
		gbe_autofd int src = -1;
		gbe_autofd int dst = -1;
		guint64 last = 0;

		if (i == 0)
			make_pair(GBE_METHOD_REFLINK);
		src = open_at("src");
		dst = open_at("dst");
		assert_fails(
		    gbe_compare_trees(src, dst, contents[i], NULL, stop_at_once, NULL, &error),
		    error, GBE_ERROR_FAILED, "cancelled");
		assert_ok(gbe_compare_trees(src, dst, contents[i], NULL, last_bytes, &last, &error),
			  error);
		ck_assert_uint_ge(last, MIB);
		ck_assert_uint_le(last, 9 * MIB + 10);
	}
}
END_TEST

/* ---- manifests ---- */

static GbeManifest *
record(bool digests)
{
	gbe_autofd int dir = open_at("dst");
	g_autoptr(GError) error = NULL;
	GbeManifest *manifest = gbe_manifest_new();

	assert_ok(gbe_compare_record(dir, NULL, digests, NULL, manifest, &error), error);
	return manifest;
}

static bool
check(const GbeManifest *manifest, bool digests, GError **error)
{
	gbe_autofd int dir = open_at("dst");

	return gbe_compare_manifest(dir, manifest, digests, NULL, NULL, error);
}

START_TEST(what_was_recorded_is_there)
{
	g_autoptr(GbeManifest) manifest = NULL;
	g_autoptr(GError) error = NULL;
	const GbeManifestFile *file = NULL;

	make_pair(GBE_METHOD_REFLINK);
	put("dst/" GBE_NONCE_NAME, "history");
	put_socket("dst/sock");
	put("dst/odd\nname\xff", "x");
	manifest = record(_i == 1);
	ck_assert_uint_eq(manifest->files_count, 7);
	/* small and twin are one file. */
	ck_assert_uint_eq(manifest->size, 9 * MIB + 5 + 1);
	ck_assert_uint_eq(manifest->files->len, 7);
	file = g_ptr_array_index(manifest->files, 1);
	ck_assert_str_eq(file->path, "dir/twin");
	ck_assert_uint_eq(file->size, 5);
	if (_i == 1)
		ck_assert_str_eq(file->sha256, "81db8ebbbbc69c6c6ad4a6aa92b76e0c"
					       "08af547da236b9e2c9dbe1d8285a8130");
	else
		ck_assert_ptr_null(file->sha256);
	file = g_ptr_array_index(manifest->files, 4);
	ck_assert_str_eq(file->path, "odd\\x0aname\\xff");
	assert_ok(check(manifest, true, &error), error);
	assert_ok(check(manifest, false, &error), error);
}
END_TEST

START_TEST(what_is_not_as_recorded_is_named)
{
	static const char *const texts[] = {
	    "wal: the content is not", "more: is not in the manifest",
	    "nothing: is in the manifest and not", "small: has 6 bytes instead of 5", ""};
	g_autoptr(GbeManifest) manifest = NULL;
	g_autoptr(GError) error = NULL;

	make_pair(GBE_METHOD_REFLINK);
	manifest = record(true);
	if (_i == 0) {
		change_content("dst/wal", MIB, "x");
		assert_ok(check(manifest, false, &error), error);
	} else if (_i == 1) {
		put("dst/more", "");
	} else if (_i == 2) {
		ck_assert_int_eq(unlinkat(place, "dst/nothing", 0), 0);
	} else if (_i == 3) {
		ck_assert_int_eq(unlinkat(place, "dst/small", 0), 0);
		put("dst/small", "small!");
	} else {
		ck_assert_int_eq(unlinkat(place, "dst/nothing", 0), 0);
		ck_assert_int_eq(symlinkat("hole", place, "dst/nothing"), 0);
	}
	assert_fails(check(manifest, true, &error), error, GBE_ERROR_VERIFY_FAILED, texts[_i]);
}
END_TEST

START_TEST(many_files_are_counted)
{
	g_autoptr(GbeManifest) manifest = NULL;
	g_autoptr(GError) error = NULL;

	put_dir("dst", 0700);
	for (guint i = 0; i <= GBE_MANIFEST_FILES_MAX; i++) {
		g_autofree char *name = g_strdup_printf("dst/%u", i);

		put(name, "12");
	}
	manifest = record(false);
	ck_assert_ptr_null(manifest->files);
	ck_assert_uint_eq(manifest->files_count, GBE_MANIFEST_FILES_MAX + 1);
	ck_assert_uint_eq(manifest->size, 2 * (GBE_MANIFEST_FILES_MAX + 1));
	assert_ok(check(manifest, true, &error), error);
	put("dst/0", "1");
	assert_fails(check(manifest, true, &error), error, GBE_ERROR_VERIFY_FAILED,
		     "2049 files with 4097 bytes");
	put("dst/0", "12");
	put("dst/more", "");
	assert_fails(check(manifest, true, &error), error, GBE_ERROR_VERIFY_FAILED, "2050 files");
}
END_TEST

START_TEST(nothing_is_a_list_without_files)
{
	g_autoptr(GbeManifest) manifest = NULL;
	g_autoptr(GError) error = NULL;

	put_dir("dst", 0700);
	manifest = record(true);
	ck_assert_ptr_nonnull(manifest->files);
	ck_assert_uint_eq(manifest->files->len, 0);
	assert_ok(check(manifest, true, &error), error);
	put("dst/new", "");
	assert_fails(check(manifest, true, &error), error, GBE_ERROR_VERIFY_FAILED, "new");
}
END_TEST

/* A tree that cannot be listed is not an error: it is set aside anyway. */
START_TEST(what_is_no_tree_is_not_listed)
{
	const GbeTreeLimits few = {.entries = 3};
	g_autoptr(GbeManifest) manifest = NULL;
	g_autoptr(GString) path = g_string_new("dst/deep");
	g_autoptr(GError) error = NULL;
	gbe_autofd int dir = -1;

	put_dir("dst", 0700);
	put("dst/a", "x");
	put("dst/b", "x");
	put("dst/c", "x");
	manifest = record(false);
	ck_assert(gbe_compare_is_listed(manifest));
	put_dir(path->str, 0700);
	if (_i == 0) {
		for (guint i = 0; i < 70; i++) {
			g_string_append(path, "/d");
			put_dir(path->str, 0700);
		}
	} else if (_i == 1 && place_is_btrfs()) {
		put_subvolume("dst/deep/nested");
	}
	dir = open_at("dst");
	assert_ok(gbe_compare_record(dir, NULL, true, _i == 0 || place_is_btrfs() ? NULL : &few,
				     manifest, &error),
		  error);
	if (_i == 2 && place_is_btrfs())
		assert_ok(gbe_compare_record(dir, NULL, true, &few, manifest, &error), error);
	ck_assert(!gbe_compare_is_listed(manifest));
	ck_assert_ptr_null(manifest->files);
	ck_assert_uint_eq(manifest->files_count, 0);
	ck_assert_uint_eq(manifest->size, 0);
	assert_ok(check(manifest, true, &error), error);
}
END_TEST

/* The digest of a large hole would take hours. */
START_TEST(giants_of_nothing_have_no_digest)
{
	g_autoptr(GbeManifest) manifest = NULL;
	const GbeManifestFile *file;
	g_autofree char *giant = NULL;

	put_dir("dst", 0700);
	put("dst/db", "x");
	giant = at("dst/db");
	ck_assert_int_eq(truncate(giant, (off_t)1 << 40), 0);
	put("dst/small", "x");
	manifest = record(true);
	ck_assert_uint_eq(manifest->size, ((guint64)1 << 40) + 1);
	file = g_ptr_array_index(manifest->files, 0);
	ck_assert_ptr_null(file->sha256);
	file = g_ptr_array_index(manifest->files, 1);
	ck_assert_ptr_nonnull(file->sha256);
}
END_TEST

/* Fewer files than a list may have, but more bytes of paths than a record may have. */
START_TEST(long_paths_are_counted)
{
	g_autoptr(GbeManifest) manifest = NULL;
	g_autofree char *filler = g_strnfill(240, 'n');
	g_autoptr(GError) error = NULL;

	put_dir("dst", 0700);
	for (guint i = 0; i < 1200; i++) {
		g_autofree char *name = g_strdup_printf("dst/%s%u", filler, i);

		put(name, "12");
	}
	manifest = record(false);
	ck_assert_ptr_null(manifest->files);
	ck_assert(gbe_compare_is_listed(manifest));
	ck_assert_uint_eq(manifest->files_count, 1200);
	assert_ok(check(manifest, true, &error), error);
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("fs-compare");
	TCase *tcase = place_case(suite, "compare");

	tcase_add_loop_test(tcase, a_copy_is_the_source, 0, 2);
	tcase_add_loop_test(tcase, a_changed_byte_is_seen, 0, G_N_ELEMENTS(changes));
	tcase_add_test(tcase, a_file_is_read_once_whatever_names_it_has);
	tcase_add_test(tcase, zeros_and_holes_are_the_same);
	tcase_add_loop_test(tcase, each_difference_is_named, 0, G_N_ELEMENTS(differences));
	tcase_add_test(tcase, what_is_excluded_is_not_looked_at);
	tcase_add_test(tcase, clones_are_proved_by_blocks);
	tcase_add_test(tcase, clones_of_something_else_are_seen);
	tcase_add_test(tcase, progress_goes_to_the_end);
	tcase_add_loop_test(tcase, what_was_recorded_is_there, 0, 2);
	tcase_add_loop_test(tcase, what_is_not_as_recorded_is_named, 0, 5);
	tcase_add_test(tcase, many_files_are_counted);
	tcase_add_test(tcase, nothing_is_a_list_without_files);
	tcase_add_loop_test(tcase, what_is_no_tree_is_not_listed, 0, 3);
	tcase_add_test(tcase, giants_of_nothing_have_no_digest);
	tcase_add_test(tcase, long_paths_are_counted);
	return gbe_unit_main(suite);
}

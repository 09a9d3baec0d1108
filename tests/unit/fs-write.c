/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "fs/write.h"
#include "unit/fs-place.h"

#include "fs/sync.h"

static void
check_write(const char *text, mode_t mode, GbeWrite how)
{
	g_autoptr(GError) error = NULL;
	g_autofree char *bytes = NULL;
	struct stat st;

	assert_ok(gbe_write_file_at(place, "file", text, strlen(text), mode, how, &error), error);
	bytes = content_of("file");
	ck_assert_str_eq(bytes, text);
	st = stat_of("file");
	ck_assert_uint_eq(st.st_mode, S_IFREG | mode);
	ck_assert_uint_eq(st.st_uid, geteuid());
	ck_assert_uint_eq(st.st_gid, getegid());
	ck_assert(!is_there(".gbe-tmp.file"));
}

START_TEST(new_and_again)
{
	(void)umask(077);
	check_write("one", 0644, GBE_WRITE_DURABLE);
	check_write("", 0600, GBE_WRITE_LATER);
	check_write("three and longer than before", 0640, GBE_WRITE_NO_DIR);
}
END_TEST

START_TEST(any_bytes_and_many)
{
	g_autoptr(GError) error = NULL;
	g_autofree char *much = g_malloc(3 * MIB + 1);
	g_autofree char *bytes = NULL;

	for (gsize i = 0; i <= 3 * MIB; i++)
		much[i] = (char)(i * 7);
	assert_ok(
	    gbe_write_file_at(place, "file", much, 3 * MIB + 1, 0600, GBE_WRITE_LATER, &error),
	    error);
	ck_assert_int_eq(stat_of("file").st_size, 3 * MIB + 1);
	bytes = content_of("file");
	ck_assert_mem_eq(bytes, much, 3 * MIB + 1);
}
END_TEST

/* Traps that an unprivileged owner of the directory can prepare. */
START_TEST(links_are_not_followed)
{
	g_autofree char *victim = NULL;

	put("victim", "precious");
	put_dir("dir", 0700);
	put("dir/precious", "precious");
	if (_i == 0) {
		ck_assert_int_eq(symlinkat("victim", place, ".gbe-tmp.file"), 0);
	} else if (_i == 1) {
		ck_assert_int_eq(linkat(place, "victim", place, ".gbe-tmp.file", 0), 0);
	} else if (_i == 2) {
		put_dir(".gbe-tmp.file", 0700);
		put(".gbe-tmp.file/in the way", "x");
		ck_assert_int_eq(symlinkat("../dir", place, ".gbe-tmp.file/link"), 0);
	} else if (_i == 3) {
		ck_assert_int_eq(mkfifoat(place, ".gbe-tmp.file", 0666), 0);
	} else {
		ck_assert_int_eq(symlinkat("victim", place, "file"), 0);
	}
	check_write("ours", 0600, GBE_WRITE_DURABLE);
	victim = content_of("victim");
	ck_assert_str_eq(victim, "precious");
	ck_assert_int_eq(stat_of("victim").st_mode & 07777, 0644);
	ck_assert(is_there("dir/precious"));
}
END_TEST

START_TEST(nothing_is_inherited)
{
	g_autofree char *full = at("file");
	char value[256];

	if (!have_root("nothing_is_inherited"))
		return;
	ck_assert_int_eq(fchown(place, 4711, 4712), 0);
	ck_assert_int_eq(fchmod(place, 02775), 0);
	put_xattr(".", "system.posix_acl_default", some_acl, sizeof(some_acl));
	check_write("ours", 0600, GBE_WRITE_DURABLE);
	ck_assert_int_eq(lgetxattr(full, "system.posix_acl_access", value, sizeof(value)), -1);
}
END_TEST

static bool
write_new(const char *name, const char *text, GError **error)
{
	g_autoptr(GBytes) bytes = g_bytes_new(text, strlen(text));

	return gbe_write_new_at(place, name, gbe_write_bytes, bytes, error);
}

START_TEST(new_ones_replace_nothing)
{
	g_autoptr(GError) error = NULL;
	g_autofree char *bytes = NULL;

	put_dir("dir", 0700);
	ck_assert_int_eq(symlinkat("elsewhere", place, "link"), 0);
	put_dir(".gbe-tmp.file", 0700);
	assert_ok(write_new("file", "ours", &error), error);
	for (const char *const *name = (const char *const[]){"file", "dir", "link", NULL};
	     *name != NULL; name++) {
		ck_assert(!write_new(*name, "another", &error));
		ck_assert_msg(strstr(error->message, *name) != NULL, "%s", error->message);
		g_clear_error(&error);
	}
	bytes = content_of("file");
	ck_assert_str_eq(bytes, "ours");
	ck_assert_int_eq(stat_of("file").st_mode & 07777, 0600);
	ck_assert(!is_there("elsewhere"));
}
END_TEST

START_TEST(what_cannot_be_written_leaves_the_old)
{
	g_autoptr(GError) error = NULL;
	g_autofree char *bytes = NULL;
	g_autofree char *much = g_malloc0(MIB);

	if (!own_mounts("what_cannot_be_written_leaves_the_old"))
		return;
	ck_assert_int_eq(mount("tmpfs", place_path, "tmpfs", 0, "size=256k"), 0);
	gbe_close_fd(&place);
	place = open(place_path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	check_write("old", 0600, GBE_WRITE_DURABLE);
	assert_fails(gbe_write_file_at(place, "file", much, MIB, 0600, GBE_WRITE_DURABLE, &error),
		     error, GBE_ERROR_NO_SPACE, "cannot write file");
	bytes = content_of("file");
	ck_assert_str_eq(bytes, "old");
	ck_assert(!is_there(".gbe-tmp.file"));
	ck_assert_int_eq(umount2(place_path, MNT_DETACH), 0);
	gbe_close_fd(&place);
	place = open(place_path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}
END_TEST

START_TEST(unlink_twice)
{
	g_autoptr(GError) error = NULL;

	put("file", "x");
	assert_ok(gbe_unlink_durable_at(place, "file", &error), error);
	ck_assert(!is_there("file"));
	assert_ok(gbe_unlink_durable_at(place, "file", &error), error);
	put_dir("dir", 0700);
	assert_fails(gbe_unlink_durable_at(place, "dir", &error), error, GBE_ERROR_FAILED, "dir");
}
END_TEST

START_TEST(broken_ones_are_kept)
{
	g_autoptr(GError) error = NULL;

	for (guint i = 1; i <= 11; i++) {
		g_autofree char *text = g_strdup_printf("broken %u", i);
		g_autofree char *wanted = g_strdup_printf("state.broken-%u", MIN(i, 9));
		g_autofree char *kept = NULL;
		g_autofree char *bytes = NULL;

		put("state", text);
		assert_ok(gbe_set_broken_aside_at(place, "state", &kept, &error), error);
		ck_assert_str_eq(kept, wanted);
		ck_assert(!is_there("state"));
		bytes = content_of(kept);
		ck_assert_str_eq(bytes, text);
	}
	{
		g_autofree char *first = content_of("state.broken-1");

		ck_assert_str_eq(first, "broken 1");
	}
	ck_assert(!is_there("state.broken-10"));
	assert_fails(gbe_set_broken_aside_at(place, "state", NULL, &error), error,
		     GBE_ERROR_NOT_FOUND, "state");
}
END_TEST

START_TEST(what_was_cut_short_is_swept)
{
	g_autofree char *content = NULL;

	put("file", "content");
	put(".gbe-other", "not of a write");
	put(".gbe-tmp.file", "cont");
	put_dir(".gbe-tmp.dir", 0700);
	put(".gbe-tmp.dir/in it", "x");
	ck_assert_int_eq(symlinkat("file", place, ".gbe-tmp.link"), 0);
	ck_assert(gbe_sweep_writes_at(place, "place", NULL));
	ck_assert(!is_there(".gbe-tmp.file"));
	ck_assert(!is_there(".gbe-tmp.dir"));
	ck_assert(!is_there(".gbe-tmp.link"));
	ck_assert(is_there(".gbe-other"));
	content = content_of("file");
	ck_assert_str_eq(content, "content");
}
END_TEST

START_TEST(syncing_names_what_it_could_not)
{
	g_autoptr(GError) error = NULL;
	gbe_autofd int fd = -1;

	put("file", "x");
	fd = openat(place, "file", O_WRONLY | O_CLOEXEC);
	assert_ok(gbe_sync_file(fd, "file", &error), error);
	assert_ok(gbe_sync_dir(place, "dir", &error), error);
	assert_ok(gbe_sync_fs(place, "fs", &error), error);
	gbe_close_fd(&fd);
	assert_fails(gbe_sync_file(fd, "the file", &error), error, GBE_ERROR_FAILED, "the file");
	assert_fails(gbe_sync_fs(fd, "the disk", &error), error, GBE_ERROR_FAILED, "the disk");
}
END_TEST

#ifdef GBE_FAULTS
static int
write_in_child(const char *fault, GbeWrite how)
{
	g_autoptr(GError) error = NULL;
	int status = 0;
	pid_t pid = fork();

	if (pid == 0) {
		g_setenv("GREENBOOT_ETCD_FAULT", fault, true);
		_exit(gbe_write_file_at(place, "file", "new", 3, 0600, how, &error) ? 0 : 1);
	}
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	return status;
}

/* Killed or failing anywhere: the old file or the new one, and the next write succeeds. */
START_TEST(old_or_new)
{
	static const struct {
		const char *point;
		const char *content;
	} points[] = {
	    {"write-created", "old"}, {"write-written", "old"},	   {"write-file-synced", "old"},
	    {"write-renamed", "new"}, {"write-dir-synced", "new"},
	};

	for (gsize i = 0; i < G_N_ELEMENTS(points); i++)
		for (gsize kill = 0; kill < 2; kill++) {
			g_autofree char *fault =
			    g_strconcat(points[i].point, kill == 1 ? "=kill" : "=EIO", NULL);
			g_autofree char *bytes = NULL;
			int status;

			/* Passes are counted per process: not by our own writer. */
			put("file", "old");
			status = write_in_child(fault, GBE_WRITE_DURABLE);
			ck_assert(kill == 1 ? WIFSIGNALED(status) : WEXITSTATUS(status) == 1);
			bytes = content_of("file");
			ck_assert_str_eq(bytes, points[i].content);
			if (kill == 0)
				ck_assert(!is_there(".gbe-tmp.file"));
		}
	check_write("after all", 0600, GBE_WRITE_DURABLE);
}
END_TEST

static bool
place_is_empty(void)
{
	g_autoptr(GDir) dir = g_dir_open(place_path, 0, NULL);

	return g_dir_read_name(dir) == NULL;
}

/* Killed or failing anywhere: the whole file or nothing. */
START_TEST(new_or_nothing)
{
	static const char *const points[] = {"write-created", "write-written", "write-named"};
	gbe_autofd int unnamed = openat(place, ".", O_RDWR | O_TMPFILE | O_CLOEXEC, 0600);

	for (gsize i = 0; i < G_N_ELEMENTS(points); i++)
		for (gsize kill = 0; kill < 2; kill++) {
			g_autofree char *fault =
			    g_strconcat(points[i], kill == 1 ? "=kill" : "=EIO", NULL);
			g_autofree char *bytes = NULL;
			int status;
			pid_t pid = fork();

			if (pid == 0) {
				g_setenv("GREENBOOT_ETCD_FAULT", fault, true);
				_exit(write_new("file", "new", NULL) ? 0 : 1);
			}
			ck_assert_int_eq(waitpid(pid, &status, 0), pid);
			ck_assert(kill == 1 ? WIFSIGNALED(status) : WEXITSTATUS(status) == 1);
			if (i < 2) {
				ck_assert(place_is_empty() || (kill == 1 && unnamed < 0));
				continue;
			}
			bytes = content_of("file");
			ck_assert_str_eq(bytes, "new");
			ck_assert_int_eq(unlinkat(place, "file", 0), 0);
		}
}
END_TEST
#endif

int
main(void)
{
	Suite *suite = suite_create("fs-write");
	TCase *tcase = place_case(suite, "write");

	tcase_add_test(tcase, new_and_again);
	tcase_add_test(tcase, any_bytes_and_many);
	tcase_add_loop_test(tcase, links_are_not_followed, 0, 5);
	tcase_add_test(tcase, nothing_is_inherited);
	tcase_add_test(tcase, new_ones_replace_nothing);
	tcase_add_test(tcase, what_cannot_be_written_leaves_the_old);
	tcase_add_test(tcase, unlink_twice);
	tcase_add_test(tcase, broken_ones_are_kept);
	tcase_add_test(tcase, syncing_names_what_it_could_not);
	tcase_add_test(tcase, what_was_cut_short_is_swept);
#ifdef GBE_FAULTS
	tcase_add_test(tcase, old_or_new);
	tcase_add_test(tcase, new_or_nothing);
#endif
	return gbe_unit_main(suite);
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * look ROOT: what a device has of etcd's data, by content. A line each:
 *
 *   data DIGEST|none           the data directory, without the nonce
 *   backup NAME DIGEST         each named backup that has data; and "kept", what --keep-existing kept
 *   hidden NAME DIGEST         a tree that has no name yet: staged, displaced or half a copy
 *   left PATH                  what only an operation under way may have
 *   torn PATH                  a record or a manifest that has its name, and is not whole
 *   all DIGEST                 everything in data directory, state and store
 *
 * A tree's digest is over names, types, modes, owners, xattrs, sizes, times of files, and content. The content is each
 * block of 4096 bytes that is not all zeros, so holes and zeros are equal. The digest of everything has no times, but
 * has inode numbers of directories: a moved tree is another state.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <glib.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#define BLOCK 4096
#define UNFINISHED ".gbe-"
#define NONCE ".greenboot-etcd-owner"
#define LEDGER "ledger"
#define DATA "var/lib/etcd"
#define STATE "var/lib/greenboot-etcd"
#define KEPT "var/kept" /* restore --keep-existing */

typedef enum { AS_TREE, AS_STATE } How;

static void G_GNUC_NORETURN
die(const char *what, const char *name)
{
	fprintf(stderr, "look: %s %s: %s\n", what, name, g_strerror(errno));
	exit(1);
}

static void
add(GChecksum *sum, const void *bytes, gsize size)
{
	g_checksum_update(sum, bytes, (gssize)size);
}

static void
add_content(GChecksum *sum, int fd, const char *name)
{
	static const char zeros[BLOCK];
	char block[BLOCK];
	off_t at = 0;

	/* Reserved blocks that were never written count as data once they are read ahead. */
	(void)posix_fadvise(fd, 0, 0, POSIX_FADV_RANDOM);
	while ((at = lseek(fd, at, SEEK_DATA)) >= 0) {
		ssize_t got;

		at -= at % BLOCK;
		got = pread(fd, block, BLOCK, at);
		if (got < 0)
			die("read", name);
		if (got == 0)
			break;
		if (memcmp(block, zeros, (gsize)got) != 0) {
			add(sum, &at, sizeof at);
			add(sum, block, (gsize)got);
		}
		at += BLOCK;
	}
	if (at < 0 && errno != ENXIO)
		die("seek in", name);
}

static void
add_xattrs(GChecksum *sum, int fd, const char *name)
{
	char names[4096], value[4096];
	ssize_t size = flistxattr(fd, names, sizeof names);
	g_autoptr(GPtrArray) sorted = g_ptr_array_new();

	if (size < 0 && errno != EOPNOTSUPP)
		die("list xattrs of", name);
	for (ssize_t at = 0; at < size; at += (ssize_t)strlen(names + at) + 1)
		g_ptr_array_add(sorted, names + at);
	g_ptr_array_sort(sorted, (GCompareFunc)(void (*)(void))g_strcmp0);
	for (guint n = 0; n < sorted->len; n++) {
		ssize_t got = fgetxattr(fd, sorted->pdata[n], value, sizeof value);

		if (got < 0)
			die("read an xattr of", name);
		add(sum, sorted->pdata[n], strlen(sorted->pdata[n]) + 1);
		add(sum, value, (gsize)got);
	}
}

static gint
by_name(gconstpointer a, gconstpointer b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static GPtrArray *
list(int dir_fd, const char *name)
{
	GPtrArray *names = g_ptr_array_new_with_free_func(g_free);
	DIR *dir = fdopendir(dup(dir_fd));
	struct dirent *entry;

	if (dir == NULL)
		die("list", name);
	rewinddir(dir);
	while ((entry = readdir(dir)) != NULL)
		if (!g_str_equal(entry->d_name, ".") && !g_str_equal(entry->d_name, ".."))
			g_ptr_array_add(names, g_strdup(entry->d_name));
	(void)closedir(dir);
	g_ptr_array_sort(names, by_name);
	return names;
}

/* The digest leaves out the data's owner. The lock records the last owner. */
static bool
is_ours(const char *name, How how)
{
	if (how == AS_STATE)
		return g_str_equal(name, "lock");
	return g_str_equal(name, NONCE) || g_str_has_prefix(name, UNFINISHED);
}

/* Each start says that it began and ended, and what it did, also when that was nothing. */
static void
add_ledger(GChecksum *sum, int state_fd)
{
	static const char *const said[] = {"\"kind\":\"start\"", "\"kind\":\"end\"",
					   "\"kind\":\"operation\""};
	int fd = openat(state_fd, LEDGER, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	FILE *file = fd >= 0 ? fdopen(fd, "r") : NULL;
	char *line = NULL;
	size_t room = 0;

	if (file == NULL)
		die("open", LEDGER);
	while (getline(&line, &room, file) >= 0) {
		bool counts = true;

		for (guint n = 0; n < G_N_ELEMENTS(said); n++)
			counts = counts && strstr(line, said[n]) == NULL;
		if (counts)
			add(sum, line, strlen(line));
	}
	free(line);
	(void)fclose(file);
}

static void
add_entry(GChecksum *sum, int fd, const char *name, How how, guint depth)
{
	struct stat st;
	char line[256];

	if (fstat(fd, &st) < 0)
		die("look at", name);
	(void)snprintf(line, sizeof line, "%o %u:%u %jd %jd.%ld %ju", st.st_mode, st.st_uid,
		       st.st_gid, S_ISDIR(st.st_mode) ? 0 : (intmax_t)st.st_size,
		       how == AS_TREE && S_ISREG(st.st_mode) ? (intmax_t)st.st_mtim.tv_sec : 0,
		       how == AS_TREE && S_ISREG(st.st_mode) ? st.st_mtim.tv_nsec : 0,
		       how == AS_STATE && S_ISDIR(st.st_mode) ? (uintmax_t)st.st_ino : 0);
	/* The root of a tree may be called anything. */
	if (depth > 0)
		add(sum, name, strlen(name) + 1);
	add(sum, line, strlen(line) + 1);
	add_xattrs(sum, fd, name);
	if (S_ISDIR(st.st_mode)) {
		g_autoptr(GPtrArray) names = list(fd, name);

		for (guint n = 0; n < names->len; n++) {
			const char *child = names->pdata[n];
			int child_fd;

			if (depth == 0 && is_ours(child, how))
				continue;
			if (depth == 0 && how == AS_STATE && g_str_equal(child, LEDGER)) {
				add_ledger(sum, fd);
				continue;
			}
			child_fd =
			    openat(fd, child, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
			if (child_fd < 0)
				die("open", child);
			add_entry(sum, child_fd, child, how, depth + 1);
			(void)close(child_fd);
		}
		add(sum, "/", 2);
	} else if (S_ISREG(st.st_mode)) {
		add_content(sum, fd, name);
	}
}

/* True when it is there. */
static bool
digest(GChecksum *sum, int dir_fd, const char *name, How how)
{
	int fd = openat(dir_fd, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);

	if (fd < 0) {
		if (errno != ENOENT)
			die("open", name);
		return false;
	}
	add_entry(sum, fd, name, how, 0);
	(void)close(fd);
	return true;
}

static void
say_tree(const char *word, const char *name, int dir_fd, const char *path)
{
	g_autoptr(GChecksum) sum = g_checksum_new(G_CHECKSUM_SHA256);

	if (digest(sum, dir_fd, path, AS_TREE))
		printf("%s %s%s%.20s\n", word, name, *name != '\0' ? " " : "",
		       g_checksum_get_string(sum));
	else if (g_str_equal(word, "data"))
		printf("data none\n");
}

/* Such a name belongs to an unfinished operation. */
static bool
unfinished(const char *name)
{
	return g_str_has_prefix(name, ".partial-") || g_str_has_prefix(name, ".pending-") ||
	       g_str_has_prefix(name, ".restore-") || g_str_has_prefix(name, UNFINISHED) ||
	       g_str_equal(name, "intent") || g_str_equal(name, "starts");
}

static void
say_unfinished_manifest(int store_fd, const char *path, const char *name)
{
	g_autofree char *tmp = g_build_filename(name, UNFINISHED "tmp.manifest.json", NULL);

	if (faccessat(store_fd, tmp, F_OK, AT_SYMLINK_NOFOLLOW) == 0)
		printf("left %s/%s\n", path, tmp);
}

/* JSON, with or without a checksum after it. A power cut may lose the length, or leave a block of zeros. */
static void
say_torn(int dir_fd, const char *path, const char *name)
{
	int fd = openat(dir_fd, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	struct stat st;
	char ends[2] = {0};

	if (fd < 0) {
		if (errno == ENOENT || errno == ENOTDIR)
			return;
		die("open", name);
	}
	if (fstat(fd, &st) < 0)
		die("look at", name);
	if (st.st_size == 0 || pread(fd, &ends[0], 1, 0) != 1 ||
	    pread(fd, &ends[1], 1, st.st_size - 1) != 1 || ends[0] != '{' || ends[1] == '\0')
		printf("torn %s/%s\n", path, name);
	(void)close(fd);
}

static void
say_all_torn(int root_fd)
{
	int state_fd = openat(root_fd, STATE, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int store_fd = openat(root_fd, STATE "/backups", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (store_fd >= 0) {
		g_autoptr(GPtrArray) names = list(store_fd, STATE);

		for (guint n = 0; n < names->len; n++) {
			g_autofree char *name =
			    g_build_filename(names->pdata[n], "manifest.json", NULL);

			if (*name != '.')
				say_torn(store_fd, STATE "/backups", name);
		}
		(void)close(store_fd);
	}
	if (state_fd >= 0)
		(void)close(state_fd);
}

/* Below the state and the store, and next to the data; not in trees. */
static void
say_names(int root_fd, const char *path, bool store)
{
	int fd = openat(root_fd, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	g_autoptr(GPtrArray) names = NULL;

	if (fd < 0)
		return;
	names = list(fd, path);
	for (guint n = 0; n < names->len; n++) {
		const char *name = names->pdata[n];
		g_autofree char *data = g_build_filename(name, "data", NULL);

		if (unfinished(name))
			printf("left %s/%s\n", path, name);
		if (store)
			say_unfinished_manifest(fd, path, name);
		if (g_str_has_prefix(name, ".restore-"))
			say_tree("hidden", name, fd, name);
		else if (store)
			say_tree(*name == '.' ? "hidden" : "backup", name, fd, data);
	}
	(void)close(fd);
}

static void
add_names(GChecksum *sum, int root_fd, const char *path)
{
	int fd = openat(root_fd, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	g_autoptr(GPtrArray) names = list(fd, path);

	for (guint n = 0; n < names->len; n++)
		add(sum, names->pdata[n], strlen(names->pdata[n]) + 1);
	(void)close(fd);
}

int
main(int argc, char **argv)
{
	g_autoptr(GChecksum) sum = g_checksum_new(G_CHECKSUM_SHA256);
	int root_fd;

	if (argc != 2) {
		fprintf(stderr, "usage: %s ROOT\n", argv[0]);
		return 2;
	}
	root_fd = open(argv[1], O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (root_fd < 0)
		die("open", argv[1]);
	say_tree("data", "", root_fd, DATA);
	say_tree("backup", "kept", root_fd, KEPT);
	say_names(root_fd, DATA, false);
	say_names(root_fd, "var/lib", false);
	say_names(root_fd, STATE, false);
	say_names(root_fd, STATE "/runs", false);
	say_names(root_fd, STATE "/backups", true);
	say_all_torn(root_fd);
	(void)digest(sum, root_fd, DATA, AS_STATE);
	(void)digest(sum, root_fd, STATE, AS_STATE);
	(void)digest(sum, root_fd, KEPT, AS_STATE);
	add_names(sum, root_fd, "var/lib");
	printf("all %.20s\n", g_checksum_get_string(sum));
	return 0;
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "fs/copy/clone.h"

#include "base/fault.h"
#include "fs/copy/clone-file.h"
#include "fs/copy/extents.h"
#include "fs/copy/metadata.h"
#include "fs/exchange.h"
#include "fs/open.h"
#include "fs/probe.h"
#include "fs/tree.h"
#include "fs/write.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/limits.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* The first name, in the copy, of a file with several names. The tree's owner decides on the number of such files and
 * the length of their paths. So each directory is stored once, by its name. */
typedef struct Place Place;
struct Place {
	Place *above; /* NULL: the top */
	char name[];
};

/* A directory and its copy, while its entries are copied. */
typedef struct {
	int src;
	int dst;
	struct stat st;
	char *what;
	Place *place; /* borrowed; NULL: the top, or not needed so far */
} Level;

typedef struct {
	const GbeCloneOptions *options;
	GbeFileCloner file;
	Level levels[GBE_TREE_MAX_DEPTH + 1];
	guint depth;	   /* levels in use; the first is the top */
	int pass;	   /* index into options->first; -1: the last pass, for the rest */
	GHashTable *links; /* GbeInode -> Place, in the copy; borrowed */
	GPtrArray *places; /* all of them */
	GbeMethod method;
	guint64 written;
	bool shares; /* some file was cloned */
	bool btrfs;  /* source and copy are on btrfs */
} Clone;

static void
level_clear(Level *level)
{
	gbe_close_fd(&level->src);
	gbe_close_fd(&level->dst);
	g_free(level->what);
}

static void
clone_clear(Clone *clone)
{
	while (clone->depth > 0)
		level_clear(&clone->levels[--clone->depth]);
	gbe_file_cloner_clear(&clone->file);
	g_clear_pointer(&clone->links, g_hash_table_unref);
	g_clear_pointer(&clone->places, g_ptr_array_unref);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Clone, clone_clear)

static bool
is_same(const struct stat *a, const struct stat *b)
{
	return a->st_dev == b->st_dev && a->st_ino == b->st_ino &&
	       (a->st_mode & S_IFMT) == (b->st_mode & S_IFMT);
}

static bool
throw_exchanged(GError **error, const char *what)
{
	return gbe_throw(error, GBE_ERROR_UNSAFE_SOURCE, "%s was exchanged while it was copied",
			 what);
}

/* O_NOATIME keeps the access time, where we may use it. */
static bool
open_source(int dir_fd, const char *name, const struct stat *seen, const char *what, int *ret_fd,
	    struct stat *ret_st, GError **error)
{
	const int flags = O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC;
	gbe_autofd int fd = openat(dir_fd, name, flags | O_NOATIME);

	if (fd < 0 && errno == EPERM)
		fd = openat(dir_fd, name, flags);
	if (fd < 0 && errno == ELOOP)
		return throw_exchanged(error, what);
	if (fd < 0 || fstat(fd, ret_st) < 0)
		return gbe_throw_errno(error, errno, "cannot open %s", what);
	if (!is_same(ret_st, seen))
		return throw_exchanged(error, what);
	*ret_fd = gbe_steal_fd(&fd);
	return true;
}

/* Makes the directory the innermost level. Takes the descriptors, also on failure. */
static bool
enter_level(Clone *clone, int src_fd, int dst_fd, const struct stat *st, const char *what,
	    GError **error)
{
	Level *level = &clone->levels[clone->depth++];

	*level = (Level){.src = src_fd, .dst = dst_fd, .st = *st, .what = g_strdup(what)};
	return gbe_metadata_prepare(src_fd, dst_fd, clone->btrfs, what, error);
}

static bool
leave_level(Clone *clone, GError **error)
{
	Level *level = &clone->levels[clone->depth - 1];

	/* Mode, default ACL and times are set when no more entries come into the directory. */
	if (clone->pass < 0 &&
	    !gbe_metadata_copy(level->src, level->dst, &level->st, level->what, error))
		return false;
	level_clear(level);
	clone->depth--;
	return !GBE_FAULT("clone-dir-done", error);
}

static bool
clone_dir(Clone *clone, int dir_fd, const char *name, const struct stat *seen, const char *what,
	  GError **error)
{
	const Level *above = &clone->levels[clone->depth - 1];
	gbe_autofd int src_fd = -1;
	gbe_autofd int dst_fd = -1;
	struct stat st;

	if (!gbe_open_dir_at(dir_fd, name, &src_fd, error))
		return false;
	if (fstat(src_fd, &st) < 0)
		return gbe_throw_errno(error, errno, "cannot look at %s", what);
	if (!is_same(&st, seen))
		return throw_exchanged(error, what);
	/* An earlier pass may have made it. */
	if (mkdirat(above->dst, name, 0700) < 0 &&
	    (errno != EEXIST || clone->options->first == NULL))
		return gbe_throw_errno(error, errno, "cannot make the copy of %s", what);
	if (!gbe_open_dir_at(above->dst, name, &dst_fd, error))
		return false;
	if (GBE_FAULT("clone-dir-made", error))
		return false;
	return enter_level(clone, gbe_steal_fd(&src_fd), gbe_steal_fd(&dst_fd), &st, what, error);
}

/* Adds to the places that @clone owns. */
static Place *
place_new(Clone *clone, Place *above, const char *name, gsize len)
{
	Place *place = g_malloc(sizeof(Place) + len + 1);

	place->above = above;
	memcpy(place->name, name, len);
	place->name[len] = '\0';
	g_ptr_array_add(clone->places, place);
	return place;
}

/* Opens the directory in the copy that holds @place, name by name, because its path may be longer than the kernel
 * takes. */
static bool
open_above(const Clone *clone, const Place *place, int *ret_fd, GError **error)
{
	const Place *way[GBE_TREE_MAX_DEPTH];
	gbe_autofd int fd = -1;
	guint n = 0;

	for (const Place *at = place->above; at != NULL; at = at->above)
		way[n++] = at;
	if (!gbe_open_dir_at(clone->levels[0].dst, ".", &fd, error))
		return false;
	while (n > 0) {
		int above = fd;
		bool ok = gbe_open_dir_at(above, way[--n]->name, &fd, error);

		(void)close(above);
		if (!ok) {
			fd = -1;
			return false;
		}
	}
	*ret_fd = gbe_steal_fd(&fd);
	return true;
}

/* *ret_linked: the entry is another name of a file that was copied before. @path has the names of the directories above
 * it. */
static bool
clone_link(Clone *clone, const char *path, const char *name, const struct stat *st,
	   const char *what, bool *ret_linked, GError **error)
{
	GbeInode inode = {.dev = st->st_dev, .ino = st->st_ino};
	gbe_autofd int first_fd = -1;
	const Place *first;
	Place *above = NULL;

	*ret_linked = false;
	if (st->st_nlink < 2)
		return true;
	first = g_hash_table_lookup(clone->links, &inode);
	if (first != NULL) {
		/* The copy's top is ours alone: no other user can enter the copy. */
		if (!open_above(clone, first, &first_fd, error))
			return gbe_prefix(error, "cannot link the copy of %s", what);
		if (linkat(first_fd, first->name, clone->levels[clone->depth - 1].dst, name, 0) < 0)
			return gbe_throw_errno(error, errno, "cannot link the copy of %s", what);
		*ret_linked = true;
		return true;
	}
	for (guint i = 1; i < clone->depth; i++) {
		Level *level = &clone->levels[i];
		gsize len = strcspn(path, "/");

		if (level->place == NULL)
			level->place = place_new(clone, above, path, len);
		above = level->place;
		path += len + 1;
	}
	g_hash_table_insert(clone->links, g_memdup2(&inode, sizeof(inode)),
			    place_new(clone, above, name, strlen(name)));
	return true;
}

static bool
clone_regular(Clone *clone, const char *path, int dir_fd, const char *name, const struct stat *seen,
	      const char *what, GError **error)
{
	gbe_autofd int src_fd = -1;
	gbe_autofd int dst_fd = -1;
	GbeMethod method = GBE_METHOD_REFLINK;
	guint64 written = 0;
	struct stat st;
	bool linked = false;

	if (!clone_link(clone, path, name, seen, what, &linked, error) || linked)
		return linked;
	if (!open_source(dir_fd, name, seen, what, &src_fd, &st, error))
		return false;
	dst_fd = openat(clone->levels[clone->depth - 1].dst, name,
			O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (dst_fd < 0)
		return gbe_throw_errno(error, errno, "cannot create the copy of %s", what);
	if (GBE_FAULT("clone-file-created", error))
		return false;
	if (!gbe_metadata_prepare(src_fd, dst_fd, clone->btrfs, what, error))
		return false;
	if (!gbe_file_cloner_run(&clone->file, src_fd, dst_fd, &st, what, &method, &written, error))
		return false;
	if (!gbe_metadata_copy(src_fd, dst_fd, &st, what, error))
		return false;
	clone->method = MAX(clone->method, method);
	clone->written += written;
	if (method == GBE_METHOD_REFLINK && st.st_size > 0)
		clone->shares = true;
	return !GBE_FAULT("clone-file-done", error);
}

static bool
clone_symlink(Clone *clone, int dir_fd, const char *name, const struct stat *st, const char *what,
	      GError **error)
{
	int dst_fd = clone->levels[clone->depth - 1].dst;
	g_autofree char *target = g_malloc(PATH_MAX);
	ssize_t len = readlinkat(dir_fd, name, target, PATH_MAX);

	if (len < 0 && errno == EINVAL)
		return throw_exchanged(error, what);
	if (len < 0)
		return gbe_throw_errno(error, errno, "cannot read the symlink %s", what);
	if (len == PATH_MAX)
		return gbe_throw_errno(error, ENAMETOOLONG, "cannot read the symlink %s", what);
	target[len] = '\0';
	if (symlinkat(target, dst_fd, name) < 0)
		return gbe_throw_errno(error, errno, "cannot make the copy of the symlink %s",
				       what);
	return gbe_metadata_copy_link_at(dir_fd, name, dst_fd, name, st, what, error);
}

static bool
is_below(const char *path, const char *above)
{
	gsize len = strlen(above);

	return strncmp(path, above, len) == 0 && (path[len] == '/' || path[len] == '\0');
}

/* Is @path copied in this pass? A directory is due in every pass that needs it. */
static bool
is_due(const Clone *clone, const char *path, bool directory)
{
	const char *const *first = clone->options->first;
	int pass = -1;

	if (first == NULL)
		return true;
	for (int i = 0; first[i] != NULL && pass < 0; i++)
		if (is_below(path, first[i]))
			pass = i;
	if (pass == clone->pass)
		return true;
	return directory && (clone->pass < 0 || is_below(first[clone->pass], path));
}

static bool
clone_visit(const char *path, int dir_fd, const char *name, const struct stat *st, gpointer data,
	    GError **error)
{
	Clone *clone = data;
	g_autofree char *what = NULL;
	guint depth = 1;

	if (!is_due(clone, path, S_ISDIR(st->st_mode)))
		return true;
	for (const char *at = path; *at != '\0'; at++)
		if (*at == '/')
			depth++;
	while (clone->depth > depth)
		if (!leave_level(clone, error))
			return false;
	what = gbe_path_to_text(path);
	switch (st->st_mode & S_IFMT) {
	case S_IFDIR:
		return clone_dir(clone, dir_fd, name, st, what, error);
	case S_IFREG:
		return clone_regular(clone, path, dir_fd, name, st, what, error);
	case S_IFLNK:
		return clone_symlink(clone, dir_fd, name, st, what, error);
	case S_IFSOCK:
		return true;
	default:
		/* The scan saw no such entry. */
		return throw_exchanged(error, what);
	}
}

static bool
clone_pass(Clone *clone, int pass, int src_fd, int dst_fd, GError **error)
{
	gbe_autofd int src = -1;
	gbe_autofd int dst = -1;
	struct stat st;

	clone->pass = pass;
	if (!gbe_open_dir_at(src_fd, ".", &src, error) ||
	    !gbe_open_dir_at(dst_fd, ".", &dst, error))
		return false;
	if (fstat(src, &st) < 0)
		return gbe_throw_errno(error, errno, "cannot look at the top of the tree");
	if (!enter_level(clone, gbe_steal_fd(&src), gbe_steal_fd(&dst), &st, "the top of the tree",
			 error))
		return false;
	if (!gbe_tree_walk(src_fd, clone->options->exclude, NULL, clone_visit, clone, error))
		return false;
	while (clone->depth > 0)
		if (!leave_level(clone, error))
			return false;
	return true;
}

static bool
clone_files(int src_fd, int dst_fd, const GbeCloneOptions *options, GbeCloneResult *result,
	    GError **error)
{
	g_auto(Clone) clone = {
	    .options = options,
	    .file.options = options,
	    .links = g_hash_table_new_full(gbe_inode_hash, gbe_inode_equal, g_free, NULL),
	    .places = g_ptr_array_new_with_free_func(g_free),
	    .method = MAX(options->allowed, GBE_METHOD_REFLINK),
	    .btrfs = gbe_is_btrfs(src_fd) && gbe_is_btrfs(dst_fd),
	};

	if (!gbe_metadata_drop_acls(dst_fd, "the copy", error))
		return false;
	for (int i = 0; options->first != NULL && options->first[i] != NULL; i++)
		if (!clone_pass(&clone, i, src_fd, dst_fd, error))
			return false;
	if (!clone_pass(&clone, -1, src_fd, dst_fd, error))
		return false;
	result->method = clone.method;
	result->bytes_written = clone.written;
	result->compared = options->compare && !clone.shares;
	return true;
}

void
gbe_clone_result_clear(GbeCloneResult *result)
{
	gbe_tree_info_clear(&result->info);
	*result = (GbeCloneResult){0};
}

static bool
remove_excluded(int src_fd, int dst_fd, const GbeCloneOptions *options, GError **error)
{
	struct stat st;

	for (int i = 0; options->exclude[i] != NULL; i++)
		if (!gbe_remove_tree_at(dst_fd, options->exclude[i], error))
			return false;
	if (GBE_FAULT("clone-excluded-removed", error))
		return false;
	if (fstat(src_fd, &st) < 0 ||
	    futimens(dst_fd, (const struct timespec[]){st.st_atim, st.st_mtim}) < 0)
		return gbe_throw_errno(error, errno, "cannot set the times of a snapshot");
	return !options->read_only || gbe_subvolume_set_read_only(dst_fd, true, error);
}

/* A snapshot costs one commit, two where an excluded entry has to be removed again. Cloning files costs time for
 * each extent. At about this number both take the same time. */
#define FEW_EXTENTS 256

/* *ret_done false: no snapshot can be made here, and nothing was made. */
static bool
try_snapshot(int src_fd, int dst_parent, const char *dst, const GbeCloneOptions *options,
	     bool *ret_done, GError **error)
{
	g_autoptr(GError) local_error = NULL;
	gbe_autofd int dst_fd = -1;
	bool excluded = false, pays = true, done;
	struct stat st;

	*ret_done = false;
	/* A snapshot would copy an excluded entry, which is then removed before the snapshot becomes read-only. */
	for (int i = 0; options->exclude != NULL && options->exclude[i] != NULL; i++)
		if (fstatat(src_fd, options->exclude[i], &st, AT_SYMLINK_NOFOLLOW) == 0)
			excluded = true;
	if (!options->atomic &&
	    !gbe_extents_exceed(src_fd, options->exclude, FEW_EXTENTS, &pays, &local_error) &&
	    !gbe_pass_unless(error, &local_error, GBE_ERROR_UNSUPPORTED))
		return false;
	if (!pays)
		return true;
	g_clear_error(&local_error);
	if (!gbe_subvolume_snapshot_at(src_fd, dst_parent, dst, options->read_only && !excluded,
				       &local_error))
		return gbe_pass_unless(error, &local_error, GBE_ERROR_UNSUPPORTED);
	done = !GBE_FAULT("clone-snapshot-made", error) &&
	       gbe_open_dir_at(dst_parent, dst, &dst_fd, error) &&
	       (!excluded || remove_excluded(src_fd, dst_fd, options, error));
	if (!done)
		(void)!gbe_remove_tree_at(dst_parent, dst, NULL);
	*ret_done = done;
	return done;
}

/* A copy of a subvolume is a subvolume, so that it can be snapshotted next time. */
static bool
make_root(int dst_parent, const char *dst, bool subvolume, GError **error)
{
	g_autoptr(GError) local_error = NULL;

	if (subvolume) {
		if (gbe_subvolume_create_at(dst_parent, dst, &local_error))
			return true;
		if (!gbe_pass_unless(error, &local_error, GBE_ERROR_UNSUPPORTED))
			return false;
	}
	if (mkdirat(dst_parent, dst, 0700) < 0)
		return gbe_throw_errno(error, errno, "cannot make the directory %s", dst);
	return true;
}

bool
gbe_clone_tree_at(int src_parent, const char *src, int dst_parent, const char *dst,
		  const GbeCloneOptions *options, GbeCloneResult *ret_result, GError **error)
{
	g_auto(GbeCloneResult) result = {0};
	gbe_autofd int src_fd = -1;
	gbe_autofd int dst_fd = -1;
	bool subvolume, snapshot = false;

	if (!gbe_open_dir_at(src_parent, src, &src_fd, error))
		return false;
	if (!gbe_tree_scan(src_fd, options->exclude, NULL, &result.info, error))
		return gbe_prefix(error, "cannot clone %s", src);
	subvolume = options->allowed == GBE_METHOD_SNAPSHOT && gbe_is_subvolume(src_fd) &&
		    gbe_same_filesystem(src_fd, dst_parent);
	if (subvolume && !try_snapshot(src_fd, dst_parent, dst, options, &snapshot, error))
		return gbe_prefix(error, "cannot clone %s", src);
	if (snapshot) {
		/* A snapshot also has the sockets. */
		g_ptr_array_set_size(result.info.left_out, 0);
		result.method = GBE_METHOD_SNAPSHOT;
	} else {
		if (!make_root(dst_parent, dst, subvolume, error))
			return gbe_prefix(error, "cannot clone %s", src);
		if (!gbe_open_dir_at(dst_parent, dst, &dst_fd, error) ||
		    !clone_files(src_fd, dst_fd, options, &result, error)) {
			/* A copy that cannot be removed has a name that is swept. */
			(void)!gbe_remove_tree_at(dst_parent, dst, NULL);
			return gbe_prefix(error, "cannot clone %s", src);
		}
	}
	*ret_result = result;
	result = (GbeCloneResult){0};
	return true;
}

bool
gbe_clone_top_at(int src_fd, int dst_parent, const char *dst, bool subvolume, GError **error)
{
	gbe_autofd int dst_fd = -1;
	struct stat st;

	if (fstat(src_fd, &st) < 0)
		return gbe_throw_errno(error, errno, "cannot look at the top of the tree");
	if (!make_root(dst_parent, dst, subvolume && gbe_is_subvolume(src_fd), error))
		return false;
	if (!gbe_open_dir_at(dst_parent, dst, &dst_fd, error) ||
	    !gbe_metadata_drop_acls(dst_fd, dst, error))
		return false;
	return gbe_metadata_prepare(src_fd, dst_fd, gbe_is_btrfs(src_fd) && gbe_is_btrfs(dst_fd),
				    dst, error) &&
	       gbe_metadata_copy(src_fd, dst_fd, &st, dst, error);
}

bool
gbe_clone_probe(int src_fd, int dst_dir, GError **error)
{
	g_autofree char *new = g_strdup_printf(GBE_TMP_PREFIX "probe-new-%d", getpid());
	g_autofree char *kept = g_strdup_printf(GBE_TMP_PREFIX "probe-kept-%d", getpid());
	g_autoptr(GError) local = NULL;
	bool lacks;

	lacks = (!gbe_clone_top_at(src_fd, dst_dir, new, false, &local) ||
		 !gbe_rename_new_at(dst_dir, new, dst_dir, kept, &local)) &&
		g_error_matches(local, GBE_ERROR, GBE_ERROR_UNSUPPORTED);
	(void)unlinkat(dst_dir, new, AT_REMOVEDIR);
	(void)unlinkat(dst_dir, kept, AT_REMOVEDIR);
	if (lacks)
		g_propagate_error(error, g_steal_pointer(&local));
	return !lacks;
}

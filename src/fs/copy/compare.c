/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "fs/copy/compare.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/limits.h>
#include <string.h>
#include <unistd.h>

#include "base/sha256.h"
#include "core/record/take-over.h"
#include "fs/copy/extents.h"
#include "fs/copy/metadata.h"
#include "fs/open.h"
#include "fs/probe.h"

/* ---- the content of two files ---- */

void
gbe_file_comparer_clear(GbeFileComparer *comparer)
{
	g_clear_pointer(&comparer->buffers[0], g_free);
	g_clear_pointer(&comparer->buffers[1], g_free);
}

static void
make_buffers(GbeFileComparer *comparer)
{
	for (guint i = 0; i < G_N_ELEMENTS(comparer->buffers); i++)
		if (comparer->buffers[i] == NULL)
			comparer->buffers[i] = g_malloc(GBE_COMPARE_BUFFER);
}

static bool
report_compared(const GbeFileComparer *comparer, guint64 in_file, const char *what, GError **error)
{
	if (comparer->progress == NULL ||
	    comparer->progress(comparer->done + in_file, comparer->progress_data))
		return true;
	return gbe_throw(error, GBE_ERROR_FAILED, "%s: cancelled", what);
}

bool
gbe_file_comparer_range(GbeFileComparer *comparer, int src_fd, int dst_fd, guint64 offset,
			guint64 end, const char *what, GError **error)
{
	make_buffers(comparer);
	while (offset < end) {
		gsize size = (gsize)MIN(end - offset, GBE_COMPARE_BUFFER);
		gsize a = 0, b = 0;

		if (!gbe_read_at(src_fd, comparer->buffers[0], size, offset, &a, what, error) ||
		    !gbe_read_at(dst_fd, comparer->buffers[1], size, offset, &b, what, error))
			return false;
		if (a != size || b != size)
			return gbe_throw(error, GBE_ERROR_VERIFY_FAILED,
					 "%s: one of the two became shorter while they were "
					 "compared",
					 what);
		if (memcmp(comparer->buffers[0], comparer->buffers[1], size) != 0)
			return gbe_throw(error, GBE_ERROR_VERIFY_FAILED,
					 "%s: the content differs between byte %" G_GUINT64_FORMAT
					 " and %" G_GUINT64_FORMAT,
					 what, offset, offset + size);
		offset += size;
		if (!report_compared(comparer, offset, what, error))
			return false;
	}
	return true;
}

/* Reads no place where both files have a hole. */
static bool
compare_bytes(GbeFileComparer *comparer, int src_fd, int dst_fd, guint64 size, const char *what,
	      GError **error)
{
	guint64 offset = 0;

	while (offset < size) {
		guint64 src = 0, src_end = 0, dst = 0, dst_end = 0, start, end;

		if (!gbe_next_data(src_fd, offset, size, &src, &src_end, what, error) ||
		    !gbe_next_data(dst_fd, offset, size, &dst, &dst_end, what, error))
			return false;
		start = MIN(src, dst);
		end = src <= dst ? src_end : dst_end;
		if (!gbe_file_comparer_range(comparer, src_fd, dst_fd, start, end, what, error))
			return false;
		offset = MAX(end, start);
	}
	return true;
}

/* One of the two lists of extents, with the rest of the present extent that is not matched yet. */
typedef struct {
	guint64 logical;
	guint64 physical;
	guint64 left;
	bool shared;
	bool end;
	guint64 start; /* of the range */
	guint listed;  /* extents so far */
	GbeFiemap fiemap;
} Extents;

/* To list an extent of a cloned file, the file system looks up whether it is shared. That costs a good part of what
 * cloning costs. So of a file with very many extents, this many are compared, then places spread evenly over the
 * rest. */
#define FULL_EXTENTS 512
#define PLACES 64
#define PLACE_EXTENTS 8

/* *ret_known false: the extent has no address of its own (inline, not allocated yet, encoded). */
static bool
next_extent(Extents *extents, bool *ret_known, GError **error)
{
	const guint32 odd = FIEMAP_EXTENT_UNKNOWN | FIEMAP_EXTENT_DELALLOC |
			    FIEMAP_EXTENT_DATA_INLINE | FIEMAP_EXTENT_DATA_TAIL |
			    FIEMAP_EXTENT_NOT_ALIGNED;
	const struct fiemap_extent *extent = NULL;

	/* Unwritten extents read like holes, and XFS clones them as holes. */
	do {
		if (!gbe_fiemap_next(&extents->fiemap, &extent, error))
			return false;
	} while (extent != NULL && (extent->fe_flags & FIEMAP_EXTENT_UNWRITTEN) != 0);
	extents->end = extent == NULL;
	*ret_known = extent == NULL || (extent->fe_flags & odd) == 0;
	if (extent == NULL)
		return true;
	extents->listed++;
	extents->logical = extent->fe_logical;
	extents->physical = extent->fe_physical;
	extents->left = extent->fe_length;
	/* The first extent may begin before the range. */
	if (extents->logical < extents->start) {
		guint64 before = MIN(extents->start - extents->logical, extents->left);

		extents->logical += before;
		extents->physical += before;
		extents->left -= before;
	}
	extents->shared = (extent->fe_flags & FIEMAP_EXTENT_SHARED) != 0;
	return true;
}

/* The two lists may split the same blocks into pieces of other lengths. *ret_at: where the match ends, when @most
 * extents are matched. */
static bool
match_extents(Extents *src, Extents *dst, guint most, bool *ret_shared, guint64 *ret_at,
	      GError **error)
{
	for (;;) {
		bool known = true;
		guint64 step;

		if (src->left == 0 && !next_extent(src, &known, error))
			return false;
		if (known && dst->left == 0 && !next_extent(dst, &known, error))
			return false;
		*ret_shared = false;
		*ret_at = src->logical;
		if (!known || src->end != dst->end)
			return true;
		if (src->end || src->listed > most) {
			*ret_shared = true;
			if (src->end)
				*ret_at = src->fiemap.end;
			return true;
		}
		if (src->logical != dst->logical || src->physical != dst->physical ||
		    !src->shared || !dst->shared)
			return true;
		step = MIN(src->left, dst->left);
		src->left -= step;
		src->logical += step;
		src->physical += step;
		dst->left -= step;
		dst->logical += step;
		dst->physical += step;
	}
}

/* *ret_at: as in match_extents(). */
static bool
match_range(int src_fd, int dst_fd, guint64 start, guint64 size, guint most, bool *ret_shared,
	    guint64 *ret_at, GError **error)
{
	g_autofree Extents *src = g_new0(Extents, 1);
	g_autofree Extents *dst = g_new0(Extents, 1);

	/* Blocks say nothing about content with dirty pages: SYNC writes these out. A clone has no dirty pages,
	 * and SYNC costs nothing. */
	gbe_fiemap_init(&src->fiemap, src_fd, size, FIEMAP_FLAG_SYNC);
	gbe_fiemap_init(&dst->fiemap, dst_fd, size, FIEMAP_FLAG_SYNC);
	src->start = dst->start = src->fiemap.at = dst->fiemap.at = start;
	src->fiemap.batch_size = dst->fiemap.batch_size = MIN(most + 1, GBE_FIEMAP_BATCH);
	return match_extents(src, dst, most, ret_shared, ret_at, error);
}

/* Do both files consist of the same blocks, each of them shared? *ret_shared false means that the extents cannot
 * prove it, which is no error: compare the bytes. */
static bool
compare_extents(GbeFileComparer *comparer, int src_fd, int dst_fd, guint64 size, const char *what,
		bool *ret_shared, GError **error)
{
	g_autoptr(GError) local_error = NULL;
	guint64 at = 0, ignored;
	bool ok;

	*ret_shared = false;
	ok = match_range(src_fd, dst_fd, 0, size, FULL_EXTENTS, ret_shared, &at, &local_error);
	for (guint i = 0; ok && *ret_shared && at < size && i < PLACES; i++)
		ok = match_range(src_fd, dst_fd, at + (size - at) / PLACES * i, size, PLACE_EXTENTS,
				 ret_shared, &ignored, &local_error);
	if (!ok) {
		*ret_shared = false;
		return gbe_pass_unless(error, &local_error, GBE_ERROR_UNSUPPORTED) ||
		       gbe_prefix(error, "%s", what);
	}
	return !*ret_shared || report_compared(comparer, size, what, error);
}

/* SHA-256 in hex of the whole file, newly allocated. */
static bool
digest_file(GbeFileComparer *comparer, int fd, const char *what, char **ret_digest, GError **error)
{
	g_auto(GbeSha256) sha256 = {0};
	guint8 digest[GBE_SHA256_SIZE];
	guint64 offset = 0;
	gsize got = 0;

	make_buffers(comparer);
	gbe_sha256_init(&sha256);
	do {
		if (!gbe_read_at(fd, comparer->buffers[0], GBE_COMPARE_BUFFER, offset, &got, what,
				 error))
			return false;
		gbe_sha256_push(&sha256, comparer->buffers[0], got);
		offset += got;
		if (!report_compared(comparer, offset, what, error))
			return false;
	} while (got == GBE_COMPARE_BUFFER);
	if (!gbe_sha256_end(&sha256, digest, error))
		return false;
	*ret_digest = gbe_sha256_text(digest);
	return true;
}

/* ---- two trees ---- */

/* The names in @exclude and the nonce's, NULL-terminated. The names are not copied. */
static GPtrArray *
with_nonce(const char *const *exclude)
{
	GPtrArray *names = g_ptr_array_new();

	for (; exclude != NULL && *exclude != NULL; exclude++)
		g_ptr_array_add(names, (gpointer)*exclude);
	g_ptr_array_add(names, (gpointer)GBE_NONCE_NAME);
	g_ptr_array_add(names, NULL);
	return names;
}

/* During the walk of one tree: the directories of the other tree down to the present entry. */
typedef struct {
	int dirs[GBE_TREE_MAX_DEPTH + 1];
	guint depth;
} Mirror;

typedef struct {
	GbeCompare how;
	GbeFileComparer file;
	Mirror mirror;	   /* of the copy, during the walk of the source */
	GHashTable *links; /* GbeInode of the source -> GbeInode of the copy */
} Compare;

static void
mirror_clear(Mirror *mirror)
{
	while (mirror->depth > 0)
		gbe_close_fd(&mirror->dirs[--mirror->depth]);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Mirror, mirror_clear)

static bool
mirror_begin(Mirror *mirror, int dir_fd, GError **error)
{
	if (!gbe_open_dir_at(dir_fd, ".", &mirror->dirs[0], error))
		return false;
	mirror->depth = 1;
	return true;
}

/* The directory that should hold the entry with this path. */
static int
mirror_parent(Mirror *mirror, const char *path)
{
	guint depth = 1;

	for (const char *at = path; *at != '\0'; at++)
		if (*at == '/')
			depth++;
	while (mirror->depth > depth)
		gbe_close_fd(&mirror->dirs[--mirror->depth]);
	return mirror->dirs[mirror->depth - 1];
}

static void
compare_clear(Compare *compare)
{
	mirror_clear(&compare->mirror);
	gbe_file_comparer_clear(&compare->file);
	g_clear_pointer(&compare->links, g_hash_table_unref);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Compare, compare_clear)

static bool
throw_differs(GError **error, const char *what, const char *how)
{
	return gbe_throw(error, GBE_ERROR_VERIFY_FAILED, "%s: %s", what, how);
}

static bool
compare_stat(const struct stat *src, const struct stat *dst, bool top, const char *what,
	     GError **error)
{
	if ((src->st_mode & S_IFMT) != (dst->st_mode & S_IFMT))
		return throw_differs(error, what, "is of another type");
	if (S_ISREG(src->st_mode) && src->st_size != dst->st_size)
		return gbe_throw(error, GBE_ERROR_VERIFY_FAILED,
				 "%s: has %" G_GINT64_FORMAT " bytes instead of %" G_GINT64_FORMAT,
				 what, (gint64)dst->st_size, (gint64)src->st_size);
	if (src->st_uid != dst->st_uid || src->st_gid != dst->st_gid)
		return throw_differs(error, what, "has another owner");
	if (src->st_mode != dst->st_mode)
		return throw_differs(error, what, "has another mode");
	/* The top's mtime changes when the nonce is written into it. A file system that keeps only whole seconds
	 * loses the fraction; nothing else may differ. */
	if (!top && (src->st_mtim.tv_sec != dst->st_mtim.tv_sec ||
		     (src->st_mtim.tv_nsec != dst->st_mtim.tv_nsec && dst->st_mtim.tv_nsec != 0)))
		return throw_differs(error, what, "has another modification time");
	return true;
}

/* Names that share an inode in the source, and only those, must share one in the copy. *ret_seen: @src is another
 * name of a file that was compared before. */
static bool
compare_links(Compare *compare, const struct stat *src, const struct stat *dst, const char *what,
	      bool *ret_seen, GError **error)
{
	GbeInode key = {.dev = src->st_dev, .ino = src->st_ino};
	GbeInode value = {.dev = dst->st_dev, .ino = dst->st_ino};
	const GbeInode *first;

	*ret_seen = false;
	if (src->st_nlink < 2)
		return true;
	first = g_hash_table_lookup(compare->links, &key);
	if (first == NULL) {
		g_hash_table_insert(compare->links, g_memdup2(&key, sizeof(key)),
				    g_memdup2(&value, sizeof(value)));
		return true;
	}
	*ret_seen = true;
	return gbe_inode_equal(first, &value) ||
	       throw_differs(error, what, "is no further name of the same file");
}

static bool
compare_regular(Compare *compare, int src_dir, int dst_dir, const char *name, guint64 size,
		const char *what, GError **error)
{
	const int flags = O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC;
	gbe_autofd int src_fd = openat(src_dir, name, flags);
	gbe_autofd int dst_fd = openat(dst_dir, name, flags);
	bool shared = false;

	if (src_fd < 0 || dst_fd < 0)
		return gbe_throw_errno(error, errno, "cannot open %s", what);
	if (!gbe_metadata_compare_xattrs((GbeInodeRef){.fd = src_fd}, (GbeInodeRef){.fd = dst_fd},
					 what, error))
		return false;
	if (size == 0 || compare->how == GBE_COMPARE_NAMES)
		return true;
	if (compare->how == GBE_COMPARE_CLONES &&
	    !compare_extents(&compare->file, src_fd, dst_fd, size, what, &shared, error))
		return false;
	if (!shared && !compare_bytes(&compare->file, src_fd, dst_fd, size, what, error))
		return false;
	compare->file.done += size;
	return true;
}

static bool
compare_symlink(int src_dir, int dst_dir, const char *name, const char *what, GError **error)
{
	g_autofree char *src = g_malloc0(PATH_MAX + 1);
	g_autofree char *dst = g_malloc0(PATH_MAX + 1);

	if (readlinkat(src_dir, name, src, PATH_MAX) < 0 ||
	    readlinkat(dst_dir, name, dst, PATH_MAX) < 0)
		return gbe_throw_errno(error, errno, "cannot read the symlink %s", what);
	if (!g_str_equal(src, dst))
		return throw_differs(error, what, "is a symlink to something else");
	return gbe_metadata_compare_xattrs((GbeInodeRef){.fd = src_dir, .name = name},
					   (GbeInodeRef){.fd = dst_dir, .name = name}, what, error);
}

static bool
compare_dir(Compare *compare, int src_dir, int dst_dir, const char *name, const char *what,
	    GError **error)
{
	gbe_autofd int src_fd = -1;
	gbe_autofd int dst_fd = -1;

	if (!gbe_open_dir_at(src_dir, name, &src_fd, error) ||
	    !gbe_open_dir_at(dst_dir, name, &dst_fd, error))
		return false;
	if (!gbe_metadata_compare_xattrs((GbeInodeRef){.fd = src_fd}, (GbeInodeRef){.fd = dst_fd},
					 what, error))
		return false;
	compare->mirror.dirs[compare->mirror.depth++] = gbe_steal_fd(&dst_fd);
	return true;
}

static bool
compare_visit(const char *path, int dir_fd, const char *name, const struct stat *st, gpointer data,
	      GError **error)
{
	Compare *compare = data;
	g_autofree char *what = NULL;
	struct stat there;
	bool seen = false;
	int dst_dir;

	if (S_ISSOCK(st->st_mode))
		return true;
	dst_dir = mirror_parent(&compare->mirror, path);
	what = gbe_path_to_text(path);
	if (fstatat(dst_dir, name, &there, AT_SYMLINK_NOFOLLOW) < 0)
		return errno == ENOENT
			   ? throw_differs(error, what, "is missing in the copy")
			   : gbe_throw_errno(error, errno, "cannot look at the copy of %s", what);
	if (!compare_stat(st, &there, false, what, error))
		return false;
	if (S_ISDIR(st->st_mode))
		return compare_dir(compare, dir_fd, dst_dir, name, what, error);
	if (!compare_links(compare, st, &there, what, &seen, error))
		return false;
	if (seen)
		return true;
	if (S_ISLNK(st->st_mode))
		return compare_symlink(dir_fd, dst_dir, name, what, error);
	if (S_ISREG(st->st_mode))
		return compare_regular(compare, dir_fd, dst_dir, name, (guint64)st->st_size, what,
				       error);
	return true;
}

/* The other direction: everything in the copy is in the source. */
static bool
surplus_visit(const char *path, int dir_fd, const char *name, const struct stat *st, gpointer data,
	      GError **error)
{
	Mirror *source = data;
	g_autofree char *what = NULL;
	gbe_autofd int fd = -1;
	struct stat there;
	int src_dir;

	if (S_ISSOCK(st->st_mode))
		return true;
	src_dir = mirror_parent(source, path);
	if (fstatat(src_dir, name, &there, AT_SYMLINK_NOFOLLOW) < 0) {
		what = gbe_path_to_text(path);
		return errno == ENOENT ? throw_differs(error, what, "is in the copy only")
				       : gbe_throw_errno(error, errno, "cannot look at %s", what);
	}
	if (!S_ISDIR(st->st_mode))
		return true;
	if (!gbe_open_dir_at(src_dir, name, &fd, error))
		return false;
	source->dirs[source->depth++] = gbe_steal_fd(&fd);
	return true;
}

bool
gbe_compare_trees(int src_dir, int dst_dir, GbeCompare how, const char *const *exclude,
		  bool (*progress)(guint64 bytes, gpointer data), gpointer progress_data,
		  GError **error)
{
	static const char top[] = "the top of the tree";
	g_autoptr(GPtrArray) excluded = with_nonce(exclude);
	const char *const *names = (const char *const *)excluded->pdata;
	g_auto(Compare) compare = {
	    .how = how,
	    .file = {.progress = progress, .progress_data = progress_data},
	    .links = g_hash_table_new_full(gbe_inode_hash, gbe_inode_equal, g_free, g_free),
	};
	g_auto(Mirror) source = {.depth = 0};
	struct stat src, dst;

	/* The same address on another disk is another block. */
	if (how == GBE_COMPARE_CLONES && !gbe_same_filesystem(src_dir, dst_dir))
		compare.how = GBE_COMPARE_BYTES;
	if (fstat(src_dir, &src) < 0 || fstat(dst_dir, &dst) < 0)
		return gbe_throw_errno(error, errno, "cannot look at %s", top);
	if (!compare_stat(&src, &dst, true, top, error) ||
	    !gbe_metadata_compare_xattrs((GbeInodeRef){.fd = src_dir}, (GbeInodeRef){.fd = dst_dir},
					 top, error))
		return false;
	if (!mirror_begin(&compare.mirror, dst_dir, error) ||
	    !gbe_tree_walk(src_dir, names, NULL, compare_visit, &compare, error))
		return false;
	return mirror_begin(&source, src_dir, error) &&
	       gbe_tree_walk(dst_dir, names, NULL, surplus_visit, &source, error);
}

/* ---- a tree and its manifest ---- */

/*
 * Compares a tree with the list of files in its manifest. The list has paths as gbe_path_to_text() returns them, so
 * that any name fits into a record. Each name of a hard link is listed, and its size counts once.
 */

/* Of all paths in the list. With the other fields of each file they take half of what a record may have. */
#define MAX_PATH_BYTES ((gsize)256 * 1024)

typedef struct {
	GbeFileComparer file;
	bool digests;
	GHashTable *links; /* of GbeInode */
	GHashTable *known; /* GbeInode -> char *, the digest of a file with several names */
	guint64 files;
	guint64 bytes;
	gsize path_bytes;
	GHashTable *listed;    /* path -> const GbeManifestFile *, those not found yet; or NULL */
	GbeManifest *recorded; /* the entries found, or NULL */
} Listing;

static void
listing_clear(Listing *listing)
{
	gbe_file_comparer_clear(&listing->file);
	g_clear_pointer(&listing->links, g_hash_table_unref);
	g_clear_pointer(&listing->known, g_hash_table_unref);
	g_clear_pointer(&listing->listed, g_hash_table_unref);
	g_clear_pointer(&listing->recorded, gbe_manifest_free);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Listing, listing_clear)

/* A file with several names is read once. */
static bool
digest_of(Listing *listing, int dir_fd, const char *name, const struct stat *st, const char *what,
	  char **ret_digest, GError **error)
{
	GbeInode inode = {.dev = st->st_dev, .ino = st->st_ino};
	const char *known = g_hash_table_lookup(listing->known, &inode);
	gbe_autofd int fd = -1;

	if (known != NULL) {
		*ret_digest = g_strdup(known);
		return true;
	}
	fd = openat(dir_fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (fd < 0)
		return gbe_throw_errno(error, errno, "cannot open %s", what);
	if (!digest_file(&listing->file, fd, what, ret_digest, error))
		return false;
	if (st->st_nlink > 1)
		g_hash_table_insert(listing->known, g_memdup2(&inode, sizeof(inode)),
				    g_strdup(*ret_digest));
	return true;
}

static bool
check_file(Listing *listing, int dir_fd, const char *name, const struct stat *st, const char *what,
	   GError **error)
{
	const GbeManifestFile *file = g_hash_table_lookup(listing->listed, what);
	guint64 size = (guint64)st->st_size;
	g_autofree char *digest = NULL;

	if (file == NULL)
		return gbe_throw(error, GBE_ERROR_VERIFY_FAILED, "%s: is not in the manifest",
				 what);
	if (size != file->size)
		return gbe_throw(error, GBE_ERROR_VERIFY_FAILED,
				 "%s: has %" G_GUINT64_FORMAT
				 " bytes instead of %" G_GUINT64_FORMAT,
				 what, size, file->size);
	if (listing->digests && file->sha256 != NULL) {
		if (!digest_of(listing, dir_fd, name, st, what, &digest, error))
			return false;
		if (g_ascii_strcasecmp(digest, file->sha256) != 0)
			return gbe_throw(error, GBE_ERROR_VERIFY_FAILED,
					 "%s: the content is not the one that was recorded", what);
	}
	g_hash_table_remove(listing->listed, what);
	return true;
}

static bool
record_file(Listing *listing, int dir_fd, const char *name, const struct stat *st, const char *what,
	    GError **error)
{
	guint64 size = (guint64)st->st_size;
	g_autofree char *digest = NULL;

	/* One entry more than the list may have is enough to know that there will be no list. */
	listing->path_bytes += strlen(what);
	if (listing->files > GBE_MANIFEST_FILES_MAX || listing->path_bytes > MAX_PATH_BYTES)
		return true;
	/* A hole costs its owner nothing, but its digest as much time as that of data. */
	if (listing->digests && size <= (guint64)st->st_blocks * 512 + GBE_DIGEST_HOLES &&
	    !digest_of(listing, dir_fd, name, st, what, &digest, error))
		return false;
	gbe_manifest_add_file(listing->recorded, what, size, digest);
	return true;
}

static bool
listing_visit(const char *path, int dir_fd, const char *name, const struct stat *st, gpointer data,
	      GError **error)
{
	Listing *listing = data;
	g_autofree char *what = NULL;
	guint64 size = (guint64)st->st_size;
	bool ok = true;

	if (!S_ISREG(st->st_mode))
		return true;
	listing->files++;
	if (gbe_inode_set_add(listing->links, st))
		listing->bytes += size;
	what = gbe_path_to_text(path);
	if (listing->listed != NULL)
		ok = check_file(listing, dir_fd, name, st, what, error);
	else if (listing->recorded != NULL)
		ok = record_file(listing, dir_fd, name, st, what, error);
	listing->file.done += size;
	return ok;
}

static bool
walk_listing(Listing *listing, int data_dir, const char *const *exclude,
	     const GbeTreeLimits *limits, GError **error)
{
	g_autoptr(GPtrArray) excluded = with_nonce(exclude);

	listing->links = g_hash_table_new_full(gbe_inode_hash, gbe_inode_equal, g_free, NULL);
	listing->known = g_hash_table_new_full(gbe_inode_hash, gbe_inode_equal, g_free, g_free);
	return gbe_tree_walk(data_dir, (const char *const *)excluded->pdata, limits, listing_visit,
			     listing, error);
}

bool
gbe_compare_manifest(int data_dir, const GbeManifest *manifest, bool digests,
		     bool (*progress)(guint64 bytes, gpointer data), gpointer progress_data,
		     GError **error)
{
	g_auto(Listing) listing = {
	    .file = {.progress = progress, .progress_data = progress_data},
	    .digests = digests,
	};

	if (!gbe_compare_is_listed(manifest))
		return true;
	if (manifest->files != NULL) {
		listing.listed = g_hash_table_new(g_str_hash, g_str_equal);
		for (guint i = 0; i < manifest->files->len; i++) {
			GbeManifestFile *file = g_ptr_array_index(manifest->files, i);

			g_hash_table_insert(listing.listed, file->path, file);
		}
	}
	if (!walk_listing(&listing, data_dir, NULL, NULL, error))
		return false;
	if (listing.listed != NULL && g_hash_table_size(listing.listed) > 0) {
		g_autoptr(GList) missing =
		    g_list_sort(g_hash_table_get_keys(listing.listed), (GCompareFunc)strcmp);

		/* The first in the order of names, so that the message is always the same. */
		return gbe_throw(error, GBE_ERROR_VERIFY_FAILED,
				 "%s: is in the manifest and not in the backup",
				 (const char *)missing->data);
	}
	if (listing.files != manifest->files_count || listing.bytes != manifest->size)
		return gbe_throw(
		    error, GBE_ERROR_VERIFY_FAILED,
		    "the backup has %" G_GUINT64_FORMAT " files with %" G_GUINT64_FORMAT
		    " bytes, its manifest says %" G_GUINT64_FORMAT " with %" G_GUINT64_FORMAT,
		    listing.files, listing.bytes, manifest->files_count, manifest->size);
	return true;
}

bool
gbe_compare_record(int data_dir, const char *const *exclude, bool digests,
		   const GbeTreeLimits *limits, GbeManifest *manifest, GError **error)
{
	g_auto(Listing) listing = {.digests = digests, .recorded = gbe_manifest_new()};
	g_autoptr(GError) local = NULL;
	bool listed = walk_listing(&listing, data_dir, exclude, limits, &local);

	if (!listed && !gbe_pass_unless(error, &local, GBE_ERROR_UNSAFE_SOURCE))
		return false;
	g_clear_pointer(&manifest->files, g_ptr_array_unref);
	if (listed && listing.files == 0)
		manifest->files = g_ptr_array_new();
	else if (listed && listing.files <= GBE_MANIFEST_FILES_MAX &&
		 listing.path_bytes <= MAX_PATH_BYTES)
		manifest->files = g_steal_pointer(&listing.recorded->files);
	manifest->files_count = listed ? listing.files : 0;
	manifest->size = listed ? listing.bytes : 0;
	return true;
}

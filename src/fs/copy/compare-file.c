/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "fs/copy/compare-file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/sha256.h"
#include "fs/copy/fiemap.h"
#include "fs/open.h"

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
report(const GbeFileComparer *comparer, guint64 in_file, const char *what, GError **error)
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
		if (!report(comparer, offset, what, error))
			return false;
	}
	return true;
}

/* The next data at or after @offset; @size when there is none. */
static bool
next_data(int fd, guint64 offset, guint64 size, guint64 *ret_data, guint64 *ret_hole,
	  const char *what, GError **error)
{
	off_t data = lseek(fd, (off_t)offset, SEEK_DATA);
	off_t hole;

	if (data < 0 && errno == ENXIO) {
		*ret_data = *ret_hole = size;
		return true;
	}
	hole = data < 0 ? -1 : lseek(fd, data, SEEK_HOLE);
	if (hole < 0 && errno != EINVAL && errno != EOPNOTSUPP)
		return gbe_throw_errno(error, errno, "cannot find the holes of %s", what);
	*ret_data = MIN(hole < 0 ? offset : (guint64)data, size);
	*ret_hole = hole < 0 ? size : MIN((guint64)hole, size);
	return true;
}

/* Where both files have a hole there is nothing to read. */
bool
gbe_file_comparer_bytes(GbeFileComparer *comparer, int src_fd, int dst_fd, guint64 size,
			const char *what, GError **error)
{
	guint64 offset = 0;

	while (offset < size) {
		guint64 src = 0, src_end = 0, dst = 0, dst_end = 0, start, end;

		if (!next_data(src_fd, offset, size, &src, &src_end, what, error) ||
		    !next_data(dst_fd, offset, size, &dst, &dst_end, what, error))
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

	/* Blocks say nothing about content with dirty pages: SYNC writes these out. After a clone there are none,
	 * and SYNC costs nothing. */
	gbe_fiemap_init(&src->fiemap, src_fd, size, FIEMAP_FLAG_SYNC);
	gbe_fiemap_init(&dst->fiemap, dst_fd, size, FIEMAP_FLAG_SYNC);
	src->start = dst->start = src->fiemap.at = dst->fiemap.at = start;
	src->fiemap.batch_size = dst->fiemap.batch_size = MIN(most + 1, GBE_FIEMAP_BATCH);
	return match_extents(src, dst, most, ret_shared, ret_at, error);
}

static bool
match_places(int src_fd, int dst_fd, guint64 size, bool *ret_shared, GError **error)
{
	guint64 at = 0;

	if (!match_range(src_fd, dst_fd, 0, size, FULL_EXTENTS, ret_shared, &at, error))
		return false;
	for (guint i = 0; *ret_shared && at < size && i < PLACES; i++) {
		guint64 start = at + (size - at) / PLACES * i;
		guint64 ignored;

		if (!match_range(src_fd, dst_fd, start, size, PLACE_EXTENTS, ret_shared, &ignored,
				 error))
			return false;
	}
	return true;
}

bool
gbe_file_comparer_extents(GbeFileComparer *comparer, int src_fd, int dst_fd, guint64 size,
			  const char *what, bool *ret_shared, GError **error)
{
	g_autoptr(GError) local_error = NULL;
	bool shared = false;

	if (!match_places(src_fd, dst_fd, size, &shared, &local_error)) {
		if (!g_error_matches(local_error, GBE_ERROR, GBE_ERROR_UNSUPPORTED)) {
			g_propagate_error(error, g_steal_pointer(&local_error));
			return gbe_prefix(error, "%s", what);
		}
		shared = false;
	}
	if (shared && !report(comparer, size, what, error))
		return false;
	*ret_shared = shared;
	return true;
}

bool
gbe_file_comparer_digest(GbeFileComparer *comparer, int fd, const char *what, char **ret_digest,
			 GError **error)
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
		if (!report(comparer, offset, what, error))
			return false;
	} while (got == GBE_COMPARE_BUFFER);
	if (!gbe_sha256_end(&sha256, digest, error))
		return false;
	*ret_digest = gbe_sha256_text(digest);
	return true;
}

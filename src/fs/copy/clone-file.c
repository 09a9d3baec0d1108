/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "fs/copy/clone-file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "base/fault.h"
#include "fs/copy/fiemap.h"
#include "fs/copy/reflink.h"
#include "fs/copy/write-behind.h"

#define BUFFER_SIZE (1024 * 1024)
/* The kernel copies this much at once. Progress is reported after each piece. A piece that is compared is still in
 * the core's cache, so that comparing costs less than in another thread. */
#define KERNEL_COPY_SIZE (512 * 1024)

/* A file that is copied byte by byte. */
typedef struct {
	GbeFileCloner *cloner;
	int src;
	int dst;
	guint64 size;
	const char *what;
	GbeWriteBehind *behind; /* NULL: the caller's sync writes the whole file */
	bool reserved;		/* some of it is allocated and was never written */
	guint64 written;
} Copy;

void
gbe_file_cloner_clear(GbeFileCloner *cloner)
{
	g_clear_pointer(&cloner->buffer, g_free);
	gbe_file_comparer_clear(&cloner->comparer);
}

bool
gbe_file_cloner_report(const GbeFileCloner *cloner, guint64 in_file, const char *what,
		       GError **error)
{
	const GbeCloneOptions *options = cloner->options;

	if (options->progress == NULL ||
	    options->progress(cloner->done + in_file, options->progress_data))
		return true;
	return gbe_throw(error, GBE_ERROR_FAILED, "%s: cancelled", what);
}

/* *ret_cloned false: the file systems cannot clone, so the caller copies. */
static bool
try_clone(GbeFileCloner *cloner, int src, int dst, guint64 size, const char *what, bool *ret_cloned,
	  GError **error)
{
	int errsv;

	*ret_cloned = false;
	if (cloner->no_clones)
		return true;
	if (!gbe_reflink_spend(cloner, src, size, what, error))
		return false;
	errsv = gbe_reflink(cloner, src, dst, size, what, error);
	switch (errsv) {
	case 0:
		*ret_cloned = true;
		break;
	case EOPNOTSUPP:
	case ENOTTY:
	case ENOSYS:
	case EXDEV:
		cloner->no_clones = true;
		break;
	case EINVAL: /* only this file, e.g. NOCOW on one side */
		break;
	case ECANCELED: /* the progress function cancelled */
		return false;
	default:
		return gbe_throw_errno(error, errsv, "cannot clone %s", what);
	}
	return true;
}

/* Ranges that are allocated in the source and were never written (in etcd's WAL segments) are allocated in the copy
 * first: a full disk then says so at once. Holes stay holes. */
static bool
preallocate(Copy *copy, const struct stat *st, GError **error)
{
	g_autofree GbeFiemap *fiemap = g_new0(GbeFiemap, 1);
	g_autoptr(GError) local_error = NULL;
	const struct fiemap_extent *extent = NULL;

	gbe_fiemap_init(fiemap, copy->src, copy->size, 0);
	for (;;) {
		guint64 end;

		if (!gbe_fiemap_next(fiemap, &extent, &local_error))
			break;
		if (extent == NULL)
			return true;
		if ((extent->fe_flags & FIEMAP_EXTENT_UNWRITTEN) == 0)
			continue;
		copy->reserved = true;
		end = MIN(extent->fe_logical + extent->fe_length, copy->size);
		/* SEEK_DATA takes pages that somebody read for data (etcd reads its WAL ahead). Without those
		 * pages, only data that waits to be written is left. */
		(void)posix_fadvise(copy->src, (off_t)extent->fe_logical, (off_t)extent->fe_length,
				    POSIX_FADV_DONTNEED);
		if (end <= extent->fe_logical || fallocate(copy->dst, 0, (off_t)extent->fe_logical,
							   (off_t)(end - extent->fe_logical)) == 0)
			continue;
		/* A file system that cannot preallocate made no promise that the copy could break. */
		if (errno == EOPNOTSUPP)
			return true;
		return gbe_throw_errno(error, errno, "cannot allocate %s", copy->what);
	}
	if (!g_error_matches(local_error, GBE_ERROR, GBE_ERROR_UNSUPPORTED)) {
		g_propagate_error(error, g_steal_pointer(&local_error));
		return gbe_prefix(error, "%s", copy->what);
	}
	/* Without extents (tmpfs) only "all of it is allocated" can be known. */
	if ((guint64)st->st_blocks * 512 >= copy->size &&
	    fallocate(copy->dst, 0, 0, (off_t)copy->size) < 0 && errno != EOPNOTSUPP)
		return gbe_throw_errno(error, errno, "cannot allocate %s", copy->what);
	return true;
}

static bool
write_chunk(Copy *copy, guint64 offset, gsize size, GError **error)
{
	const guint8 *at = copy->cloner->buffer;

	copy->written += size;
	while (size > 0) {
		ssize_t wrote = pwrite(copy->dst, at, size, (off_t)offset);

		if (wrote < 0 && errno == EINTR)
			continue;
		if (wrote < 0)
			return gbe_throw_errno(error, errno, "cannot write the copy of %s",
					       copy->what);
		at += wrote;
		offset += (guint64)wrote;
		size -= (gsize)wrote;
	}
	return true;
}

/* The kernel copies where it can, in half the time of reading and writing. *ret_got 0: it cannot. Not used where
 * the blocks must not be shared. */
static bool
copy_in_kernel(Copy *copy, guint64 offset, guint64 end, gsize *ret_got, GError **error)
{
	loff_t from = (loff_t)offset;
	loff_t to = (loff_t)offset;
	ssize_t got;

	*ret_got = 0;
	if (copy->cloner->options->allowed > GBE_METHOD_REFLINK)
		return true;
	do
		got = copy_file_range(copy->src, &from, copy->dst, &to,
				      (gsize)MIN(end - offset, KERNEL_COPY_SIZE), 0);
	while (got < 0 && errno == EINTR);
	if (got < 0 && (errno == ENOSPC || errno == EDQUOT || errno == EIO))
		return gbe_throw_errno(error, errno, "cannot write the copy of %s", copy->what);
	*ret_got = (gsize)MAX(got, 0);
	copy->written += *ret_got;
	return true;
}

static bool
copy_by_hand(Copy *copy, guint64 offset, guint64 end, gsize *ret_got, GError **error)
{
	ssize_t got;

	if (copy->cloner->buffer == NULL)
		copy->cloner->buffer = g_malloc(BUFFER_SIZE);
	do
		got = pread(copy->src, copy->cloner->buffer, (gsize)MIN(end - offset, BUFFER_SIZE),
			    (off_t)offset);
	while (got < 0 && errno == EINTR);
	if (got < 0)
		return gbe_throw_errno(error, errno, "cannot read %s", copy->what);
	if (got == 0)
		return gbe_throw(error, GBE_ERROR_FAILED, "%s became shorter while it was copied",
				 copy->what);
	if (!write_chunk(copy, offset, (gsize)got, error))
		return false;
	*ret_got = (gsize)got;
	return true;
}

/* The disk starts to write while the next part is read. */
static void
write_out(const Copy *copy, guint64 offset, gsize size)
{
	if (copy->behind != NULL)
		gbe_write_behind_advance(copy->behind, offset + size);
	else
		(void)sync_file_range(copy->dst, (off64_t)offset, (off64_t)size,
				      SYNC_FILE_RANGE_WRITE);
}

static bool
copy_data(Copy *copy, guint64 offset, guint64 end, GError **error)
{
	while (offset < end) {
		gsize got = 0;

		if (!copy_in_kernel(copy, offset, end, &got, error))
			return false;
		if (got == 0 && !copy_by_hand(copy, offset, end, &got, error))
			return false;
		write_out(copy, offset, got);
		if (copy->cloner->options->compare &&
		    !gbe_file_comparer_range(&copy->cloner->comparer, copy->src, copy->dst, offset,
					     offset + got, copy->what, error))
			return false;
		offset += got;
		if (!gbe_file_cloner_report(copy->cloner, offset, copy->what, error))
			return false;
	}
	return true;
}

/* The next range with data at or after @offset. Without data, both are the size. */
static bool
next_data(const Copy *copy, guint64 offset, guint64 *ret_data, guint64 *ret_hole, GError **error)
{
	off_t data = lseek(copy->src, (off_t)offset, SEEK_DATA);
	off_t hole;

	if (data < 0 && errno == ENXIO) {
		*ret_data = *ret_hole = copy->size;
		return true;
	}
	hole = data < 0 ? -1 : lseek(copy->src, data, SEEK_HOLE);
	if (hole < 0 && errno != EINVAL && errno != EOPNOTSUPP)
		return gbe_throw_errno(error, errno, "cannot find the holes of %s", copy->what);
	/* This file system cannot tell: take all of it as data. */
	*ret_data = MIN(hole < 0 ? offset : (guint64)data, copy->size);
	*ret_hole = hole < 0 ? copy->size : MIN((guint64)hole, copy->size);
	return true;
}

static bool
copy_content(Copy *copy, const struct stat *st, GError **error)
{
	if (ftruncate(copy->dst, st->st_size) < 0)
		return gbe_throw_errno(error, errno, "cannot set the size of the copy of %s",
				       copy->what);
	if (st->st_blocks > 0 && !preallocate(copy, st, error))
		return false;
	if (GBE_FAULT("clone-file-allocated", error))
		return false;
	for (guint64 offset = 0; offset < copy->size;) {
		guint64 data = 0, hole = 0;

		if (!next_data(copy, offset, &data, &hole, error) ||
		    !copy_data(copy, data, hole, error))
			return false;
		/* As above: pages that were read after the end of the data are no data. */
		if (copy->reserved && hole < copy->size)
			(void)posix_fadvise(copy->src, (off_t)hole, 0, POSIX_FADV_DONTNEED);
		offset = hole;
	}
	return true;
}

static bool
copy_file(GbeFileCloner *cloner, int src, int dst, const struct stat *st, const char *what,
	  guint64 *ret_written, GError **error)
{
	GbeCold cold = cloner->options->cold;
	g_autoptr(GbeWriteBehind) behind =
	    (guint64)st->st_size > GBE_BEHIND_MAX
		? gbe_write_behind_new(dst, cold == GBE_COLD_SOURCE ? src
					    : cold == GBE_COLD_COPY ? dst
								    : -1)
		: NULL;
	Copy copy = {
	    .cloner = cloner,
	    .src = src,
	    .dst = dst,
	    .size = (guint64)st->st_size,
	    .what = what,
	    .behind = behind,
	};

	if (!copy_content(&copy, st, error))
		return false;
	*ret_written = copy.written;
	return true;
}

bool
gbe_file_cloner_run(GbeFileCloner *cloner, int src_fd, int dst_fd, const struct stat *st,
		    const char *what, GbeMethod *ret_method, guint64 *ret_written, GError **error)
{
	const GbeCloneOptions *options = cloner->options;
	guint64 written = 0;
	bool cloned = st->st_size == 0;

	if (!cloned && options->allowed <= GBE_METHOD_REFLINK &&
	    !try_clone(cloner, src_fd, dst_fd, (guint64)st->st_size, what, &cloned, error))
		return false;
	if (!cloned && options->cow_only)
		return gbe_throw(error, GBE_ERROR_UNSUPPORTED,
				 "%s cannot be cloned: the file system shares no blocks between "
				 "these files, and copying was not allowed",
				 what);
	if (!cloned && !copy_file(cloner, src_fd, dst_fd, st, what, &written, error))
		return false;
	if (GBE_FAULT("clone-file-copied", error))
		return false;
	cloner->done += (guint64)st->st_size;
	if (!gbe_file_cloner_report(cloner, 0, what, error))
		return false;
	*ret_method = cloned ? GBE_METHOD_REFLINK : GBE_METHOD_COPY;
	*ret_written = written;
	return true;
}

bool
gbe_clone_file(int src_fd, int dst_fd, const char *what, const GbeCloneOptions *options,
	       GbeMethod *ret_method, guint64 *ret_written, GError **error)
{
	GbeFileCloner cloner = {.options = options};
	GbeMethod method = GBE_METHOD_REFLINK;
	guint64 written = 0;
	struct stat st;
	bool ok;

	if (fstat(src_fd, &st) < 0)
		return gbe_throw_errno(error, errno, "cannot look at %s", what);
	if (!S_ISREG(st.st_mode))
		return gbe_throw(error, GBE_ERROR_UNSAFE_SOURCE, "%s is not a regular file", what);
	ok = gbe_file_cloner_run(&cloner, src_fd, dst_fd, &st, what, &method, &written, error);
	gbe_file_cloner_clear(&cloner);
	if (!ok)
		return false;
	if (ret_method != NULL)
		*ret_method = method;
	if (ret_written != NULL)
		*ret_written = written;
	return true;
}

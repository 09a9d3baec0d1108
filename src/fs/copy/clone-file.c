/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "fs/copy/clone-file.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <sys/ioctl.h>

#include "base/fault.h"
#include "fs/copy/extents.h"

#define BUFFER_SIZE (1024 * 1024)
/* The kernel copies this much at once. Progress is reported after each piece. A piece that is compared is still in
 * the core's cache, so that comparing costs less than in another thread. */
#define KERNEL_COPY_SIZE (512 * 1024)

/* Bytes that are handed to the disk at once. */
#define PART_SIZE ((guint64)8 * 1024 * 1024)

struct GbeWriteBehind {
	int fd;
	int cold; /* or -1 */
	GThread *thread;
	GMutex lock; /* of the fields below */
	GCond changed;
	guint64 copied; /* written into the file up to here */
	guint64 begun;	/* the disk was told to write up to here */
	bool end;
};

static gpointer
write_parts(gpointer data)
{
	GbeWriteBehind *behind = data;

	for (;;) {
		guint64 offset, size;

		g_mutex_lock(&behind->lock);
		while (behind->copied - behind->begun < PART_SIZE && !behind->end)
			g_cond_wait(&behind->changed, &behind->lock);
		offset = behind->begun;
		size = MIN(behind->copied - behind->begun, PART_SIZE);
		g_mutex_unlock(&behind->lock);
		if (size == 0)
			return NULL;
		(void)sync_file_range(behind->fd, (off64_t)offset, (off64_t)size,
				      SYNC_FILE_RANGE_WRITE);
		/* Waits until an earlier part is on the disk, and drops it from memory if it is cold. */
		if (offset >= GBE_BEHIND_MAX) {
			off64_t before = (off64_t)(offset - GBE_BEHIND_MAX);

			(void)sync_file_range(behind->fd, before, (off64_t)size,
					      SYNC_FILE_RANGE_WAIT_BEFORE | SYNC_FILE_RANGE_WRITE |
						  SYNC_FILE_RANGE_WAIT_AFTER);
			if (behind->cold >= 0)
				(void)posix_fadvise(behind->cold, before, (off_t)size,
						    POSIX_FADV_DONTNEED);
		}
		g_mutex_lock(&behind->lock);
		behind->begun = offset + size;
		g_cond_signal(&behind->changed);
		g_mutex_unlock(&behind->lock);
	}
}

GbeWriteBehind *
gbe_write_behind_new(int fd, int cold)
{
	GbeWriteBehind *behind = g_new0(GbeWriteBehind, 1);

	behind->fd = fd;
	behind->cold = cold;
	g_mutex_init(&behind->lock);
	g_cond_init(&behind->changed);
	behind->thread = g_thread_try_new("write-behind", write_parts, behind, NULL);
	if (behind->thread == NULL)
		gbe_write_behind_end(g_steal_pointer(&behind));
	return behind;
}

void
gbe_write_behind_advance(GbeWriteBehind *behind, guint64 offset)
{
	g_mutex_lock(&behind->lock);
	behind->copied = offset;
	if (behind->copied - behind->begun >= PART_SIZE)
		g_cond_signal(&behind->changed);
	while (behind->copied - behind->begun > GBE_BEHIND_MAX)
		g_cond_wait(&behind->changed, &behind->lock);
	g_mutex_unlock(&behind->lock);
}

void
gbe_write_behind_end(GbeWriteBehind *behind)
{
	if (behind == NULL)
		return;
	g_mutex_lock(&behind->lock);
	behind->end = true;
	g_cond_signal(&behind->changed);
	g_mutex_unlock(&behind->lock);
	if (behind->thread != NULL)
		(void)g_thread_join(behind->thread);
	g_cond_clear(&behind->changed);
	g_mutex_clear(&behind->lock);
	g_free(behind);
}

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

/* Reports that @in_file bytes of the present file are done. False: the operation was cancelled. */
static bool
report_progress(const GbeFileCloner *cloner, guint64 in_file, const char *what, GError **error)
{
	const GbeCloneOptions *options = cloner->options;

	if (options->progress == NULL ||
	    options->progress(cloner->done + in_file, options->progress_data))
		return true;
	return gbe_throw(error, GBE_ERROR_FAILED, "%s: cancelled", what);
}

/* At most 65,536 extents: one second, and somewhat more on slow devices, without a sign of life. */
#define PIECE ((guint64)256 * 1024 * 1024)
/* No file system has larger blocks. */
#define ALIGN ((guint64)64 * 1024)

/* Shares one file's blocks with an empty file. Each extent costs some microseconds, and the file's owner can make
 * millions of extents at no cost. So the file is cloned in pieces, with reports of progress between them. Returns 0 or
 * an errno; with ECANCELED, @error is set. */
static int
share_blocks(const GbeFileCloner *cloner, int src, int dst, guint64 size, const char *what,
	     GError **error)
{
	/* A live file is cloned in one call, because the kernel blocks writes during a call. */
	if (size <= PIECE || cloner->options->first != NULL) {
		while (ioctl(dst, FICLONE, src) < 0)
			if (errno != EINTR)
				return errno;
		return 0;
	}
	if (ftruncate(dst, (off_t)size) < 0)
		return errno;
	for (guint64 at = 0; at < size; at += PIECE) {
		off_t data = lseek(src, (off_t)at, SEEK_DATA);
		struct file_clone_range range = {.src_fd = src};

		if (data < 0 && errno == ENXIO)
			break;
		if (data > 0)
			at = MAX(at, (guint64)data / ALIGN * ALIGN);
		range.src_offset = range.dest_offset = at;
		/* Length 0 means up to the end: the last block may be a partial one. */
		range.src_length = size - at > PIECE ? PIECE : 0;
		while (ioctl(dst, FICLONERANGE, &range) < 0)
			if (errno != EINTR)
				return errno;
		if (!report_progress(cloner, at, what, error))
			return ECANCELED;
	}
	return 0;
}

/* *ret_cloned false: the file systems cannot clone, so the caller copies. GBE_ERROR_UNSUPPORTED: a backup that may be
 * left out has more than GBE_CLONE_MAX_EXTENTS. Counting them takes a fiftieth of the time of cloning. */
static bool
try_clone(GbeFileCloner *cloner, int src, int dst, guint64 size, const char *what, bool *ret_cloned,
	  GError **error)
{
	const GbeCloneOptions *options = cloner->options;
	struct fiemap map = {.fm_length = size};
	int errsv;

	*ret_cloned = false;
	if (cloner->no_clones)
		return true;
	if (options->cow_only && options->first == NULL) {
		if (ioctl(src, FS_IOC_FIEMAP, &map) == 0)
			cloner->extents += map.fm_mapped_extents;
		if (cloner->extents > GBE_CLONE_MAX_EXTENTS)
			return gbe_throw(error, GBE_ERROR_UNSUPPORTED,
					 "%s is in too many pieces: a backup that may be left out "
					 "has at most %d extents, of all files together",
					 what, GBE_CLONE_MAX_EXTENTS);
	}
	errsv = share_blocks(cloner, src, dst, size, what, error);
	switch (errsv) {
	case 0:
		*ret_cloned = true;
		return true;
	case EOPNOTSUPP:
	case ENOTTY:
	case ENOSYS:
	case EXDEV:
		cloner->no_clones = true;
		return true;
	case EINVAL: /* only this file, e.g. NOCOW on one side */
		return true;
	case ECANCELED: /* the progress function cancelled */
		return false;
	default:
		return gbe_throw_errno(error, errsv, "cannot clone %s", what);
	}
}

/* Ranges that are allocated in the source and were never written (in etcd's WAL segments) are allocated in the copy
 * first. A full disk then fails at once. Holes stay holes. */
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
		/* SEEK_DATA takes pages that a process has read for data (etcd reads its WAL ahead). Without those
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
	if (!gbe_pass_unless(error, &local_error, GBE_ERROR_UNSUPPORTED))
		return gbe_prefix(error, "%s", copy->what);
	/* Without extents (tmpfs) only "all of it is allocated" can be known. */
	if ((guint64)st->st_blocks * 512 >= copy->size &&
	    fallocate(copy->dst, 0, 0, (off_t)copy->size) < 0 && errno != EOPNOTSUPP)
		return gbe_throw_errno(error, errno, "cannot allocate %s", copy->what);
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
	GbeFileCloner *cloner = copy->cloner;
	ssize_t got, wrote;

	if (cloner->buffer == NULL)
		cloner->buffer = g_malloc(BUFFER_SIZE);
	do
		got = pread(copy->src, cloner->buffer, (gsize)MIN(end - offset, BUFFER_SIZE),
			    (off_t)offset);
	while (got < 0 && errno == EINTR);
	if (got < 0)
		return gbe_throw_errno(error, errno, "cannot read %s", copy->what);
	if (got == 0)
		return gbe_throw(error, GBE_ERROR_FAILED, "%s became shorter while it was copied",
				 copy->what);
	copy->written += (guint64)got;
	for (ssize_t done = 0; done < got; done += MAX(wrote, 0)) {
		wrote = pwrite(copy->dst, cloner->buffer + done, (gsize)(got - done),
			       (off_t)offset + done);
		if (wrote < 0 && errno != EINTR)
			return gbe_throw_errno(error, errno, "cannot write the copy of %s",
					       copy->what);
	}
	*ret_got = (gsize)got;
	return true;
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
		/* The disk starts to write while the next part is read. */
		if (copy->behind != NULL)
			gbe_write_behind_advance(copy->behind, offset + got);
		else
			(void)sync_file_range(copy->dst, (off64_t)offset, (off64_t)got,
					      SYNC_FILE_RANGE_WRITE);
		if (copy->cloner->options->compare &&
		    !gbe_file_comparer_range(&copy->cloner->comparer, copy->src, copy->dst, offset,
					     offset + got, copy->what, error))
			return false;
		offset += got;
		if (!report_progress(copy->cloner, offset, copy->what, error))
			return false;
	}
	return true;
}

static bool
copy_file(GbeFileCloner *cloner, int src, int dst, const struct stat *st, const char *what,
	  guint64 *ret_written, GError **error)
{
	GbeCold cold = cloner->options->cold;
	int cold_fd = cold == GBE_COLD_SOURCE ? src : cold == GBE_COLD_COPY ? dst : -1;
	guint64 size = (guint64)st->st_size, data = 0, hole = 0;
	g_autoptr(GbeWriteBehind) behind =
	    size > GBE_BEHIND_MAX ? gbe_write_behind_new(dst, cold_fd) : NULL;
	Copy copy = {
	    .cloner = cloner,
	    .src = src,
	    .dst = dst,
	    .size = size,
	    .what = what,
	    .behind = behind,
	};

	if (ftruncate(dst, st->st_size) < 0)
		return gbe_throw_errno(error, errno, "cannot set the size of the copy of %s", what);
	if (st->st_blocks > 0 && !preallocate(&copy, st, error))
		return false;
	if (GBE_FAULT("clone-file-allocated", error))
		return false;
	for (guint64 offset = 0; offset < size; offset = hole) {
		if (!gbe_next_data(src, offset, size, &data, &hole, what, error) ||
		    !copy_data(&copy, data, hole, error))
			return false;
		/* As in preallocate(): pages that were read after the end of the data are no data. */
		if (copy.reserved && hole < size)
			(void)posix_fadvise(src, (off_t)hole, 0, POSIX_FADV_DONTNEED);
	}
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
	if (!report_progress(cloner, 0, what, error))
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

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "fs/copy/write-behind.h"

#include <fcntl.h>
#include <stdbool.h>

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

/* The next part, or false at the end. */
static bool
next_part(GbeWriteBehind *behind, guint64 *ret_offset, guint64 *ret_size)
{
	bool more;

	g_mutex_lock(&behind->lock);
	while (behind->copied - behind->begun < PART_SIZE && !behind->end)
		g_cond_wait(&behind->changed, &behind->lock);
	*ret_offset = behind->begun;
	*ret_size = MIN(behind->copied - behind->begun, PART_SIZE);
	more = *ret_size > 0;
	g_mutex_unlock(&behind->lock);
	return more;
}

/* Waits until the part is on the disk, and drops a cold part from memory. */
static void
finish(const GbeWriteBehind *behind, guint64 offset, guint64 size)
{
	(void)sync_file_range(behind->fd, (off64_t)offset, (off64_t)size,
			      SYNC_FILE_RANGE_WAIT_BEFORE | SYNC_FILE_RANGE_WRITE |
				  SYNC_FILE_RANGE_WAIT_AFTER);
	if (behind->cold >= 0)
		(void)posix_fadvise(behind->cold, (off_t)offset, (off_t)size, POSIX_FADV_DONTNEED);
}

static gpointer
write_out(gpointer data)
{
	GbeWriteBehind *behind = data;
	guint64 offset, size;

	while (next_part(behind, &offset, &size)) {
		(void)sync_file_range(behind->fd, (off64_t)offset, (off64_t)size,
				      SYNC_FILE_RANGE_WRITE);
		if (offset >= GBE_BEHIND_MAX)
			finish(behind, offset - GBE_BEHIND_MAX, size);
		g_mutex_lock(&behind->lock);
		behind->begun = offset + size;
		g_cond_signal(&behind->changed);
		g_mutex_unlock(&behind->lock);
	}
	return NULL;
}

GbeWriteBehind *
gbe_write_behind_new(int fd, int cold)
{
	GbeWriteBehind *behind = g_new0(GbeWriteBehind, 1);

	behind->fd = fd;
	behind->cold = cold;
	g_mutex_init(&behind->lock);
	g_cond_init(&behind->changed);
	behind->thread = g_thread_try_new("write-behind", write_out, behind, NULL);
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

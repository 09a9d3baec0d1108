/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "disk-private.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/error.h"

static void *
memory(gsize size)
{
	void *at = mmap(NULL, size, PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (at == MAP_FAILED)
		g_error("no memory for a disk of %zu bytes: %s", size, g_strerror(errno));
	return at;
}

static void
entry_clear(gpointer entry)
{
	g_free(((Entry *)entry)->data);
}

static void
plan_clear(gpointer plan)
{
	g_free(((Plan *)plan)->kept);
}

Disk *
disk_new(gsize size)
{
	Disk *disk = g_new0(Disk, 1);

	g_assert(size % DISK_BLOCK == 0);
	disk->size = size;
	disk->base = memory(size);
	disk->live = memory(size);
	disk->differ = g_malloc0(size / DISK_BLOCK);
	disk->moved = g_malloc0(size / DISK_BLOCK);
	disk->undo = g_array_new(false, true, sizeof(Block));
	disk->log = g_array_new(false, true, sizeof(Entry));
	disk->epochs = g_array_new(false, true, sizeof(Epoch));
	disk->plans = g_array_new(false, true, sizeof(Plan));
	g_array_set_clear_func(disk->log, entry_clear);
	g_array_set_clear_func(disk->plans, plan_clear);
	return disk;
}

gsize
disk_size(const Disk *disk)
{
	return disk->size;
}

/* ---- content ---- */

static void
touch(Disk *disk, gsize offset, gsize length)
{
	if (length > 0)
		memset(disk->differ + offset / DISK_BLOCK, 1,
		       (offset + length - 1) / DISK_BLOCK - offset / DISK_BLOCK + 1);
}

void
disk_back_to_base(Disk *disk)
{
	guint8 *end = disk->differ + disk->size / DISK_BLOCK;
	guint8 *at = disk->differ;

	while ((at = memchr(at, 1, (gsize)(end - at))) != NULL) {
		gsize offset = (gsize)(at - disk->differ) * DISK_BLOCK;

		memcpy(disk->live + offset, disk->base + offset, DISK_BLOCK);
		*at++ = 0;
	}
}

static bool
load_content(Disk *disk, const char *path, GError **error)
{
	gbe_autofd int fd = open(path, O_RDONLY | O_CLOEXEC);
	off_t at = 0;

	if (fd < 0)
		return gbe_throw_errno(error, errno, "open %s", path);
	/* Untouched memory is zeros and costs nothing. */
	(void)munmap(disk->base, disk->size);
	(void)munmap(disk->live, disk->size);
	disk->base = memory(disk->size);
	disk->live = memory(disk->size);
	memset(disk->differ, 0, disk->size / DISK_BLOCK);
	while ((at = lseek(fd, at, SEEK_DATA)) >= 0 && at < (off_t)disk->size) {
		off_t hole = MIN(lseek(fd, at, SEEK_HOLE), (off_t)disk->size);

		while (at < hole) {
			ssize_t got = pread(fd, disk->base + at, (gsize)(hole - at), at);

			if (got <= 0)
				return gbe_throw_errno(error, errno, "read %s", path);
			touch(disk, (gsize)at, (gsize)got);
			at += got;
		}
	}
	disk_back_to_base(disk);
	return true;
}

bool
disk_load(Disk *disk, const char *path, GError **error)
{
	if (!load_content(disk, path, error))
		return false;
	disk_record(disk);
	disk->recording = false;
	return true;
}

bool
disk_save(const Disk *disk, const char *path, GError **error)
{
	static const guint8 zeros[DISK_BLOCK];
	gbe_autofd int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	if (fd < 0 || ftruncate(fd, (off_t)disk->size) < 0)
		return gbe_throw_errno(error, errno, "make %s", path);
	for (gsize at = 0; at < disk->size; at += DISK_BLOCK) {
		if (memcmp(disk->live + at, zeros, DISK_BLOCK) != 0 &&
		    pwrite(fd, disk->live + at, DISK_BLOCK, (off_t)at) != DISK_BLOCK)
			return gbe_throw_errno(error, errno, "write %s", path);
	}
	return true;
}

static void
log_append(Disk *disk, EntryKind kind, gsize offset, gsize length, const void *data)
{
	Entry entry = {.kind = kind, .offset = offset, .length = (guint32)length};

	if (!disk->recording)
		return;
	if (data != NULL)
		entry.data = g_memdup2(data, length);
	g_array_append_val(disk->log, entry);
}

void
disk_read(const Disk *disk, void *to, gsize offset, gsize length)
{
	memcpy(to, disk->live + offset, length);
}

void
disk_write(Disk *disk, const void *from, gsize offset, gsize length)
{
	memcpy(disk->live + offset, from, length);
	touch(disk, offset, length);
	log_append(disk, ENTRY_WRITE, offset, length, from);
}

void
disk_zero(Disk *disk, gsize offset, gsize length)
{
	memset(disk->live + offset, 0, length);
	touch(disk, offset, length);
	log_append(disk, ENTRY_ZERO, offset, length, NULL);
}

void
disk_flush(Disk *disk)
{
	log_append(disk, ENTRY_FLUSH, 0, 0, NULL);
}

/* ---- recording ---- */

void
disk_record(Disk *disk)
{
	for (gsize n = 0; n < disk->size / DISK_BLOCK; n++)
		if (disk->differ[n]) {
			memcpy(disk->base + n * DISK_BLOCK, disk->live + n * DISK_BLOCK,
			       DISK_BLOCK);
			disk->differ[n] = 0;
		}
	memset(disk->moved, 0, disk->size / DISK_BLOCK);
	g_array_set_size(disk->undo, 0);
	g_array_set_size(disk->log, 0);
	g_array_set_size(disk->epochs, 0);
	g_array_set_size(disk->plans, 0);
	disk->applied = 0;
	disk->mark = G_MAXUINT;
	disk->recording = true;
}

void
disk_mark(Disk *disk)
{
	log_append(disk, ENTRY_MARK, 0, 0, NULL);
}

/* ---- the recording as a file ---- */

bool
disk_save_log(const Disk *disk, const char *path, GError **error)
{
	FILE *file = fopen(path, "we");
	bool ok = file != NULL;

	for (guint n = 0; ok && n < disk->log->len; n++) {
		const Entry *entry = &g_array_index(disk->log, Entry, n);

		ok = fwrite(entry, sizeof *entry, 1, file) == 1 &&
		     (entry->data == NULL || fwrite(entry->data, entry->length, 1, file) == 1);
	}
	if (file != NULL)
		ok = fclose(file) == 0 && ok;
	return ok || gbe_throw_errno(error, errno, "write %s", path);
}

bool
disk_load_log(Disk *disk, const char *path, GError **error)
{
	FILE *file = fopen(path, "re");
	guint ignored;
	Entry entry;
	bool ok = file != NULL;

	g_array_set_size(disk->log, 0);
	while (ok && fread(&entry, sizeof entry, 1, file) == 1) {
		/* Its address of then means nothing any more. */
		entry.data = entry.kind == ENTRY_WRITE ? g_malloc(entry.length) : NULL;
		ok = entry.data == NULL || fread(entry.data, entry.length, 1, file) == 1;
		g_array_append_val(disk->log, entry);
	}
	if (file != NULL)
		(void)fclose(file);
	if (!ok)
		return gbe_throw_errno(error, errno, "read %s", path);
	disk_stop(disk, &ignored, &ignored);
	return true;
}

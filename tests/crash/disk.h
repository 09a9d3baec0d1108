/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A disk in memory that records the order of writes and flushes. The disk can be set to each state that a power cut may
 * leave.
 *
 * Between two flushes a disk with a cache may keep any of the writes, and any blocks of a write. An *epoch* is the
 * writes between two flushes. A *state* is everything before an epoch and some of its writes, in their order. Blocks of
 * 4096 bytes are written whole or not at all.
 *
 * Not thread-safe: who shares it locks it.
 */
#pragma once

#include <glib.h>
#include <stdbool.h>

#define DISK_BLOCK 4096

typedef struct Disk Disk;

typedef struct {
	guint epoch;
	guint kept;   /* writes of the epoch that are in it, whole or in part */
	guint of;     /* writes of the epoch */
	bool after;   /* the power may have gone after disk_mark() */
	char kind[8]; /* flush, prefix, one, all-one, some, torn */
} DiskState;

Disk *disk_new(gsize size);
/* Contents from, or to, a file with holes. Loading forgets what was recorded. */
bool disk_load(Disk *disk, const char *path, GError **error);
bool disk_save(const Disk *disk, const char *path, GError **error);

void disk_read(const Disk *disk, void *to, gsize offset, gsize length);
void disk_write(Disk *disk, const void *from, gsize offset, gsize length);
void disk_zero(Disk *disk, gsize offset, gsize length);
void disk_flush(Disk *disk);
gsize disk_size(const Disk *disk);

/* From now on; the present content is what states begin with. */
void disk_record(Disk *disk);
/* From here on the previous operations are promised to survive a power cut. */
void disk_mark(Disk *disk);
void disk_stop(Disk *disk, guint *ret_writes, guint *ret_flushes);
/* The content from which was recorded, or loaded. */
void disk_reset(Disk *disk);

/* Chooses all states at flushes, and about @budget between them; returns how many there are. The same recording,
 * @budget and @seed give the same states. */
guint disk_plan(Disk *disk, guint budget, guint64 seed);
/* Puts the disk into one of them. */
bool disk_state(Disk *disk, guint number, DiskState *ret_state);
/* Says which writes of its epoch are in it, one a line. */
char *disk_describe(Disk *disk, guint number);

/* The recording itself, so that a state can be looked at again. */
bool disk_save_log(const Disk *disk, const char *path, GError **error);
bool disk_load_log(Disk *disk, const char *path, GError **error);

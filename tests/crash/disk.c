/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "disk.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/error.h"

typedef enum { ENTRY_WRITE, ENTRY_ZERO, ENTRY_FLUSH, ENTRY_MARK } EntryKind;

typedef struct {
	guint32 kind;
	guint32 length;
	guint64 offset;
	guint8 *data; /* of a write */
} Entry;

/* A state to be: which writes of an epoch. */
typedef struct {
	guint epoch;
	char kind[8];
	guint8 *kept; /* a byte for each write: 0 no, 1 all of it, 2 some blocks */
	guint64 seed; /* of the blocks */
} Plan;

typedef struct {
	guint first, end; /* entries */
	guint writes;
} Epoch;

typedef struct {
	gsize number;
	guint8 content[DISK_BLOCK];
} Block;

struct Disk {
	gsize size;
	guint8 *base;	/* what is durable before the state's epoch */
	guint8 *live;	/* what is served */
	guint8 *differ; /* a byte for each block: live may differ from base */
	guint8
	    *moved; /* a byte for each block: base is not as recorded from, the block is in undo */
	GArray *undo; /* Block */
	bool recording;
	GArray *log;	/* Entry */
	GArray *epochs; /* Epoch */
	GArray *plans;	/* Plan */
	guint applied;	/* entries that are in base */
	guint mark;	/* epoch in which the mark was set */
};

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
	disk->undo = g_array_new(FALSE, TRUE, sizeof(Block));
	disk->log = g_array_new(FALSE, TRUE, sizeof(Entry));
	disk->epochs = g_array_new(FALSE, TRUE, sizeof(Epoch));
	disk->plans = g_array_new(FALSE, TRUE, sizeof(Plan));
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

static void
back_to_base(Disk *disk)
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
	back_to_base(disk);
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

/* Epochs without a write are of no interest: their state is that of the next one. */
static void
find_epochs(Disk *disk)
{
	Epoch epoch = {0};
	bool marked = false;

	g_array_set_size(disk->epochs, 0);
	disk->mark = G_MAXUINT;
	for (guint n = 0; n < disk->log->len; n++) {
		EntryKind kind = g_array_index(disk->log, Entry, n).kind;

		epoch.writes += kind == ENTRY_WRITE || kind == ENTRY_ZERO;
		marked = marked || kind == ENTRY_MARK;
		if (kind != ENTRY_FLUSH)
			continue;
		epoch.end = n;
		if (epoch.writes > 0) {
			if (marked && disk->mark == G_MAXUINT)
				disk->mark = disk->epochs->len;
			g_array_append_val(disk->epochs, epoch);
			epoch = (Epoch){.first = n + 1};
		}
	}
	epoch.end = disk->log->len;
	if (marked && disk->mark == G_MAXUINT)
		disk->mark = disk->epochs->len;
	g_array_append_val(disk->epochs, epoch);
}

void
disk_stop(Disk *disk, guint *ret_writes, guint *ret_flushes)
{
	*ret_writes = *ret_flushes = 0;
	disk->recording = false;
	for (guint n = 0; n < disk->log->len; n++) {
		EntryKind kind = g_array_index(disk->log, Entry, n).kind;

		*ret_writes += kind == ENTRY_WRITE || kind == ENTRY_ZERO;
		*ret_flushes += kind == ENTRY_FLUSH;
	}
	find_epochs(disk);
}

/* The one place where a write is done again. @blocks: a seed that chooses some of its blocks, 0: all. */
static void
apply(const Disk *disk, guint8 *to, const Entry *entry, guint64 blocks, guint8 *differ)
{
	for (gsize done = 0; done < entry->length;) {
		gsize at = entry->offset + done;
		gsize length = MIN(entry->length - done, DISK_BLOCK - at % DISK_BLOCK);

		blocks = blocks != 0 ? blocks * 6364136223846793005u + 1442695040888963407u : 0;
		if (blocks == 0 || (blocks >> 62) != 0) {
			if (entry->kind == ENTRY_WRITE)
				memcpy(to + at, entry->data + done, length);
			else
				memset(to + at, 0, length);
		}
		differ[at / DISK_BLOCK] = 1;
		done += length;
	}
	g_assert(entry->offset + entry->length <= disk->size);
}

void
disk_reset(Disk *disk)
{
	for (guint n = 0; n < disk->undo->len; n++) {
		const Block *block = &g_array_index(disk->undo, Block, n);

		memcpy(disk->base + block->number * DISK_BLOCK, block->content, DISK_BLOCK);
		disk->moved[block->number] = 0;
		disk->differ[block->number] = 1;
	}
	g_array_set_size(disk->undo, 0);
	disk->applied = 0;
	back_to_base(disk);
}

/* What is before the epoch becomes durable. */
static void
advance(Disk *disk, guint until)
{
	for (; disk->applied < until; disk->applied++) {
		const Entry *entry = &g_array_index(disk->log, Entry, disk->applied);
		gsize last = (entry->offset + MAX(entry->length, 1) - 1) / DISK_BLOCK;

		if (entry->kind != ENTRY_WRITE && entry->kind != ENTRY_ZERO)
			continue;
		for (gsize n = entry->offset / DISK_BLOCK; n <= last; n++) {
			Block block = {.number = n};

			if (disk->moved[n])
				continue;
			memcpy(block.content, disk->base + n * DISK_BLOCK, DISK_BLOCK);
			g_array_append_val(disk->undo, block);
			disk->moved[n] = 1;
		}
		apply(disk, disk->base, entry, 0, disk->differ);
	}
}

/* ---- states ---- */

static guint64
next_random(guint64 *seed)
{
	guint64 x = *seed += 0x9e3779b97f4a7c15u;

	x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
	x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
	return x ^ (x >> 31);
}

/* Which writes are kept: what journals and logs are most easily wrong about comes up often. */
static void
choose(Plan *plan, guint writes, guint how, guint64 *seed)
{
	guint one = (guint)(next_random(seed) % writes);
	guint8 chance = how == 4 ? 230 : 128; /* of 256 */

	for (guint n = 0; n < writes; n++) {
		switch (how) {
		case 0:
			plan->kept[n] = n <= one;
			break;
		case 1:
			plan->kept[n] = n != one;
			break;
		case 2:
			plan->kept[n] = n == one;
			break;
		case 5:
			plan->kept[n] = next_random(seed) % 4 != 0 ? 1 : 2;
			break;
		default:
			plan->kept[n] = (next_random(seed) & 255) < chance;
		}
	}
}

static void
plan_epoch(Disk *disk, guint number, guint budget, guint64 seed)
{
	static const char *const kinds[] = {"prefix", "all-one", "one", "some", "most", "torn"};
	const Epoch *epoch = &g_array_index(disk->epochs, Epoch, number);
	g_autoptr(GHashTable) seen =
	    g_hash_table_new_full(g_bytes_hash, g_bytes_equal, (GDestroyNotify)g_bytes_unref, NULL);
	Plan plan = {.epoch = number, .kind = "flush"};

	plan.kept = g_malloc0(epoch->writes + 1);
	g_hash_table_add(seen, g_bytes_new(plan.kept, epoch->writes));
	g_array_append_val(disk->plans, plan);
	for (guint try = 0; epoch->writes > 0 && try < 2 * budget; try++) {
		guint how = try % G_N_ELEMENTS(kinds);
		GBytes *bytes;

		if (g_hash_table_size(seen) > budget)
			return;
		plan.kept = g_malloc0(epoch->writes + 1);
		plan.seed = next_random(&seed) | 1;
		choose(&plan, epoch->writes, how, &seed);
		g_strlcpy(plan.kind, kinds[how], sizeof plan.kind);
		bytes = g_bytes_new(plan.kept, epoch->writes);
		if (!g_hash_table_add(seen, bytes))
			g_free(plan.kept);
		else
			g_array_append_val(disk->plans, plan);
	}
}

guint
disk_plan(Disk *disk, guint budget, guint64 seed)
{
	guint epochs = disk->epochs->len;
	guint64 total = 0;

	disk_reset(disk);
	g_array_set_size(disk->plans, 0);
	for (guint n = 0; n < epochs; n++)
		total += MIN(g_array_index(disk->epochs, Epoch, n).writes, 40);
	for (guint n = 0; n < epochs; n++) {
		guint64 writes = MIN(g_array_index(disk->epochs, Epoch, n).writes, 40);
		guint share = total > 0 ? (guint)((budget * writes + total - 1) / total) : 0;

		plan_epoch(disk, n, share, seed ^ ((guint64)n << 32));
	}
	return disk->plans->len;
}

bool
disk_state(Disk *disk, guint number, DiskState *ret_state)
{
	const Plan *plan;
	const Epoch *epoch;
	guint write = 0;

	if (number >= disk->plans->len)
		return false;
	plan = &g_array_index(disk->plans, Plan, number);
	epoch = &g_array_index(disk->epochs, Epoch, plan->epoch);
	if (epoch->first < disk->applied)
		disk_reset(disk);
	advance(disk, epoch->first);
	back_to_base(disk);
	*ret_state = (DiskState){.epoch = plan->epoch,
				 .of = epoch->writes,
				 .after = plan->epoch >= disk->mark};
	g_strlcpy(ret_state->kind, plan->kind, sizeof ret_state->kind);
	for (guint n = epoch->first; n < epoch->end; n++) {
		const Entry *entry = &g_array_index(disk->log, Entry, n);
		guint8 kept;

		if (entry->kind != ENTRY_WRITE && entry->kind != ENTRY_ZERO)
			continue;
		kept = plan->kept[write++];
		if (kept == 0)
			continue;
		apply(disk, disk->live, entry, kept == 2 ? plan->seed + write : 0, disk->differ);
		ret_state->kept++;
	}
	return true;
}

char *
disk_describe(Disk *disk, guint number)
{
	static const char *const words[] = {"lost", "kept", "torn"};
	GString *text = g_string_new(NULL);
	const Plan *plan;
	const Epoch *epoch;
	guint write = 0;

	if (number >= disk->plans->len)
		return g_string_free(text, FALSE);
	plan = &g_array_index(disk->plans, Plan, number);
	epoch = &g_array_index(disk->epochs, Epoch, plan->epoch);
	for (guint n = epoch->first; n < epoch->end; n++) {
		const Entry *entry = &g_array_index(disk->log, Entry, n);

		if (entry->kind == ENTRY_MARK)
			g_string_append(text, "done ");
		if (entry->kind == ENTRY_WRITE || entry->kind == ENTRY_ZERO)
			g_string_append_printf(text, "%s:%" G_GUINT64_FORMAT "+%u%s ",
					       words[plan->kept[write++]], entry->offset,
					       entry->length, entry->data == NULL ? "(zeros)" : "");
	}
	return g_string_free(text, FALSE);
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

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "disk-private.h"

#include <string.h>

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
	disk_back_to_base(disk);
}

/* The writes before the epoch become durable. */
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

/* Chooses the writes that are kept. Choices that journals and logs often handle wrongly come up often. */
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
	disk_back_to_base(disk);
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
		return g_string_free(text, false);
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
	return g_string_free(text, false);
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "etcd/db/history.h"

#include <string.h>

/* The memory of one verification: 15 MiB of table, filled to 13/16, 8 MiB of sketch, and a bit for each of 32 Mi
 * rows. */
#define SLOTS_MAX (1280U * 1024U)
#define SLOTS_MIN 1024U
#define SKETCH_BYTES (8U * 1024 * 1024)
#define SKETCH_SLOTS (SKETCH_BYTES * 4U)
#define BITS_MAX_BYTES (4U * 1024 * 1024)
/* Rows wait here until the processor has fetched their slot from memory. */
#define RING 16U
#define PARTS 65536U

/* 43 bits of the key's hash, in addition to the bits that chose the slot, and 20 bits of the state after its last
 * row. */
typedef struct {
	guint32 tag_high;
	guint32 tag_low_state;
	guint32 ordinal;
} Slot;

#define STATE_BITS 20U
#define STATE_MASK ((1U << STATE_BITS) - 1)
#define STATE_DELETED 0U

typedef enum {
	/* every key, in the table and in the sketch, which is needed when the table gets too full */
	STAGE_ALL,
	STAGE_PARTS, /* keys with more than one row, in parts */
} Stage;

struct _GbeHistory {
	gint64 compacted;
	Slot *slots;
	guint32 slot_count, slots_used;
	guint8 *sketch;
	guint8 *bits; /* of superseded rows */
	gsize bits_size;
	bool bits_full;
	Stage stage;
	guint32 from, to, step; /* the part of the keys that belongs to this pass */
	bool too_many;		/* in this pass, which is then void */
	bool first_part;
	GbeHistoryResult pass, total;
	GbeHistoryRow ring[RING];
	guint ring_at;
};

GbeHistory *
gbe_history_new(gint64 compacted, guint64 rows)
{
	GbeHistory *history = g_new0(GbeHistory, 1);

	history->compacted = compacted;
	history->slot_count = (guint32)CLAMP(rows + rows / 4, SLOTS_MIN, SLOTS_MAX);
	history->slots = g_new0(Slot, history->slot_count);
	if (rows > history->slot_count / 16 * 13)
		history->sketch = g_malloc0(SKETCH_BYTES);
	history->to = PARTS;
	history->first_part = true;
	return history;
}

void
gbe_history_free(GbeHistory *history)
{
	if (history == NULL)
		return;
	g_free(history->slots);
	g_free(history->sketch);
	g_free(history->bits);
	g_free(history);
}

/* ---- the parts of a hash ---- */

static guint32
slot_of(const GbeHistory *history, guint64 hash)
{
	return (guint32)(((hash & G_MAXUINT32) * history->slot_count) >> 32);
}

static guint64
sketch_slot(guint64 hash)
{
	return (hash * G_GUINT64_CONSTANT(0xD6E8FEB86659FD93)) >> 39;
}

/* The last put of a live key, in few bits. */
static guint32
state_of(gint64 create, guint64 version)
{
	guint64 mixed = ((guint64)create * G_GUINT64_CONSTANT(0x9E3779B97F4A7C15)) ^
			(version * G_GUINT64_CONSTANT(0xC2B2AE3D27D4EB4F));

	mixed = (mixed ^ (mixed >> 31)) * G_GUINT64_CONSTANT(0xD6E8FEB86659FD93);
	return (guint32)(mixed >> (64 - STATE_BITS)) | 1U;
}

/* ---- superseded rows ---- */

static void
mark_superseded(GbeHistory *history, guint32 ordinal)
{
	gsize byte = ordinal / 8;

	if (ordinal == GBE_ORDINAL_NONE || history->bits_full)
		return;
	if (byte >= history->bits_size) {
		gsize size = MAX(byte + 1, MAX(4096, 2 * history->bits_size));

		if (byte >= BITS_MAX_BYTES) {
			history->bits_full = true;
			return;
		}
		size = MIN(size, BITS_MAX_BYTES);
		history->bits = g_realloc(history->bits, size);
		memset(history->bits + history->bits_size, 0, size - history->bits_size);
		history->bits_size = size;
	}
	history->bits[byte] |= (guint8)(1U << (ordinal % 8));
}

bool
gbe_history_is_superseded(const GbeHistory *history, guint32 ordinal)
{
	return ordinal / 8 < history->bits_size &&
	       (history->bits[ordinal / 8] >> (ordinal % 8) & 1) != 0;
}

/* ---- the rules ---- */

static void
note_broken(GbeHistory *history, gint64 main)
{
	if (history->pass.broken < GBE_HISTORY_BROKEN_MAX)
		history->pass.broken_at[history->pass.broken] = main;
	history->pass.broken++;
}

/* The first row of its key. Beyond the compacted revision it has no predecessor. */
static void
begin_key(GbeHistory *history, const GbeHistoryRow *row)
{
	if (row->tombstone) {
		if (row->main > history->compacted)
			note_broken(history, row->main);
		mark_superseded(history, row->ordinal);
		return;
	}
	if (row->main > history->compacted && (row->version != 1 || row->create != row->main))
		note_broken(history, row->main);
	history->pass.live++;
}

/* @before: the state after the key's last row. */
static void
follow_key(GbeHistory *history, const GbeHistoryRow *row, guint32 before, guint32 before_ordinal)
{
	bool bound = row->main > history->compacted;

	if (before == STATE_DELETED) {
		begin_key(history, row);
		return;
	}
	mark_superseded(history, before_ordinal);
	if (row->tombstone) {
		mark_superseded(history, row->ordinal);
		history->pass.live--;
	} else if (bound && before != state_of(row->create, (guint64)row->version - 1)) {
		note_broken(history, row->main);
	}
}

/* ---- the table ---- */

static void
put_in_table(GbeHistory *history, const GbeHistoryRow *row)
{
	guint32 state =
	    row->tombstone ? STATE_DELETED : state_of(row->create, (guint64)row->version);
	guint32 high = (guint32)(row->hash >> 32) | 1U; /* 0 marks an empty slot */
	guint32 low = (guint32)(row->hash & 0xfff) << STATE_BITS;
	guint32 at = slot_of(history, row->hash);
	Slot *slot;

	for (;;) {
		slot = &history->slots[at];
		if (slot->tag_high == 0 ||
		    (slot->tag_high == high && (slot->tag_low_state & ~STATE_MASK) == low))
			break;
		at = at + 1 < history->slot_count ? at + 1 : 0;
	}
	if (slot->tag_high == 0) {
		if (history->slots_used >= history->slot_count / 16 * 13) {
			history->too_many = true;
			return;
		}
		history->slots_used++;
		slot->tag_high = high;
		begin_key(history, row);
	} else {
		follow_key(history, row, slot->tag_low_state & STATE_MASK, slot->ordinal);
	}
	slot->tag_low_state = low | state;
	slot->ordinal = row->ordinal;
}

/* How often a hash was seen: 0, 1, or 2 for more. Without a sketch every hash may repeat. */
static guint
sketch_count(const GbeHistory *history, guint64 hash)
{
	guint64 at = sketch_slot(hash);

	if (history->sketch == NULL)
		return 2;
	return history->sketch[at / 4] >> (2 * (at % 4)) & 3;
}

static void
process_row(GbeHistory *history, const GbeHistoryRow *row)
{
	guint64 at = sketch_slot(row->hash);
	guint32 part = (guint32)(row->hash >> 48);

	if (history->stage == STAGE_ALL) {
		/* Without a sketch the count is 2. */
		if (sketch_count(history, row->hash) < 2)
			history->sketch[at / 4] =
			    (guint8)(history->sketch[at / 4] + (1U << (2 * (at % 4))));
	} else if (sketch_count(history, row->hash) == 1) {
		/* The only row of its key. */
		if (history->first_part)
			begin_key(history, row);
		return;
	} else if (part < history->from || part >= history->to) {
		return;
	}
	if (!history->too_many)
		put_in_table(history, row);
}

void
gbe_history_add(GbeHistory *history, const GbeHistoryRow *row)
{
	GbeHistoryRow *place = &history->ring[history->ring_at % RING];

	if (history->ring_at >= RING)
		process_row(history, place);
	*place = *row;
	history->ring_at++;
	if (history->sketch != NULL)
		__builtin_prefetch(&history->sketch[sketch_slot(row->hash) / 4], 1);
	if (!history->too_many)
		__builtin_prefetch(&history->slots[slot_of(history, row->hash)], 1);
}

/* ---- passes ---- */

/* Estimates the number of keys with more than one row from the fill of the sketch, and from that the number of
 * passes. */
static guint32
parts_needed(const GbeHistory *history)
{
	guint64 once = 0;
	guint64 more = 0;
	double full;
	double term;
	double keys = 0;

	if (history->sketch == NULL)
		return 2;
	for (gsize i = 0; i < SKETCH_BYTES; i++)
		for (guint shift = 0; shift < 8; shift += 2) {
			guint count = history->sketch[i] >> shift & 3;

			once += count == 1;
			more += count > 1;
		}
	full = (double)(once + more) / SKETCH_SLOTS;
	/* -ln(1 - full) */
	term = full;
	for (guint i = 1; i <= 200; i++, term *= full)
		keys += term / i;
	keys = keys * SKETCH_SLOTS - (double)once;
	return (guint32)CLAMP(keys * 1.1 / (history->slot_count / 16 * 13) + 1, 1, 4096);
}

static bool
next_stage(GbeHistory *history, bool is_void)
{
	if (history->stage == STAGE_ALL) {
		if (!is_void)
			return false;
		history->stage = STAGE_PARTS;
		history->step = PARTS / parts_needed(history);
		history->to = MIN(PARTS, history->step);
		return true;
	}
	if (!is_void) {
		history->first_part = false;
		history->from = history->to;
	} else if (history->step > 1) {
		history->step /= 2;
	} else {
		/* The keys were made to fall into one part. The time is also bounded. */
		history->total.incomplete = true;
		return false;
	}
	history->to = MIN(PARTS, history->from + history->step);
	return history->from < PARTS;
}

bool
gbe_history_end_pass(GbeHistory *history)
{
	guint left = MIN(history->ring_at, RING);
	GbeHistoryResult *total = &history->total;
	const GbeHistoryResult *pass = &history->pass;
	bool is_void = false;
	bool more;

	for (guint i = 0; i < left; i++)
		process_row(history, &history->ring[(history->ring_at - left + i) % RING]);
	history->ring_at = 0;
	total->passes++;
	is_void = history->too_many;
	for (guint64 i = 0;
	     !is_void && i < pass->broken && total->broken + i < GBE_HISTORY_BROKEN_MAX; i++)
		total->broken_at[total->broken + i] = pass->broken_at[i];
	if (!is_void) {
		total->broken += pass->broken;
		total->live += pass->live;
	}
	history->pass = (GbeHistoryResult){0};
	history->too_many = false;
	more = next_stage(history, is_void);
	total->knows_superseded = !history->bits_full && !total->incomplete;
	total->has_superseded = history->bits_size > 0;
	if (more) {
		memset(history->slots, 0, sizeof(Slot) * history->slot_count);
		history->slots_used = 0;
	}
	return more;
}

const GbeHistoryResult *
gbe_history_result(const GbeHistory *history)
{
	return &history->total;
}

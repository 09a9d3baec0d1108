/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Shared by disk.c (content, recording) and states.c (the states after a cut). */
#pragma once

#include "disk.h"

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

/* Serve the durable content again. */
void disk_back_to_base(Disk *disk);

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What the messages consist of: one table for protocol buffers and JSON. Internal to messages*.c. */
#pragma once

#include "etcd/messages.h"

typedef enum {
	KIND_U64,   /* int64 as well, as two's complement */
	KIND_BOOL,  /* gboolean */
	KIND_TEXT,  /* char * */
	KIND_TEXTS, /* GPtrArray * of char * */
	KIND_ALARM,
	KIND_PART, /* a message within the struct */
	KIND_LIST, /* GArray * of messages */
} GbeFieldKind;

typedef struct GbeMessageField GbeMessageField;
struct GbeMessageField {
	guint32 number;
	const char *json;
	GbeFieldKind kind;
	gsize offset;
	const GbeMessageField *fields; /* of a message; the last has number 0 */
	guint size;		       /* of a list's element */
};

typedef struct {
	const char *name;
	const GbeMessageField *fields;
	gsize size; /* of the struct */
} GbeMessageTable;

extern const GbeMessageTable gbe_message_tables[GBE_N_MESSAGES];

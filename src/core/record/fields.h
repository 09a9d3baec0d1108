/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A record, or the answer of a verb, described once: a table of its fields, from which reading, writing, copying and
 * freeing follow. The order of the table is the order of the members in the JSON. An absent member reads as not known.
 */
#pragma once

#include "core/json/members.h"
#include "core/words.h"

typedef enum {
	GBE_FIELD_TEXT =
	    1,		 /* char *; NULL is written as null. ->of: its GbeKind, or NULL: any text */
	GBE_FIELD_NAMES, /* char **, NULL-terminated, or NULL */
	GBE_FIELD_NUMBER,   /* guint64 */
	GBE_FIELD_SEQUENCE, /* guint64; required, and not 0 */
	GBE_FIELD_COUNT,    /* guint */
	GBE_FIELD_TIME,	    /* gint64 */
	GBE_FIELD_KNOWN,    /* gint64; negative: not known, written as null */
	GBE_FIELD_FLAG,	    /* bool */
	GBE_FIELD_TRI,	    /* GbeTri */
	GBE_FIELD_WORD,	    /* an enumeration. ->of: its GbeWords */
	GBE_FIELD_PART,	    /* a structure. ->of: its GbeField table */
	/* The kinds that follow are for answers. */
	GBE_FIELD_MOMENT,  /* gint64; 0 or negative: not known, written as null */
	GBE_FIELD_INTEGER, /* gint64; G_MININT64: not known, written as null */
	GBE_FIELD_SECONDS, /* gint64, microseconds; written as seconds with a fraction */
	GBE_FIELD_TEXTS,   /* GPtrArray * of char *; NULL: empty */
	GBE_FIELD_LIST,	   /* GPtrArray * of structures; NULL: empty. ->of: its GbeFieldItems */
	GBE_FIELD_MAYBE,   /* a pointer to a structure; NULL: null. ->of: its GbeFieldItems */
	GBE_FIELD_OWN,	   /* anything else. ->of: its GbeFieldOwn */
	/* The kinds that follow are for answers that are only written. */
	GBE_FIELD_ID,	   /* guint64; written as 16 hex digits; 0: not known, written as null */
	GBE_FIELD_ARRAY,   /* GArray * of structures; NULL: empty. ->of: its GbeFieldItems */
	GBE_FIELD_SAID,	   /* an enumeration; written as a word. ->of: const char *(value) */
	GBE_FIELD_PRESENT, /* a pointer; written as whether it is not NULL */
	GBE_FIELD_MORE,	   /* a structure whose members stand in the same object. ->of: its table */
} GbeFieldKind;

typedef enum {
	GBE_FIELD_NEEDED = 1, /* absent or null is an error */
	GBE_FIELD_THERE = 2,  /* absent is an error, null is not */
	/* Written only where it is set: format 1 began without it. Of a text, a flag, or a number that may be unknown. */
	GBE_FIELD_LATER = 4,
	GBE_FIELD_OR_NULL = 8, /* a part: null where its first field, a text, is NULL */
	GBE_FIELD_ALWAYS = 16, /* of an answer, for its schema: the member is never null */
} GbeFieldFlags;

typedef struct {
	const char *key; /* NULL: in memory only. The end of a table has no kind. */
	GbeFieldKind kind;
	gsize offset;
	const void *of;
	GbeFieldFlags flags;
} GbeField;

/* The structures that a list or a pointer leads to. They are made with g_malloc(). */
typedef struct {
	const GbeField *fields;
	gsize size; /* bytes */
} GbeFieldItems;

/* How a field of its own kind is handled. @key is the field's. */
typedef struct {
	void (*init)(void *field); /* NULL: zeros are right */
	void (*read)(GbeMembers *m, const char *key, void *field);
	void (*print)(JsonObject *object, const char *key, const void *field);
	void (*own)(void *field); /* replaces what it points to by a copy */
	void (*clear)(void *field);
} GbeFieldOwn;

#define GBE_FIELD_TYPE_TEXT char *
#define GBE_FIELD_TYPE_NAMES char **
#define GBE_FIELD_TYPE_NUMBER guint64
#define GBE_FIELD_TYPE_SEQUENCE guint64
#define GBE_FIELD_TYPE_COUNT guint
#define GBE_FIELD_TYPE_TIME gint64
#define GBE_FIELD_TYPE_KNOWN gint64
#define GBE_FIELD_TYPE_FLAG bool
#define GBE_FIELD_TYPE_TRI GbeTri
#define GBE_FIELD_TYPE_WORD guint
#define GBE_FIELD_TYPE_MOMENT gint64
#define GBE_FIELD_TYPE_INTEGER gint64
#define GBE_FIELD_TYPE_SECONDS gint64
#define GBE_FIELD_TYPE_TEXTS GPtrArray *
#define GBE_FIELD_TYPE_LIST GPtrArray *
#define GBE_FIELD_TYPE_ID guint64
#define GBE_FIELD_TYPE_ARRAY GArray *
#define GBE_FIELD_TYPE_PRESENT void *
#define GBE_FIELD_TYPE_SAID guint
#define GBE_FIELD(type, member, key, kind)                                                         \
	{                                                                                          \
		key, GBE_FIELD_##kind, GBE_TYPED_OFFSET(type, member, GBE_FIELD_TYPE_##kind),      \
		    NULL, 0                                                                        \
	}
#define GBE_FIELD_OF(type, member, key, kind, of, flags)                                           \
	{                                                                                          \
		key, GBE_FIELD_##kind, GBE_TYPED_OFFSET(type, member, GBE_FIELD_TYPE_##kind), of,  \
		    flags                                                                          \
	}
/* The same, never null. */
#define GBE_FIELD_SET(type, member, key, kind)                                                     \
	GBE_FIELD_OF(type, member, key, kind, NULL, GBE_FIELD_ALWAYS)
/* PART, MAYBE, OWN and MORE: of any type. */
#define GBE_FIELD_BY(type, member, key, kind, of, flags)                                           \
	{                                                                                          \
		key, GBE_FIELD_##kind, offsetof(type, member), of, flags                           \
	}

/* Sets what is not known to -1 in a record of zeros. */
void gbe_fields_init(const GbeField *fields, void *record);
/* Sets all fields that have a key. After an error in @m, the caller discards the record. */
void gbe_fields_read(const GbeField *fields, GbeMembers *m, void *record);
/* Fills in @record, where a member that cannot be read is not known. @object NULL: none is. */
void gbe_fields_read_known(const GbeField *fields, JsonObject *object, void *record);
/* Members of @object that are in no field are left alone, and so is a word that reads as the value to write. */
void gbe_fields_print(const GbeField *fields, JsonObject *object, const void *record);
/* The object of an answer, with "schema" in it. */
JsonObject *gbe_fields_answer(const GbeField *fields, const void *answer);
/* @record is a bitwise copy. Afterwards it owns everything that its fields point to. */
void gbe_fields_own(const GbeField *fields, void *record);
/* Frees what the fields point to. Every pointer is NULL then; the rest stays. */
void gbe_fields_clear(const GbeField *fields, void *record);
/* A structure of zeros with what is not known, and its end. */
void *gbe_fields_new(const GbeFieldItems *items);
void gbe_fields_free(const GbeFieldItems *items, void *record);

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The members of one JSON object, read one by one by a record's reader. The first wrong member is
 * remembered and later reads give fallbacks, so a reader checks the error once, at its end.
 */
#pragma once

#include "core/tri.h"

#include <json-glib/json-glib.h>
#include <stdbool.h>
#include <stddef.h>

/*
 * Absent and null are the same, and not wrong: gbe_members_need() names the required members. A member with another
 * type than format 1 gives it is wrong: keys never change their meaning, so no newer program wrote it. An unknown word
 * (a newer program's) is not wrong. It survives rewriting as long as its value does not change.
 */

/* The format of all records. */
#define GBE_FORMAT 1

typedef struct {
	JsonObject *object; /* borrowed */
	const char *in;	    /* goes before a key in a message, e.g. "trial."; "" at the top */
	GError *error;	    /* the first, or NULL */
} GbeMembers;

/* Checks a string, and gives the message for one that is not: "is not a deployment id". */
typedef struct {
	bool (*valid)(const char *text);
	const char *otherwise;
} GbeKind;

extern const GbeKind gbe_kind_deployment, gbe_kind_run, gbe_kind_backup, gbe_kind_hex64,
    gbe_kind_path; /* absolute, no ".." */

/* A relative path that stays below its start: every component is a name, and not empty, "." or "..". Root follows paths of
 * records and of the configuration. */
bool gbe_path_is_below(const char *path);

/* In tables that say which type a field has: a field of another size does not compile. */
#define GBE_TYPED_OFFSET(structure, member, type)                                                  \
	(offsetof(structure, member) +                                                             \
	 0 * sizeof(char[sizeof(((structure *)0)->member) == sizeof(type) ? 1 : -1]))

void gbe_members_need(GbeMembers *m, const char *key);
/* Newly allocated, or NULL. @kind NULL: any string is right. */
char *gbe_members_string(GbeMembers *m, const char *key, const GbeKind *kind);
/* For words, which the caller's table reads. Borrowed. NULL where absent. */
const char *gbe_members_word(GbeMembers *m, const char *key);
/* Not negative. */
guint64 gbe_members_u64(GbeMembers *m, const char *key, guint64 fallback);
guint gbe_members_uint(GbeMembers *m, const char *key, guint fallback);
/* A sequence number: required, 1 or more. */
guint64 gbe_members_sequence(GbeMembers *m, const char *key);
gint64 gbe_members_i64(GbeMembers *m, const char *key, gint64 fallback);
bool gbe_members_bool(GbeMembers *m, const char *key);
GbeTri gbe_members_tri(GbeMembers *m, const char *key); /* true, false, null */
JsonObject *gbe_members_object(GbeMembers *m, const char *key);
JsonArray *gbe_members_array(GbeMembers *m, const char *key);
/* NULL-terminated, or NULL where absent or empty. */
char **gbe_members_strv(GbeMembers *m, const char *key);
/* Sets the error "KEY is not what", unless there is one already. */
void gbe_members_fail(GbeMembers *m, const char *key, const char *what);
/* False with @error "@what: ..." (GBE_ERROR_CORRUPT) when a member was wrong. Frees ->error. */
bool gbe_members_end(GbeMembers *m, const char *what, GError **error);

/* A file name is bytes and JSON is UTF-8, so a name that is not UTF-8 is written in hex. gbe_name_to_hex() gives NULL
 * for UTF-8, gbe_hex_to_name() for hex that is no name. Newly allocated. */
char *gbe_name_to_hex(const char *name);
char *gbe_hex_to_name(const char *hex);

/* Writing. A deep copy; NULL gives an empty object. */
JsonObject *gbe_json_copy_object(JsonObject *object);
/* The object in @key, created where it is absent. Borrowed. Foreign keys in it survive. */
JsonObject *gbe_json_open_object(JsonObject *object, const char *key);
void gbe_json_set_tri(JsonObject *object, const char *key, GbeTri value);
/* Writes null where @value is negative. */
void gbe_json_set_known(JsonObject *object, const char *key, gint64 value);
/* Writes null where @strv is NULL, and {"hex"} in place of a string that is not UTF-8. */
void gbe_json_set_strv(JsonObject *object, const char *key, char *const *strv);
/* Writes the larger of GBE_FORMAT and @format, and the program that wrote it. */
void gbe_json_set_format(JsonObject *object, guint format, const char *written_by);

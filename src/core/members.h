/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The members of one JSON object, taken one by one by a record's reader. The first that is wrong is
 * remembered and the rest gives fallbacks, so that a reader looks at the error once, at its end.
 *
 * Absent and null are the same and never wrong by themselves: gbe_members_need() says what must be
 * there. A member that is there with another type than format 1 gives it is wrong: keys never change
 * meaning, so that no newer program wrote it. A word that is not known is not wrong (a newer program's),
 * and survives being written again as long as its value is not changed.
 */
#pragma once

#include "core/tri.h"

#include <json-glib/json-glib.h>
#include <stdbool.h>

typedef struct {
	JsonObject *object; /* borrowed */
	const char *in; /* "trial." and the like, put before a key in a message; "" at the top */
	GError *error;	/* the first, or NULL */
} GbeMembers;

/* What a string has to be, with the words for when it is not: "is not a deployment id". */
typedef struct {
	bool (*valid)(const char *text);
	const char *otherwise;
} GbeKind;

extern const GbeKind gbe_kind_deployment, gbe_kind_run, gbe_kind_backup, gbe_kind_hex64,
    gbe_kind_path; /* absolute, no ".." */

void gbe_members_need(GbeMembers *m, const char *key);
/* Newly allocated, or NULL. @kind may be NULL: any string. */
char *gbe_members_string(GbeMembers *m, const char *key, const GbeKind *kind);
/* Borrowed: for words, which the caller's table reads. NULL where absent. */
const char *gbe_members_word(GbeMembers *m, const char *key);
/* Not negative. */
guint64 gbe_members_u64(GbeMembers *m, const char *key, guint64 fallback);
guint gbe_members_uint(GbeMembers *m, const char *key, guint fallback);
/* A sequence number: 1 or more, and there. */
guint64 gbe_members_sequence(GbeMembers *m, const char *key);
gint64 gbe_members_i64(GbeMembers *m, const char *key, gint64 fallback);
gboolean gbe_members_bool(GbeMembers *m, const char *key);
GbeTri gbe_members_tri(GbeMembers *m, const char *key); /* true, false, null */
JsonObject *gbe_members_object(GbeMembers *m, const char *key);
JsonArray *gbe_members_array(GbeMembers *m, const char *key);
/* NULL-terminated, or NULL where absent or empty. */
char **gbe_members_strv(GbeMembers *m, const char *key);
/* "KEY is not what": the first one stays. */
void gbe_members_fail(GbeMembers *m, const char *key, const char *what);
/* False with @error "@what: ..." (GBE_ERROR_CORRUPT) when something was wrong; frees ->error. */
bool gbe_members_end(GbeMembers *m, const char *what, GError **error);

/* A file name is bytes and JSON is UTF-8: one that is not is written in hex. NULL where it is UTF-8, and
 * the other way where it is not hex of a name. Newly allocated. */
char *gbe_name_to_hex(const char *name);
char *gbe_hex_to_name(const char *hex);

/* Writing. A copy all the way down; NULL gives an empty object. */
JsonObject *gbe_json_copy_object(JsonObject *object);
/* The object in @key, made where there is none; borrowed. Foreign keys in it survive. */
JsonObject *gbe_json_open_object(JsonObject *object, const char *key);
void gbe_json_set_tri(JsonObject *object, const char *key, GbeTri value);
/* null where @value is negative. */
void gbe_json_set_known(JsonObject *object, const char *key, gint64 value);
/* null where @strv is NULL; {"hex"} in place of a string that is no UTF-8. */
void gbe_json_set_strv(JsonObject *object, const char *key, char *const *strv);
/* Sets @word, unless the string that is there already is known to @reads_as to mean the same. */
void gbe_json_set_word(JsonObject *object, const char *key, const char *word, gboolean reads_as);
/* The larger of GBE_FORMAT and @format, and who wrote it. */
void gbe_json_set_format(JsonObject *object, guint format, const char *written_by);
/* The larger of GBE_FORMAT and what @object has as its format. */
void gbe_json_keep_format(JsonObject *object);

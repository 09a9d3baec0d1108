/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Run ids and the names of backups (interface.md, section 2): parsing, checking and formatting.
 */
#pragma once

#include "base/auto.h"
#include "base/error.h"

#include <glib.h>

/*
 *   run id          <32 hex digits>[+N]                N >= 1, no leading zero
 *   automatic       <deployment id>_<run id>[~K]       K >= 2
 *   adopted         adopted-<sequence>
 *   manual          1..200 bytes of A-Z a-z 0-9 . _ + -, not starting with . or -, not shaped like
 *                   one of the others, not "last-good" or "undo"
 *
 * In a store, a prefix says how far an unfinished backup came: ".partial-" or ".pending-".
 */
#define GBE_RUNG_PARTIAL ".partial-"
#define GBE_RUNG_PENDING ".pending-"
/* The staging tree of a restore next to the data directory: ".restore-<sequence>". */
#define GBE_RUNG_RESTORE ".restore-"
/* The same tree while it is being made. The next program that holds the lock removes it. */
#define GBE_RUNG_STAGING ".staging-"

typedef enum {
	GBE_NAME_INVALID,
	GBE_NAME_AUTOMATIC,
	GBE_NAME_ADOPTED,
	GBE_NAME_MANUAL,
} GbeNameKind;

bool gbe_run_id_valid(const char *run);

/* Accepts any bytes and never crashes. The out parameters may be NULL. They are set for GBE_NAME_AUTOMATIC
 * (deployment, run, ordinal 1 or more) and GBE_NAME_ADOPTED (sequence). */
GbeNameKind gbe_backup_name_parse(const char *name, char **ret_deployment, char **ret_run,
				  guint64 *ret_ordinal_or_sequence);
/* @ordinal 1: without "~". Newly allocated. */
char *gbe_backup_name_format(const char *deployment, const char *run, guint64 ordinal);
char *gbe_backup_name_adopted(guint64 sequence);
/* GBE_ERROR_USAGE where @name can be no backup's. */
bool gbe_backup_name_check(const char *name, GError **error) GBE_CHECKED;
/* GBE_ERROR_USAGE says what is wrong and what is allowed. */
bool gbe_backup_name_check_manual(const char *name, GError **error) GBE_CHECKED;

/*
 * The one of @names (NULL-terminated, newest first) that a person means by @text:
 *   - the whole name,
 * - the beginning of the name, of its deployment's checksum, or of its run id, with "~K" after it for one of the
 *     backups of a run (here the first is "~1"),
 *   - "@N", the Nth of @names.
 * "last-good" and "undo" match nothing.
 * An array of all that match, borrowed: none, one, or several, where the text is ambiguous.
 */
GPtrArray *gbe_backup_name_match(const char *text, const char *const *names);
/* The shortest text for @name, one of @names, that matches nothing else. Newly allocated. */
char *gbe_backup_name_short(const char *name, const char *const *names);
/* Puts @shown in the place of @name in @text. A longer name, as "NAME~2" or "NAME-b", stays. */
void gbe_backup_name_replace(GString *text, const char *name, const char *shown);

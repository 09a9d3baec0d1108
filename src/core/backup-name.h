/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Run ids and the names of backups (interface.md, section 2).
 *
 *   run id          <32 hex digits>[+N]                N >= 1, no leading zero
 *   automatic       <deployment id>_<run id>[~K]       K >= 2
 *   adopted         adopted-<sequence>
 *   manual          1..200 bytes of A-Z a-z 0-9 . _ + -, not starting with . or -, not shaped like
 *                   one of the others, not "last-good" or "undo"
 *
 * In a store a name may carry one of the rungs of the ladder before it: ".partial-" and ".pending-".
 */
#pragma once

#include "base/auto.h"
#include "base/error.h"

#include <glib.h>

#define GBE_RUNG_PARTIAL ".partial-"
#define GBE_RUNG_PENDING ".pending-"
/* The staging tree of a restore beside the data directory: ".restore-<sequence>". */
#define GBE_RUNG_RESTORE ".restore-"
/* The same while it is being made: removed by whoever comes next. */
#define GBE_RUNG_STAGING ".staging-"

typedef enum {
	GBE_NAME_INVALID,
	GBE_NAME_AUTOMATIC,
	GBE_NAME_ADOPTED,
	GBE_NAME_MANUAL,
} GbeNameKind;

bool gbe_run_id_valid(const char *run);
/* @boot_id as /proc/sys/kernel/random/boot_id has it (dashes, newline) or without; @soft_reboots 0:
 * no "+N". NULL when @boot_id is not one. */
char *gbe_run_id_format(const char *boot_id, guint64 soft_reboots);

/* Any bytes; never crashes. Out parameters may be NULL and are set for GBE_NAME_AUTOMATIC
 * (deployment, run, ordinal 1 or more) and GBE_NAME_ADOPTED (sequence). */
GbeNameKind gbe_backup_name_parse(const char *name, char **ret_deployment, char **ret_run,
				  guint64 *ret_ordinal_or_sequence);
/* @ordinal 1: without "~". Newly allocated. */
char *gbe_backup_name_format(const char *deployment, const char *run, guint64 ordinal);
char *gbe_backup_name_adopted(guint64 sequence);
/* GBE_ERROR_USAGE with what is wrong and what is allowed. */
bool gbe_backup_name_check_manual(const char *name, GError **error) GBE_CHECKED;

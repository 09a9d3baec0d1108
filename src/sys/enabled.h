/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Is a unit pulled in at boot? Reads the links below the unit directories, so that the answer is known below
 * --root, in an image, and before systemd has loaded the unit. */
#pragma once

#include "base/auto.h"
#include "core/tri.h"

#include <sys/types.h>

/* YES when any *.wants/ or *.requires/ holds the unit and it is not masked. *ret_why, newly allocated:
 * "masked", "not enabled", or what could not be read; NULL for YES. */
GbeTri gbe_unit_enabled(int root_fd, const char *unit, char **ret_why);

/* Systemd loads one of these for a unit: nothing, a mask (a link to /dev/null, or an empty file), or a file. */
typedef enum {
	GBE_UNIT_ABSENT,
	GBE_UNIT_MASKED,
	GBE_UNIT_PRESENT,
} GbeUnitFile;

/* An instance without a file of its own uses its template's. A directory that cannot be read counts as empty, since
 * systemd would find nothing there either. */
GbeUnitFile gbe_unit_file(int root_fd, const char *unit);
/* Appends the unit's file and its drop-ins. A file that is absent or cannot be read is left out. */
void gbe_unit_append_text(int root_fd, const char *unit, GString *text);
/* The same for a file, or for the files of a directory in the order of their names. */
void gbe_text_append(int root_fd, const char *path, GString *text);
/* Does another generator make the service: podman's for a container or pods, or systemd's for an init script? */
bool gbe_unit_is_generated(int root_fd, const char *service);
/* Does the name exist: as a file, as a mask, or as a unit that a generator made or will make? */
bool gbe_unit_is_known(int root_fd, const char *service);

/* The user that a unit's program runs as (User=, Group=), read from files: it is also known below --root. */
/* False: the unit names no user, or one that no file knows; the outputs are untouched. Without Group=, the user's own
 * group counts. */
bool gbe_unit_owner(int root_fd, const char *unit, uid_t *ret_uid, gid_t *ret_gid);

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Is a unit pulled in at boot? Read from the links below the unit directories, so that it can be told
 * below --root, in an image and before systemd has loaded the unit. */
#pragma once

#include "base/auto.h"
#include "core/tri.h"

/* YES when any *.wants/ or *.requires/ holds the unit and it is not masked. *ret_why, newly allocated:
 * "masked", "not enabled", or what could not be read; NULL for YES. */
GbeTri gbe_unit_enabled(int root_fd, const char *unit, char **ret_why);

/* What systemd would load for a unit: nothing; a mask (a link to /dev/null, or an empty file); a file. */
typedef enum {
	GBE_UNIT_ABSENT,
	GBE_UNIT_MASKED,
	GBE_UNIT_PRESENT,
} GbeUnitFile;

/* An instance without a file of its own is its template's. A directory that cannot be read counts as
 * empty: systemd would find nothing there either. */
GbeUnitFile gbe_unit_file(int root_fd, const char *unit);
/* Does another generator make the service: of a container of podman's, or of an init script? */
gboolean gbe_unit_is_generated(int root_fd, const char *service);
/* Is there anything of that name: a file, a mask included, or what a generator made, or will make, of it? */
gboolean gbe_unit_is_known(int root_fd, const char *service);

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Tells how much space an import or a download must leave free: a twentieth of the file system, at most 1 GiB. It
 * is never more than half of the space that was free at the beginning, so that a small snapshot still fits onto a
 * nearly full disk.
 */
#pragma once

#include "base/auto.h"
#include "base/error.h"

typedef struct {
	int fd; /* borrowed; on that file system */
	guint64 keep;
} GbeRoom;

bool gbe_room_begin(int fd, GbeRoom *ret_room, GError **error) GBE_CHECKED;
/* GBE_ERROR_NO_SPACE: after @size more bytes of @what, less than that would be free. */
bool gbe_room_check(const GbeRoom *room, guint64 size, const char *what,
		    GError **error) GBE_CHECKED;

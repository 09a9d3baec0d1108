/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A part of a file system that stays free, whatever comes from outside: a twentieth of it, at most 1 GiB, and never more
 * than half of what was free at the beginning, so that a small snapshot still goes onto a disk that is nearly full.
 */
#pragma once

#include "base/auto.h"
#include "base/error.h"

typedef struct {
	int fd; /* borrowed; on that file system */
	guint64 keep;
} GbeRoom;

bool gbe_room_begin(int fd, GbeRoom *ret_room, GError **error) GBE_CHECKED;
/* May @size bytes more of @what be written? Else GBE_ERROR_NO_SPACE. */
bool gbe_room_check(const GbeRoom *room, guint64 size, const char *what,
		    GError **error) GBE_CHECKED;

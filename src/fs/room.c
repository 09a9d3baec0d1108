/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "fs/room.h"

#include "core/space.h"
#include "fs/probe.h"

#define KEEP_PART 20
#define KEEP_MOST ((guint64)1024 * 1024 * 1024)

bool
gbe_room_begin(int fd, GbeRoom *ret_room, GError **error)
{
	guint64 available, total, inodes;

	if (!gbe_filesystem_space(fd, &available, &total, &inodes, error))
		return false;
	*ret_room = (GbeRoom){
	    .fd = fd,
	    .keep = MIN(MIN(total / KEEP_PART, KEEP_MOST), available / 2),
	};
	return true;
}

bool
gbe_room_check(const GbeRoom *room, guint64 size, const char *what, GError **error)
{
	g_autofree char *free_text = NULL, *keep_text = NULL;
	guint64 available, total, inodes;

	if (!gbe_filesystem_space(room->fd, &available, &total, &inodes, error))
		return false;
	if (available >= room->keep && available - room->keep >= size)
		return true;
	free_text = gbe_size_to_text(available);
	keep_text = gbe_size_to_text(room->keep);
	return gbe_throw(error, GBE_ERROR_NO_SPACE,
			 "no room for %s: %s are free, and %s are to stay free", what, free_text,
			 keep_text);
}

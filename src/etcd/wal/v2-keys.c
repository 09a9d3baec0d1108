/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "etcd/wal/v2-keys.h"

#include "etcd/window.h"

#include <string.h>

#define WINDOW ((gsize)256 * 1024)
#define NODE "\"Path\":\"/1/"

bool
gbe_v2_keys_count(int fd, const char *what, guint64 *ret_count, GError **error)
{
	const gsize length = strlen(NODE);
	GbeLook look = gbe_look_begin(0);
	GbeWindow window;
	guint64 count = 0;
	bool done = false;

	gbe_window_init(&window, fd, what, WINDOW, &look);
	for (guint64 at = 0; !done;) {
		const guint8 *bytes = NULL, *found;
		gsize got = 0;

		if (!gbe_window_at(&window, at, WINDOW, &bytes, &got, error)) {
			gbe_window_clear(&window);
			return false;
		}
		for (gsize from = 0;
		     (found = memmem(bytes + from, got - from, NODE, length)) != NULL;
		     from = (gsize)(found - bytes) + length)
			count++;
		/* A node that begins at the end of this piece is whole in the next one. */
		done = got < WINDOW;
		at += got - (length - 1);
	}
	gbe_window_clear(&window);
	*ret_count = count;
	return true;
}

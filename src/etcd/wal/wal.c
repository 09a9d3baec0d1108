/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "etcd/wal/wal.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "etcd/wal/record.h"
#include "etcd/window.h"

/* Records are small and many: this window holds many of them. */
#define WINDOW (128 * 1024)

static bool
walk(GbeWindow *window, guint64 size, bool *ret_found, guint64 *ret_offset, guint32 *ret_crc,
     GError **error)
{
	guint64 offset = 0;

	for (;;) {
		const guint8 *at = NULL;
		GbeWalFrame frame;
		gsize got = 0;

		if (!gbe_window_at(window, offset, GBE_WAL_FRAME + GBE_WAL_HEAD, &at, &got, error))
			return false;
		/* Zero ends the written part. A record that goes beyond the file is torn, so not complete. A log
		 * that is being written may have grown since its size was read. */
		if (got < GBE_WAL_FRAME || !gbe_wal_frame_read(at, &frame) ||
		    !gbe_wal_frame_fits(&frame, offset, size) ||
		    !gbe_wal_record_crc(at + GBE_WAL_FRAME,
					MIN((guint64)got - GBE_WAL_FRAME, frame.length), ret_crc))
			return true;
		*ret_found = true;
		*ret_offset = offset;
		offset += GBE_WAL_FRAME + frame.length + frame.padding;
	}
}

bool
gbe_wal_last_record(int fd, const char *what, bool *ret_found, guint64 *ret_offset,
		    guint32 *ret_crc, GError **error)
{
	guint64 offset = 0;
	bool found = false;
	guint32 crc = 0;
	GbeLook look = gbe_look_begin(GBE_LOOK_SECONDS);
	GbeWindow window;
	struct stat st;
	bool read;

	if (fstat(fd, &st) < 0)
		return gbe_throw_errno(error, errno, "cannot look at %s", what);
	gbe_window_init(&window, fd, what, WINDOW, &look);
	read = walk(&window, (guint64)st.st_size, &found, &offset, &crc, error);
	gbe_window_clear(&window);
	if (!read)
		return false;
	if (found) {
		*ret_offset = offset;
		*ret_crc = crc;
	}
	*ret_found = found;
	return true;
}

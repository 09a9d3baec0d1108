/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "etcd/wal.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

/* Records are small and many: they are walked in a window of this size. */
#define WINDOW (128 * 1024)
#define FRAME 8
/* Type and checksum stand first in a record, each a tag and at most ten bytes. */
#define RECORD_HEAD 22
#define TAG_TYPE 0x08
#define TAG_CRC 0x10

bool
gbe_wal_is_name(const char *name)
{
	for (gsize i = 0; i < 33; i++) {
		if (i == 16 ? name[i] != '-' : strchr("0123456789abcdef", name[i]) == NULL)
			return false;
		if (name[i] == '\0')
			return false;
	}
	return strcmp(name + 33, ".wal") == 0;
}

typedef struct {
	int fd;
	const char *what;
	guint64 size;  /* of the file */
	guint64 start; /* of the window */
	gsize filled;
	guint8 *bytes;
} Window;

/* *ret_at: the @want bytes at @offset, or as many as the file has from there; valid until the next call. */
static bool
window_at(Window *window, guint64 offset, gsize want, const guint8 **ret_at, gsize *ret_got,
	  GError **error)
{
	gsize have;

	if (offset < window->start || offset + want > window->start + window->filled) {
		window->start = offset;
		window->filled = 0;
		while (window->filled < WINDOW) {
			ssize_t got =
			    pread(window->fd, window->bytes + window->filled,
				  WINDOW - window->filled, (off_t)(offset + window->filled));

			if (got < 0 && errno == EINTR)
				continue;
			if (got < 0)
				return gbe_throw_errno(error, errno, "cannot read %s",
						       window->what);
			if (got == 0)
				break;
			window->filled += (gsize)got;
		}
	}
	have = (gsize)(window->start + window->filled - offset);
	*ret_at = window->bytes + (offset - window->start);
	*ret_got = MIN(have, want);
	return true;
}

/* A protobuf number; false when it does not end within @size or 64 bits. */
static bool
read_varint(const guint8 *at, gsize size, guint64 *ret_value, gsize *ret_length)
{
	guint64 value = 0;

	for (gsize i = 0; i < size && i < 10; i++) {
		value |= (guint64)(at[i] & 0x7f) << (7 * i);
		if ((at[i] & 0x80) == 0) {
			*ret_value = value;
			*ret_length = i + 1;
			return true;
		}
	}
	return false;
}

static bool
read_record_head(const guint8 *at, gsize size, guint32 *ret_crc)
{
	guint64 type = 0;
	guint64 crc = 0;
	gsize length = 0;
	gsize crc_length = 0;

	if (size < 1 || at[0] != TAG_TYPE || !read_varint(at + 1, size - 1, &type, &length))
		return false;
	at += 1 + length;
	size -= 1 + length;
	if (size < 1 || at[0] != TAG_CRC || !read_varint(at + 1, size - 1, &crc, &crc_length))
		return false;
	if (crc > G_MAXUINT32)
		return false;
	*ret_crc = (guint32)crc;
	return true;
}

/* The length field: 56 bits of length; with the top bit, three bits of padding below it. */
static void
split_length(guint64 field, guint64 *ret_length, guint64 *ret_padding)
{
	*ret_length = field & G_GUINT64_CONSTANT(0x00ffffffffffffff);
	*ret_padding = (field >> 63) != 0 ? (field >> 56) & 7 : 0;
}

bool
gbe_wal_last_record(int fd, const char *what, bool *ret_found, guint64 *ret_offset,
		    guint32 *ret_crc, GError **error)
{
	g_autofree guint8 *bytes = g_malloc(WINDOW);
	Window window = {.fd = fd, .what = what, .bytes = bytes};
	guint64 offset = 0;
	bool found = false;
	struct stat st;

	if (fstat(fd, &st) < 0)
		return gbe_throw_errno(error, errno, "cannot look at %s", what);
	window.size = (guint64)st.st_size;
	(void)posix_fadvise(fd, 0, 0, POSIX_FADV_SEQUENTIAL);
	for (;;) {
		const guint8 *at = NULL;
		guint64 length = 0;
		guint64 padding = 0;
		guint64 field = 0;
		guint32 crc = 0;
		gsize got = 0;

		if (!window_at(&window, offset, FRAME + RECORD_HEAD, &at, &got, error))
			return false;
		/* A log that is being written may have grown since its size was asked for. */
		if (got < FRAME || window.size - offset < FRAME)
			break;
		memcpy(&field, at, FRAME);
		split_length(GUINT64_FROM_LE(field), &length, &padding);
		/* Zero: the end of what was written. Beyond the file: torn, so not complete. */
		if (length == 0 || length + padding > window.size - offset - FRAME ||
		    !read_record_head(at + FRAME, MIN((guint64)got - FRAME, length), &crc))
			break;
		found = true;
		*ret_offset = offset;
		*ret_crc = crc;
		offset += FRAME + length + padding;
	}
	*ret_found = found;
	return true;
}

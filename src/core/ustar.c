/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "core/ustar.h"

#include <string.h>

#define BLOCK 512

/* As POSIX.1-1988 has it, section 10.1.1. Numbers are octal digits and a NUL. */
typedef struct {
	char name[100], mode[8], uid[8], gid[8], size[12], mtime[12], checksum[8], type;
	char link[100], magic[6], version[2], user[32], group[32], major[8], minor[8], prefix[155];
	char padding[12];
} Header;

G_STATIC_ASSERT(sizeof(Header) == BLOCK);

static void
put_octal(char *field, gsize size, guint64 value)
{
	field[--size] = '\0';
	for (; size > 0; value >>= 3)
		field[--size] = (char)('0' + (value & 7));
}

static void
pad(GByteArray *archive, gsize size)
{
	static const guint8 zeros[BLOCK];

	g_byte_array_append(archive, zeros, (guint)size);
}

bool
gbe_ustar_add(GByteArray *archive, const char *name, const void *bytes, gsize size, gint64 mtime,
	      GError **error)
{
	Header header = {.type = '0', .version = {'0', '0'}};
	guint sum = 0;

	if (*name == '\0' || strlen(name) > GBE_USTAR_NAME_MAX)
		return gbe_throw(error, GBE_ERROR_UNSUPPORTED,
				 "%s: the name does not fit into a tar archive", name);
	if (size > GBE_USTAR_SIZE_MAX || size > G_MAXUINT - archive->len - 2 * BLOCK || mtime < 0 ||
	    (guint64)mtime > GBE_USTAR_SIZE_MAX)
		return gbe_throw(error, GBE_ERROR_UNSUPPORTED,
				 "%s: size or time do not fit into a tar archive", name);
	memcpy(header.name, name, strlen(name));
	memcpy(header.magic, "ustar", sizeof header.magic);
	memcpy(header.user, "root", sizeof "root");
	memcpy(header.group, "root", sizeof "root");
	put_octal(header.mode, sizeof header.mode, 0600);
	put_octal(header.uid, sizeof header.uid, 0);
	put_octal(header.gid, sizeof header.gid, 0);
	put_octal(header.size, sizeof header.size, size);
	put_octal(header.mtime, sizeof header.mtime, (guint64)mtime);
	put_octal(header.major, sizeof header.major, 0);
	put_octal(header.minor, sizeof header.minor, 0);
	/* Summed up with blanks in its place; then six digits, a NUL and a blank. */
	memset(header.checksum, ' ', sizeof header.checksum);
	for (gsize i = 0; i < sizeof header; i++)
		sum += ((const guint8 *)&header)[i];
	put_octal(header.checksum, sizeof header.checksum - 1, sum);

	g_byte_array_append(archive, (const guint8 *)&header, sizeof header);
	g_byte_array_append(archive, bytes, (guint)size);
	pad(archive, (BLOCK - size % BLOCK) % BLOCK);
	return true;
}

void
gbe_ustar_end(GByteArray *archive)
{
	pad(archive, BLOCK);
	pad(archive, BLOCK);
}

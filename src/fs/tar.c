/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "fs/unpack.h"

#include <string.h>

/* Offsets and lengths of POSIX.1-1988's header. */
enum {
	NAME = 0,
	NAME_SIZE = 100,
	SIZE = 124,
	SIZE_SIZE = 12,
	SUM = 148,
	SUM_SIZE = 8,
	TYPE = 156,
	MAGIC = 257,
	PREFIX = 345,
	PREFIX_SIZE = 155,
};

static bool
read_octal(const guint8 *at, gsize size, guint64 *ret_value)
{
	guint64 value = 0;
	gsize digits = 0;

	while (size > 0 && *at == ' ') {
		at++;
		size--;
	}
	for (; size > 0 && *at >= '0' && *at <= '7'; at++, size--, digits++)
		value = value << 3 | (guint64)(*at - '0');
	if (digits == 0 || (size > 0 && *at != ' ' && *at != '\0'))
		return false;
	*ret_value = value;
	return true;
}

/* Octal, or where that is too short GNU's: the first bit, and a number of 95 bits. */
static bool
read_size(const guint8 *at, guint64 *ret_value)
{
	guint64 value = 0;

	if ((at[0] & 0x80) == 0)
		return read_octal(at, SIZE_SIZE, ret_value);
	for (gsize i = 0; i < SIZE_SIZE; i++) {
		if (value > G_MAXINT64 >> 8)
			return false;
		value = value << 8 | (i == 0 ? at[0] & 0x7fU : at[i]);
	}
	*ret_value = value;
	return true;
}

/* Of all bytes, the sum itself taken for blanks. */
static bool
sum_is_right(const guint8 *block)
{
	guint64 recorded = 0;
	guint64 sum = 0;

	for (gsize i = 0; i < GBE_TAR_BLOCK; i++)
		sum += i >= SUM && i < SUM + SUM_SIZE ? ' ' : block[i];
	return read_octal(block + SUM, SUM_SIZE, &recorded) && recorded == sum;
}

static bool
is_zero(const guint8 *block)
{
	for (gsize i = 0; i < GBE_TAR_BLOCK; i++)
		if (block[i] != 0)
			return false;
	return true;
}

static GbeTarKind
kind_of(guint8 type)
{
	switch (type) {
	case '\0':
	case '0':
	case '7':
		return GBE_TAR_FILE;
	case '5':
		return GBE_TAR_DIRECTORY;
	case 'x': /* of the next, and of all that follow */
	case 'g':
	case 'L': /* GNU's long name */
		return GBE_TAR_ABOUT;
	default:
		return GBE_TAR_OTHER;
	}
}

void
gbe_tar_header_read(const guint8 block[GBE_TAR_BLOCK], GbeTarHeader *ret_header)
{
	GbeTarHeader header = {.kind = GBE_TAR_BAD};
	char prefix[PREFIX_SIZE + 1] = "", name[NAME_SIZE + 1] = "";

	if (is_zero(block)) {
		header.kind = GBE_TAR_END;
	} else if (memcmp(block + MAGIC, "ustar", 5) == 0 && sum_is_right(block) &&
		   read_size(block + SIZE, &header.size)) {
		header.kind = kind_of(block[TYPE]);
		memcpy(name, block + NAME, NAME_SIZE);
		/* GNU has something else there. */
		if (block[MAGIC + 5] == '\0')
			memcpy(prefix, block + PREFIX, PREFIX_SIZE);
		(void)g_snprintf(header.name, sizeof(header.name), "%s%s%s", prefix,
				 *prefix != '\0' ? "/" : "", name);
	}
	*ret_header = header;
}

bool
gbe_tar_name_is_safe(const char *name)
{
	g_auto(GStrv) parts = g_strsplit(name, "/", -1);

	if (*name == '\0' || *name == '/')
		return false;
	for (guint i = 0; parts[i] != NULL; i++)
		if (g_str_equal(parts[i], ".."))
			return false;
	return true;
}

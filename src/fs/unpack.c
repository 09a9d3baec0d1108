/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "fs/unpack.h"

#include <errno.h>
#include <gio/gio.h>
#include <string.h>
#include <unistd.h>

#define PIECE ((gsize)64 * 1024)
/* What stands before a file in an archive: names, times. */
#define ABOUT_MAX ((guint64)1024 * 1024)

typedef struct {
	int fd;
	const char *what;
	GConverter *gunzip; /* NULL: plain */
	guint8 in[PIECE];
	gsize at, have; /* of what is read and not taken */
	bool file_end, end;
	GbeUnpackPut put;
	gpointer data;
} Source;

static bool
fill(Source *source, GError **error)
{
	ssize_t got;

	memmove(source->in, source->in + source->at, source->have);
	source->at = 0;
	while (!source->file_end && source->have < PIECE) {
		got = read(source->fd, source->in + source->have, PIECE - source->have);
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return gbe_throw_errno(error, errno, "cannot read %s", source->what);
		source->file_end = got == 0;
		source->have += (gsize)got;
	}
	return true;
}

static bool
is_gzip(const Source *source)
{
	return source->have >= 2 && source->in[source->at] == 0x1f &&
	       source->in[source->at + 1] == 0x8b;
}

/* One piece of gzip after the other is one text (RFC 1952, 2.2). */
static bool
gunzip_ended(Source *source, GError **error)
{
	if (!fill(source, error))
		return false;
	if (source->have == 0)
		source->end = true;
	else if (is_gzip(source))
		g_converter_reset(source->gunzip);
	else
		return gbe_throw(error, GBE_ERROR_CORRUPT, "%s: something follows behind the end",
				 source->what);
	return true;
}

static bool
gunzip_some(Source *source, guint8 *to, gsize want, gsize *ret_got, GError **error)
{
	g_autoptr(GError) local = NULL;
	gsize took = 0, gave = 0;
	GConverterResult result =
	    g_converter_convert(source->gunzip, source->in + source->at, source->have, to, want,
				source->file_end ? G_CONVERTER_INPUT_AT_END : G_CONVERTER_NO_FLAGS,
				&took, &gave, &local);

	if (result == G_CONVERTER_ERROR)
		return gbe_throw(error, GBE_ERROR_CORRUPT, "%s is cut off or damaged: %s",
				 source->what, local->message);
	source->at += took;
	source->have -= took;
	*ret_got = gave;
	return result != G_CONVERTER_FINISHED || gunzip_ended(source, error);
}

/* As much as there is, up to @want. */
static bool
take(Source *source, guint8 *to, gsize want, gsize *ret_got, GError **error)
{
	gsize got = 0;

	while (got < want && !source->end) {
		gsize some = 0;

		if (source->have < PIECE / 2 && !fill(source, error))
			return false;
		if (source->gunzip != NULL) {
			if (!gunzip_some(source, to + got, want - got, &some, error))
				return false;
		} else {
			some = MIN(want - got, source->have);
			memcpy(to + got, source->in + source->at, some);
			source->at += some;
			source->have -= some;
			source->end = some == 0;
		}
		got += some;
	}
	*ret_got = got;
	return true;
}

/* @size bytes and the rest of their last block; @put NULL: passed over. */
static bool
pass(Source *source, guint64 size, GbeUnpackPut put, GError **error)
{
	g_autofree guint8 *piece = g_malloc(PIECE);
	guint64 padded = (size + GBE_TAR_BLOCK - 1) / GBE_TAR_BLOCK * GBE_TAR_BLOCK;

	for (guint64 at = 0; at < padded;) {
		gsize want = (gsize)MIN(PIECE, padded - at), got = 0;
		gsize content;

		if (!take(source, piece, want, &got, error))
			return false;
		if (got < want)
			return gbe_throw(error, GBE_ERROR_CORRUPT, "%s is cut off", source->what);
		content = at < size ? (gsize)MIN(got, size - at) : 0;
		if (put != NULL && content > 0 && !put(piece, content, source->data, error))
			return false;
		at += got;
	}
	return true;
}

static bool
refuse(const Source *source, const char *why, GError **error)
{
	return gbe_throw(error, GBE_ERROR_REFUSED,
			 "%s: %s; an archive with one snapshot file and nothing else is taken",
			 source->what, why);
}

static bool
check_header(const Source *source, const GbeTarHeader *header, guint files, GError **error)
{
	if (header->kind == GBE_TAR_BAD)
		return gbe_throw(error, GBE_ERROR_CORRUPT, "%s: the archive is damaged",
				 source->what);
	if (header->kind == GBE_TAR_OTHER)
		return refuse(source, "a link, a device or a socket is in it", error);
	if (header->kind == GBE_TAR_ABOUT)
		return header->size <= ABOUT_MAX ||
		       refuse(source, "a name in it is longer than names are", error);
	if (!gbe_tar_name_is_safe(header->name))
		return refuse(source, "a name in it leads elsewhere", error);
	if (header->kind == GBE_TAR_FILE && files > 0)
		return refuse(source, "several files are in it", error);
	if (header->size > G_MAXINT64 || (header->kind == GBE_TAR_DIRECTORY && header->size > 0))
		return refuse(source, "a size in it is none", error);
	return true;
}

/* What a further header says of the next file is passed over: a name is not used, and a size that does not
 * fit into the file's own is not taken for one. */
static bool
untar(Source *source, guint8 block[GBE_TAR_BLOCK], GError **error)
{
	guint files = 0;

	for (;;) {
		GbeTarHeader header;
		gsize got = 0;

		gbe_tar_header_read(block, &header);
		if (header.kind == GBE_TAR_END)
			break;
		if (!check_header(source, &header, files, error))
			return false;
		if (header.kind == GBE_TAR_FILE)
			files++;
		if (!pass(source, header.size, header.kind == GBE_TAR_FILE ? source->put : NULL,
			  error) ||
		    !take(source, block, GBE_TAR_BLOCK, &got, error))
			return false;
		if (got < GBE_TAR_BLOCK)
			return gbe_throw(error, GBE_ERROR_CORRUPT, "%s is cut off", source->what);
	}
	return files == 1 || refuse(source, "no file is in it", error);
}

static bool
unpack(Source *source, GError **error)
{
	g_autofree guint8 *piece = g_malloc(PIECE);
	GbeTarHeader header;
	gsize got = 0;

	if (!take(source, piece, GBE_TAR_BLOCK, &got, error))
		return false;
	if (source->gunzip != NULL && got == GBE_TAR_BLOCK) {
		gbe_tar_header_read(piece, &header);
		if (header.kind != GBE_TAR_BAD && header.kind != GBE_TAR_END)
			return untar(source, piece, error);
	}
	while (got > 0)
		if (!source->put(piece, got, source->data, error) ||
		    !take(source, piece, PIECE, &got, error))
			return false;
	return true;
}

bool
gbe_unpack_one(int fd, const char *what, GbeUnpackPut put, gpointer data, GError **error)
{
	g_autofree Source *source = g_new0(Source, 1);
	bool done = false;

	source->fd = fd;
	source->what = what;
	source->put = put;
	source->data = data;
	if (!fill(source, error))
		return false;
	if (is_gzip(source))
		source->gunzip =
		    G_CONVERTER(g_zlib_decompressor_new(G_ZLIB_COMPRESSOR_FORMAT_GZIP));
	done = unpack(source, error);
	g_clear_object(&source->gunzip);
	return done;
}

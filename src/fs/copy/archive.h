/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Packs and unpacks archives with libarchive, which is loaded when it is first needed. An archive may have any origin.
 * So unpacking never uses a name from it, needs bounded memory, and refuses a bomb before 100 MiB of output. Unpacking
 * does not check the free disk space: the receiver of the bytes does (reserve.h).
 */
#pragma once

#include "base/auto.h"
#include "base/error.h"

/* True for a name that is not absolute and has no ".." component. */
bool gbe_archive_name_is_safe(const char *name);

typedef bool (*GbeArchivePut)(const void *bytes, gsize size, gpointer data, GError **error);

/* Unpacks the one file that @fd holds from its current offset. The file is plain, in gzip, or alone in a tar, a tar in
 * gzip or a zip. A pipe holds one of the first two. GBE_ERROR_CORRUPT: the archive is cut off or damaged.
 * GBE_ERROR_REFUSED: other entries than directories and one regular file, a name that is absolute or has "..", or
 * another known format, such as zstd or HTML. GBE_ERROR_UNSUPPORTED: libarchive is not installed. An error of @put ends
 * the unpacking. */
bool gbe_archive_unpack(int fd, const char *what, GbeArchivePut put, gpointer data,
			GError **error) GBE_CHECKED;

typedef struct {
	const char *name;
	const void *bytes;
	gsize size;
} GbeArchiveMember;

/* Makes a tar in gzip in memory. Its files are regular, owned by root, of mode 0600, and their mtime is now. */
bool gbe_archive_pack(const GbeArchiveMember *members, gsize n_members, GBytes **ret_archive,
		      GError **error) GBE_CHECKED;

/* Compresses what @fd holds from its current offset with gzip (RFC 1952), in pieces of at most 64 KiB. The level is
 * fast rather than small, as with `gzip -3`; a large file that hardly becomes smaller is stored. An error of @put ends
 * it. */
bool gbe_archive_gzip(int fd, const char *what, GbeArchivePut put, gpointer data,
		      GError **error) GBE_CHECKED;

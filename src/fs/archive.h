/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Archives, by libarchive, which is loaded when one is asked for.
 *
 * Unpacking: the one file in a file: itself, or what gzip made of it, or the only one of an archive: tar, also in gzip, or
 * zip. An archive comes from anybody: whatever in it is neither a directory nor one regular file, whatever
 * has "..", or begins at the root, is refused, and no name of it is ever used. Memory is bounded, and a bomb is
 * refused before it has made 100 MiB. Of the disk's space whoever puts the bytes there takes care (room.h).
 */
#pragma once

#include "base/auto.h"
#include "base/error.h"

/* Neither absolute nor with a ".." in it. */
bool gbe_archive_name_is_safe(const char *name);

typedef bool (*GbeArchivePut)(const void *bytes, gsize size, gpointer data, GError **error);

/* From where @fd stands. GBE_ERROR_CORRUPT: it is cut off or damaged; GBE_ERROR_REFUSED: see above. What @put
 * says ends it. GBE_ERROR_UNSUPPORTED: there is no libarchive. */
bool gbe_archive_unpack(int fd, const char *what, GbeArchivePut put, gpointer data,
			GError **error) GBE_CHECKED;

typedef struct {
	const char *name;
	const void *bytes;
	gsize size;
} GbeArchiveMember;

/* A tar in gzip, in memory: regular files of root's, mode 0600, of now. */
bool gbe_archive_pack(const GbeArchiveMember *members, gsize n_members, GBytes **ret_archive,
		      GError **error) GBE_CHECKED;

/* What @fd holds from where it stands, in gzip, in pieces of at most 64 KiB: fast rather than small (RFC 1952;
 * what `gzip -3` would make of it). What @put says ends it. */
bool gbe_archive_gzip(int fd, const char *what, GbeArchivePut put, gpointer data,
		      GError **error) GBE_CHECKED;

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The one file in a file: itself, or what gzip made of it, or the only one of a tar archive in gzip. An
 * archive comes from anybody: whatever in it is neither a directory nor one regular file, whatever has
 * "..", or begins at the root, is refused, and no name of it is ever used. Memory is bounded.
 */
#pragma once

#include "base/auto.h"
#include "base/error.h"

#define GBE_TAR_BLOCK 512

typedef enum {
	GBE_TAR_FILE,
	GBE_TAR_DIRECTORY,
	GBE_TAR_ABOUT, /* says more about the next: its name, its size */
	GBE_TAR_END,   /* a block of zeros */
	GBE_TAR_OTHER, /* a link, a device, a socket */
	GBE_TAR_BAD,   /* no header, or a damaged one */
} GbeTarKind;

typedef struct {
	GbeTarKind kind;
	guint64 size;	/* bytes that follow, rounded up to blocks */
	char name[257]; /* as it is written there */
} GbeTarHeader;

/* POSIX.1-1988 and 2001, and GNU's sizes. */
void gbe_tar_header_read(const guint8 block[GBE_TAR_BLOCK], GbeTarHeader *ret_header);
/* Neither absolute nor with a ".." in it. */
bool gbe_tar_name_is_safe(const char *name);

typedef bool (*GbeUnpackPut)(const void *bytes, gsize size, gpointer data, GError **error);

/* From where @fd stands. GBE_ERROR_CORRUPT: it is cut off or damaged; GBE_ERROR_REFUSED: see above. */
bool gbe_unpack_one(int fd, const char *what, GbeUnpackPut put, gpointer data,
		    GError **error) GBE_CHECKED;

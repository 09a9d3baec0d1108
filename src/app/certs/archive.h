/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Keeps the directories of certificates before they are changed. The program's lock is held throughout. A power cut
 * leaves no archive and every file, or a whole archive under ".open" and any part of the files; `certs reset --undo`
 * puts the files back from the archive.
 */
#pragma once

#include "app/device/context.h"

/*
 * The archives:
 *
 *   /var/lib/greenboot-etcd/certs/       0700, root's
 *     <number>.open/                     an unfinished operation; at most one
 *     <number>/                          a finished one: `certs reset --undo` goes back to it
 *       record                           sealed: the directories and patterns of the operation
 *       <index>/                         a copy of that directory; absent: the directory did not exist
 *     .partial/                          being made, or removed; swept
 */
typedef struct {
	guint64 number;
	bool open;
	char **directories, **patterns;
	int dir_fd; /* certs/ */
	int fd;	    /* the archive */
} GbeCertsArchive;

void gbe_certs_archive_free(GbeCertsArchive *archive);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(GbeCertsArchive, gbe_certs_archive_free)

/* *ret_archive: the open archive, else the one with the highest number; NULL: no archive. */
bool gbe_certs_archive_newest(GbeApp *app, GbeCertsArchive **ret_archive,
			      GError **error) GBE_CHECKED;
/* Copies @directories as they are now; the new archive is open and durable. GBE_ERROR_REFUSED: the directories
 * have more data than certificates take; _UNSAFE_SOURCE: they have a FIFO, a device or a mount point. */
bool gbe_certs_archive_make(GbeApp *app, char *const *directories, char *const *patterns,
			    GbeCertsArchive **ret_archive, GError **error) GBE_CHECKED;
/* Marks the archive's operation as complete; removes all but the newest few archives. */
bool gbe_certs_archive_close(GbeCertsArchive *archive, GError **error) GBE_CHECKED;
/* Removes the archive: its files are unchanged at their paths. */
bool gbe_certs_archive_drop(GbeCertsArchive *archive, GError **error) GBE_CHECKED;

/* Adds the paths of the files and symlinks below @directories that @patterns match. */
bool gbe_certs_find(GbeApp *app, char *const *directories, char *const *patterns, GPtrArray *paths,
		    GError **error) GBE_CHECKED;
/* Like gbe_certs_find(), for the files in the archive. */
bool gbe_certs_archive_find(const GbeCertsArchive *archive, GPtrArray *paths,
			    GError **error) GBE_CHECKED;
/* Removes the matching files, and nothing else; durable. */
bool gbe_certs_remove(GbeApp *app, char *const *directories, char *const *patterns,
		      GError **error) GBE_CHECKED;
/* Puts back each archived file that the archive's patterns match, whole or not at all, with owner, mode and
 * xattrs; makes missing directories. Durable. */
bool gbe_certs_archive_put_back(GbeApp *app, const GbeCertsArchive *archive,
				GError **error) GBE_CHECKED;
/* The same after the matching files of now were removed. @archive NULL: it was dropped. GBE_ERROR_PARTIAL: files are
 * missing, and `certs reset --undo` puts them back. */
bool gbe_certs_archive_return(GbeApp *app, const GbeCertsArchive *archive,
			      GError **error) GBE_CHECKED;

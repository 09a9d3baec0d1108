/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What lay in the directories of certificates, kept before it is changed:
 *
 *   /var/lib/greenboot-etcd/certs/       0700, root's
 *     <number>.open/                     an operation that is not through; at most one
 *     <number>/                          one that is: what `certs reset --undo` goes back to
 *       record                           sealed: the directories and patterns that it is about
 *       <index>/                         a copy of that directory; none: there was no such
 *     .partial/                          being made, or removed; swept
 *
 * A power cut leaves no archive and every file, or a whole archive under ".open" and any part of the files: those
 * are put back from it by whoever asks for that. The program's lock is held throughout.
 */
#pragma once

#include "app/context.h"

typedef struct {
	guint64 number;
	gboolean open;
	char **directories, **patterns;
	int dir_fd; /* certs/ */
	int fd;	    /* the archive */
} GbeCertsArchive;

void gbe_certs_archive_free(GbeCertsArchive *archive);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(GbeCertsArchive, gbe_certs_archive_free)

/* The open one, else that of the highest number; *ret_archive NULL: there is none. */
bool gbe_certs_archive_newest(GbeApp *app, GbeCertsArchive **ret_archive,
			      GError **error) GBE_CHECKED;
/* Copies @directories as they are now, and is open and durable. GBE_ERROR_REFUSED: there is more than certificates
 * take up; _UNSAFE_SOURCE: a FIFO, a device or a mount point lies there. */
bool gbe_certs_archive_make(GbeApp *app, char *const *directories, char *const *patterns,
			    GbeCertsArchive **ret_archive, GError **error) GBE_CHECKED;
/* Its operation is through; all but the newest few are removed. */
bool gbe_certs_archive_close(GbeCertsArchive *archive, GError **error) GBE_CHECKED;
/* Removes it: what it holds is where it was. */
bool gbe_certs_archive_drop(GbeCertsArchive *archive, GError **error) GBE_CHECKED;

/* Adds the paths of the files and symlinks below @directories that @patterns match. */
bool gbe_certs_find(GbeApp *app, char *const *directories, char *const *patterns, GPtrArray *paths,
		    GError **error) GBE_CHECKED;
/* The same of what is in the archive. */
bool gbe_certs_archive_find(const GbeCertsArchive *archive, GPtrArray *paths,
			    GError **error) GBE_CHECKED;
/* Removes those, and nothing else; durable. */
bool gbe_certs_remove(GbeApp *app, char *const *directories, char *const *patterns,
		      GError **error) GBE_CHECKED;
/* Puts each of its files that its patterns match back, whole or not at all, with owner, mode and xattrs; makes
 * directories that are gone. Durable. */
bool gbe_certs_archive_put_back(GbeApp *app, const GbeCertsArchive *archive,
				GError **error) GBE_CHECKED;

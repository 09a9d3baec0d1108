/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The place of a store of snapshots: a directory, or a bucket. Its files are named ENTRY/FILE. A file appears
 * complete or not at all. Most callers do not depend on the kind. Implemented in depot.c, depot-directory.c,
 * depot-bucket.c.
 */
#pragma once

#include "app/device/context.h"
#include "store/core/transfer.h"

typedef struct GbeDepot GbeDepot;

/* Instead of a size: the entry is not a regular file. */
#define GBE_DEPOT_ODD G_MAXUINT64
/* @file NULL: @entry is not a directory, or its name is not that of a snapshot. The same entry may come more than
 * once. */
typedef bool (*GbeDepotEach)(const char *entry, const char *file, guint64 size, gpointer data,
			     GError **error);
typedef bool (*GbeDepotUse)(int fd, gpointer data, GError **error);

/* A record of how far a file was transferred, so that a later process can resume. ->save makes it durable. */
typedef struct {
	GbeTransfer *done;
	bool (*save)(gpointer data, GError **error);
	gpointer data;
} GbeDepotResume;

typedef struct {
	bool (*list)(GbeDepot *depot, GbeDepotEach each, gpointer data, GError **error);
	bool (*size)(GbeDepot *depot, const char *path, guint64 *ret_size, GError **error);
	bool (*read)(GbeDepot *depot, const char *path, gsize max, char **ret_bytes,
		     gsize *ret_size, GError **error);
	bool (*use)(GbeDepot *depot, const char *path, GbeDepotUse use, gpointer data,
		    GError **error);
	bool (*put)(GbeDepot *depot, const char *path, int fd, guint64 size,
		    const GbeDepotResume *resume, GError **error);
	bool (*unpublish)(GbeDepot *depot, const char *path, GError **error);
	bool (*remove)(GbeDepot *depot, const char *path, GError **error);
	bool (*files)(GbeDepot *depot, const char *entry, GbeDepotEach each, gpointer data,
		      GError **error);
	bool (*remove_entry)(GbeDepot *depot, const char *entry, GError **error);
	bool (*tidy)(GbeDepot *depot, GError **error); /* or NULL */
	void (*count)(GbeDepot *depot);		       /* or NULL */
	int (*directory)(const GbeDepot *depot);       /* or NULL */
	void (*free)(GbeDepot *depot);
} GbeDepotKind;

struct GbeDepot {
	const GbeDepotKind *kind;
	GbeApp *app;
	char *shown;	  /* as a person gave it: the directory, or the URL */
	char *identifier; /* absolute, and UTF-8 */
	bool (*progress)(gsize size, gpointer data); /* false interrupts; may be NULL */
	gpointer progress_data;
	guint64 requests, sent; /* what its calls have cost, as of gbe_depot_count() */
};

/* @directory NULL: the configured one, [store] directory or url. GBE_ERROR_USAGE: no store is given; _NOT_FOUND: the
 * directory, or the file system that was mounted there at the last push, is missing. A bucket is not asked yet. */
bool gbe_depot_open(GbeApp *app, const char *directory, GbeDepot **ret_place,
		    GError **error) GBE_CHECKED;
void gbe_depot_free(GbeDepot *depot);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(GbeDepot, gbe_depot_free)
/* The open directory, borrowed; -1: the store is a bucket. */
int gbe_depot_directory(const GbeDepot *depot);
/* Brings ->requests and ->sent up to date. */
void gbe_depot_count(GbeDepot *depot);
/* Is the depot a directory on another file system than the device's own? Also true if this is unknown. */
bool gbe_depot_is_elsewhere(const GbeDepot *depot);

bool gbe_depot_list(GbeDepot *depot, GbeDepotEach each, gpointer data, GError **error) GBE_CHECKED;
/* GBE_ERROR_NOT_FOUND. */
bool gbe_depot_size(GbeDepot *depot, const char *path, guint64 *ret_size,
		    GError **error) GBE_CHECKED;
/* Reads a small file. A NUL follows the bytes. GBE_ERROR_NOT_FOUND; _CORRUPT: it is longer than @max; _CANNOT_TELL: the
 * server cannot be asked. */
bool gbe_depot_read(GbeDepot *depot, const char *path, gsize max, char **ret_bytes, gsize *ret_size,
		    GError **error) GBE_CHECKED;
/* Reads a file of any size: @use gets a descriptor that delivers its bytes. An error of the depot hides one of
 * @use. */
bool gbe_depot_use(GbeDepot *depot, const char *path, GbeDepotUse use, gpointer data,
		   GError **error) GBE_CHECKED;
/* Writes the first @size bytes of @fd to a file, and checks that the depot has them. Makes its directory. @resume may
 * be NULL. A power cut leaves the complete file or none, and possibly a part, which the next call resumes. */
bool gbe_depot_put(GbeDepot *depot, const char *path, int fd, guint64 size,
		   const GbeDepotResume *resume, GError **error) GBE_CHECKED;
/* Also reads the text back. */
bool gbe_depot_put_text(GbeDepot *depot, const char *path, const char *text,
			GError **error) GBE_CHECKED;
/* Takes the file's name away, durably. A directory keeps the file as a part, so that a sweep finds the entry. */
bool gbe_depot_unpublish(GbeDepot *depot, const char *path, GError **error) GBE_CHECKED;
/* Removes one file, durably. A missing file is not an error. */
bool gbe_depot_remove(GbeDepot *depot, const char *path, GError **error) GBE_CHECKED;
/* Calls @each for every file of @entry, whatever its name. A missing entry is not an error. */
bool gbe_depot_files(GbeDepot *depot, const char *entry, GbeDepotEach each, gpointer data,
		     GError **error) GBE_CHECKED;
/* Removes an entry with all of its files. */
bool gbe_depot_remove_entry(GbeDepot *depot, const char *entry, GError **error) GBE_CHECKED;
/* Removes what interrupted transfers left outside of entries. */
bool gbe_depot_tidy(GbeDepot *depot, GError **error) GBE_CHECKED;

/* For depot.c. */
bool gbe_depot_open_directory(GbeApp *app, const char *path, GbeDepot **ret_place,
			      GError **error) GBE_CHECKED;
bool gbe_depot_open_bucket(GbeApp *app, const char *url, GbeDepot **ret_place,
			   GError **error) GBE_CHECKED;

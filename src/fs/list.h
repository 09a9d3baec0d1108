/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Lists the names in one directory, without "." and "..". Only reads. */
#pragma once

#include "base/auto.h"
#include "base/error.h"

#include <dirent.h>
#include <glib.h>

/* The owner of a directory can fill the disk with names, so that memory must have a limit. */
#define GBE_LIST_MAX 100000

/*
 * Reads a directory with any number of names, in no order:
 *
 *	g_auto(GbeList) list = gbe_list_open_at(dir_fd, what);
 *	while ((name = gbe_list_next(&list)) != NULL)
 *		...
 *	return gbe_list_end(&list, error);
 *
 * A failure, also one to open the directory, is kept until gbe_list_end().
 */
typedef struct {
	const char *what; /* borrowed */
	DIR *dir;
	int errsv;
} GbeList;

/* @dir_fd may be open for reading or with O_PATH; its offset does not matter. @what names the directory in
 * messages. */
GbeList gbe_list_open_at(int dir_fd, const char *what);
/* The name is valid until the next call; its file may be removed meanwhile. NULL: the end, or a failed read. */
const char *gbe_list_next(GbeList *list);
/* False: the directory could not be read to its end. */
bool gbe_list_end(const GbeList *list, GError **error) GBE_CHECKED;
void gbe_list_clear(GbeList *list);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(GbeList, gbe_list_clear)

/* *ret_names owns all names, in byte order. A list that cannot be read to its end is an error, never a shorter list.
 * More than GBE_LIST_MAX names are GBE_ERROR_UNSAFE_SOURCE. */
bool gbe_list_at(int dir_fd, const char *what, GPtrArray **ret_names, GError **error) GBE_CHECKED;

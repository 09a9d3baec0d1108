/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The names in one directory. Nothing is changed. */
#pragma once

#include "base/auto.h"
#include "base/error.h"

#include <glib.h>

/* Whoever owns a directory makes as many names as the disk holds: more are not kept in memory. */
#define GBE_LIST_MAX 100000

/* All but "." and "..", in no order; *ret_names owns them. @dir_fd: open for reading or a path alone; where it stands does
 * not matter. @what: as people know it. A list of which the end could not be read is an error, never a shorter one;
 * more than GBE_LIST_MAX names are GBE_ERROR_UNSAFE_SOURCE. */
bool gbe_list_at(int dir_fd, const char *what, GPtrArray **ret_names, GError **error) GBE_CHECKED;

/* The same names one after the other, any number of them. @visit may remove the one that it is given. */
typedef void (*GbeListVisit)(const char *name, gpointer data);
bool gbe_list_each_at(int dir_fd, const char *what, GbeListVisit visit, gpointer data,
		      GError **error) GBE_CHECKED;
/* Looks no further than the first name. */
bool gbe_is_empty_at(int dir_fd, bool *ret_empty, GError **error) GBE_CHECKED;

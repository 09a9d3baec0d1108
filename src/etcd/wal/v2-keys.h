/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Counts keys of the v2 API. They are in .snap files and never in the database, so that no snapshot has them
 * (etcd.md section 7). They are nodes of a JSON text, and each node begins with its path. In that text a quotation
 * mark within a value follows a backslash, so that only a node has "Path":"/1/….
 */
#pragma once

#include "base/auto.h"
#include "base/error.h"

/* The number of nodes below /1 in a .snap file that was found sound. Memory is bounded. */
bool gbe_v2_keys_count(int fd, const char *what, guint64 *ret_count, GError **error) GBE_CHECKED;

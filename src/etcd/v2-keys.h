/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Keys of the v2 API, which stand in .snap files and never in the database, so that no snapshot has them
 * (etcd.md section 7): nodes of a JSON text, each with its path before everything else of it. In such a
 * text, a quotation mark of a value has a backslash before it, so that only a node says "Path":"/1/….
 */
#pragma once

#include "base/auto.h"
#include "base/error.h"

/* How many nodes are below /1 in a .snap file that was found sound. Memory is bounded. */
bool gbe_v2_keys_count(int fd, const char *what, guint64 *ret_count, GError **error) GBE_CHECKED;

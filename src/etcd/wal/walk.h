/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Visits each record of a log that gbe_wal_read() found complete, in order. */
#pragma once

#include "base/error.h"
#include "etcd/wal/segment.h"

/* @path: the log's name in messages. Memory does not grow with the log. */
bool gbe_wal_walk(int wal_fd, const char *path, GbeLook *look, GbeWalVisitor visitor, gpointer data,
		  GError **error) GBE_CHECKED;

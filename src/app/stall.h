/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * How long does a writer wait while something is done to etcd? Another thread, with a connection of its own,
 * writes nothing (gbe_client_write_nothing()), again and again, and one that is turned away tries again as a
 * client would, and has waited since its first attempt.
 */
#pragma once

#include "etcd/call.h"

typedef struct GbeStall GbeStall;

/* Returns when the first write went through, or could not. What @endpoint points to has to outlive it. SIGPIPE is
 * ignored until gbe_stall_end(): libcurl changes it for the whole process, in both threads. */
GbeStall *gbe_stall_begin(const GbeEndpoint *endpoint);
/* Waits for the write that is under way; the longest wait in microseconds, or -1: nothing could be written
 * before, so that there is nothing to compare with. Frees. */
gint64 gbe_stall_end(GbeStall *stall);

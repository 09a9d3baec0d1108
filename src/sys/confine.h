/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A sandbox for a program that systemd puts into none, since greenboot starts it: it starts no program any more, writes
 * below some directories alone (landlock(7)), and is root with the capabilities that the files of another user take.
 */
#pragma once

#include "base/auto.h"
#include "base/error.h"

/* For the calling thread and the ones that it will make, until they end. @directories, NULL-terminated, lie below
 * @root_fd; of one that is not there, the nearest that is. A kernel without Landlock gives up the capabilities
 * alone. */
bool gbe_confine(int root_fd, const char *const *directories, GError **error) GBE_CHECKED;

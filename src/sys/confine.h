/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A sandbox for a program that greenboot starts, so that no sandbox of systemd applies to it. The program can start
 * no other program, writes only below some directories (landlock(7)), and is root with only the capabilities that
 * access to another user's files takes.
 */
#pragma once

#include "base/auto.h"
#include "base/error.h"

/* Confines the calling thread and the threads that it makes later, until they end. @directories, NULL-terminated,
 * lie below @root_fd; for a missing directory its nearest existing parent counts. A kernel without Landlock only
 * drops the capabilities. */
bool gbe_confine(int root_fd, const char *const *directories, GError **error) GBE_CHECKED;

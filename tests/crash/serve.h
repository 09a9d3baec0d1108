/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The process that is the disk: a FUSE file system with one file, and the commands about its content. The process has
 * nothing else: no device, no file of its own file system, no inherited descriptor. All waiting for the disk happens in
 * other processes, so this one can always end. When it ends, also by SIGKILL, the kernel wakes all that wait.
 */
#pragma once

#include <glib.h>

#define SERVE_FILE "disk"

/* Mounts at @directory a disk of @size bytes, says "ok" on @command_fd, and answers a line there with a line
 * until there are no more. Commands as in blocklog.c. Returns an exit status. */
int serve_disk(const char *directory, gsize size, int command_fd);

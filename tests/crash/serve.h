/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The process that is the disk: a FUSE file system with one file, and the commands about its content. It has
 * nothing else: no device, no file of its own file system, no descriptor that was not meant for it. Whatever
 * waits for the disk waits in another process, so that this one can always end, and when it ends, also by
 * SIGKILL, the kernel lets everybody go who waits.
 */
#pragma once

#include <glib.h>

#define SERVE_FILE "disk"

/* Mounts at @directory a disk of @size bytes, says "ok" on @command_fd, and answers a line there with a line
 * until there are no more. Commands as in blocklog.c. Returns an exit status. */
int serve_disk(const char *directory, gsize size, int command_fd);

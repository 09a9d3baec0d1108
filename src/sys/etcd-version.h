/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Runs `etcd --version`. */
#pragma once

#include <glib.h>

/* Long enough for a busy machine's first look at the program; a program that takes longer has no version. */
#define GBE_ETCD_VERSION_MS 5000

/* @binary: an absolute path below @root_fd. "3.5.16", newly allocated. NULL: not installed, no answer within @timeout_ms,
 * or no version in it. */
char *gbe_etcd_version_of_binary(int root_fd, const char *binary, guint timeout_ms);
/* The same, asked once in a boot: /run/greenboot-etcd/etcd-version keeps the answer with the program's device, inode,
 * size and time of change. A script is asked each time, since it may start another program. A power cut removes the
 * file. */
char *gbe_etcd_version_in_boot(int root_fd, const char *binary, guint timeout_ms);

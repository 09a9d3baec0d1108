/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The kernel and systemd on other processes: their names, users, locks and turns. */
#pragma once

#include "base/auto.h"

/* "etcd (pid 812, etcd.service)"; for 0, "a process that cannot be seen from here". Newly allocated. */
char *gbe_process_describe(pid_t pid);
/* The systemd unit of the process. NULL: none, or unknown. Newly allocated. */
char *gbe_process_unit(pid_t pid);
/* Microseconds for which its threads, and those of all its descendants, could have run but got no processor. 0: none,
 * or unknown. */
guint64 gbe_process_waited(pid_t pid);
/* A uid, also free as a gid, that has no account and no process and is not @taken. 0: none, or unknown. */
uid_t gbe_process_unused_uid(uid_t taken);
/* The process that holds a lock, of any kind, on @fd's file. 0: none, or unknown. The kernel names no process for a
 * lock of an open file description, such as etcd's on its log. */
pid_t gbe_process_with_lock(int fd);

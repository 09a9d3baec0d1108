/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Makes changes durable, or keeps their order. Open the fd before writing: syncfs reports only the write-back
 * errors since then (kernel 5.8). On btrfs each flush commits the file system (sync.c says why). After
 * gbe_sync_fs(), gbe_sync_dir() or gbe_sync_file() returns true, what was written before the call survives a power
 * cut.
 */
#pragma once

#include "base/auto.h"
#include "base/error.h"

/* @what names the object in the error. */
bool gbe_sync_fs(int fd, const char *what, GError **error) GBE_CHECKED; /* the whole file system */
bool gbe_sync_dir(int dir_fd, const char *what,
		  GError **error) GBE_CHECKED; /* names in a directory */
/* Names that were changed in @dir_fd before are on disk no later than names changed in @next_fd after. If one log keeps
 * both in order, no flush is needed; else @dir_fd is flushed (and counted in @flushes, which may be NULL).
 * Does not cover the content of files, and makes nothing durable alone. */
bool gbe_sync_order(int dir_fd, int next_fd, const char *what, guint *flushes,
		    GError **error) GBE_CHECKED;
bool gbe_sync_file(int fd, const char *what, GError **error) GBE_CHECKED;
/* For a small file @fd (also open for reading) that was just written in @dir_fd. Its content reaches the disk no later
 * than changes that follow, on btrfs, on XFS, and on ext4 with a journal. Makes nothing durable alone. */
bool gbe_sync_settle(int fd, int dir_fd, const char *what, GError **error) GBE_CHECKED;
/* Clones settled before on @fd's file system are on disk no later than changes made after. On btrfs and XFS this needs a
 * flush only if bytes were @copied. Other file systems are always flushed. (@flushes counts the flush.) */
bool gbe_sync_content(int fd, bool copied, const char *what, guint *flushes,
		      GError **error) GBE_CHECKED;

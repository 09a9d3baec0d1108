/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The place of the data that a restore by hand displaces. restore --keep-existing: the data becomes a directory of
 * the caller's choice, by one rename (a power cut: app/backup/restore.h). restore --skip-backup: the data becomes a
 * backup with the mark `discard`.
 */
#pragma once

#include "app/backup/observe.h"

/*
 * A backup with the mark `discard` is removed
 *   - at once, when --stop had stopped the service and etcd is healthy again with the restored data, or
 *   - with the first retention after a later run that was green and healthy (core/decide/retention.c).
 * It stays if it is the last valid backup, is pinned, or is what an update on trial goes back to. After a power cut
 * at any moment, the second way removes it.
 */

/* Can the data become @path, absolute without --root? GBE_ERROR_NOT_FOUND: the parent directory does not exist;
 * _FAILED: @path exists; _REFUSED: a rename cannot reach it. */
bool gbe_displaced_check_place(GbeApp *app, const GbeObserved *observed, const char *path,
			       GError **error) GBE_CHECKED;
bool gbe_displaced_is_at(GbeApp *app, const char *path);

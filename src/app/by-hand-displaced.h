/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * restore --keep-existing: the displaced data becomes a directory of the caller's choice, by one rename (a
 * power cut: app/restore.h).
 *
 * restore --skip-backup: it becomes a backup with the mark `discard`, which goes
 *   - at once, where --stop had stopped the service and etcd is healthy again behind it, or
 *   - with the first retention after a later run that was green and healthy (core/retention.c),
 * and stays where it is the last valid one, pinned, or what an update on trial goes back to. A power cut at any
 * moment leaves it to the second of these.
 */
#pragma once

#include "app/observe.h"

/* Can the data become @path, absolute without --root? GBE_ERROR_NOT_FOUND: there is no directory for it;
 * _FAILED: it is there; _REFUSED: by no rename. */
bool gbe_displaced_check_place(GbeApp *app, const GbeObserved *observed, const char *path,
			       GError **error) GBE_CHECKED;
bool gbe_displaced_is_at(GbeApp *app, const char *path);

/* Waits for @seconds at most until etcd, which runs again, is healthy, then removes the backup @name that the
 * restore of @restored displaced. GBE_ERROR_VERIFY_FAILED, _CANNOT_TELL: it is not, or nobody knows;
 * _REFUSED: it must stay. Not linked into the initramfs, where no etcd runs. */
bool gbe_displaced_discard(GbeApp *app, const char *name, const char *restored, guint seconds,
			   GError **error) GBE_CHECKED;

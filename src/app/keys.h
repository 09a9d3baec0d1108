/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * [store] key, and the rule by it. Who may write the store of backups is root, and what a device made itself brings
 * it back whatever the digest says: a key that got lost must not cost a rollback. What came from outside is
 * believed only with a right one.
 */
#pragma once

#include "app/context.h"
#include "core/keyed.h"
#include "core/manifest.h"

/* Borrowed from @app, read once; NULL: none is configured. GBE_ERROR_UNSAFE_SOURCE: others than root may read or
 * exchange it; _INVALID_CONFIG: it is no file of keys. */
bool gbe_app_keys(GbeApp *app, const GbeKeys **ret_keys, GError **error) GBE_CHECKED;

/* Opens a file of keys: no symlink, root's, on a way that only root can change, and nobody else can write it, nor read
 * it where it is @secret: else GBE_ERROR_UNSAFE_SOURCE. */
bool gbe_keys_open(GbeApp *app, const char *path, gboolean secret, int *ret_fd,
		   GError **error) GBE_CHECKED;

/* May @manifest's backup be restored? @by_hand: by somebody who can take another one; else of what the device
 * made itself everything may. GBE_ERROR_REFUSED says what to do. */
bool gbe_keys_check_backup(GbeApp *app, const GbeManifest *manifest, gboolean by_hand,
			   GError **error) GBE_CHECKED;

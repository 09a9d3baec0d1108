/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * [store] key, and its rule. Only root can write the store of backups. A backup that the device made itself can be
 * restored whatever its digest says: a lost key must not cost a rollback. A backup that came from outside is
 * restored only with a right digest.
 */
#pragma once

#include "app/device/context.h"
#include "core/record/keyed.h"
#include "core/record/manifest.h"

/* Borrowed from @app, read once; NULL: no key is configured. GBE_ERROR_UNSAFE_SOURCE: users other than root may
 * read or exchange the file; _INVALID_CONFIG: the file is not a file of keys. */
bool gbe_app_keys(GbeApp *app, const GbeKeys **ret_keys, GError **error) GBE_CHECKED;

/* May @manifest's backup be restored? @by_hand: a person asks, who can take another backup; else every backup
 * that the device made itself may. GBE_ERROR_REFUSED says what to do. */
bool gbe_keys_check_backup(GbeApp *app, const GbeManifest *manifest, bool by_hand,
			   GError **error) GBE_CHECKED;

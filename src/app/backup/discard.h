/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Removes trees beside the data that are no longer needed. Their owner may have put a million entries into them.
 * Therefore such a tree first gets a name that every recovery sweeps; then it is removed for as long as
 * app->patience lasts.
 */
#pragma once

#include "app/backups/data.h"
#include "fs/write.h"

/* @name: a staging tree in @stage_fd, ".staging-<n>" or ".restore-<n>". */
bool gbe_discard_staging(GbeApp *app, int stage_fd, const char *name, GError **error) GBE_CHECKED;
/* Moves a directory that has the nonce's name out of the data directory, by one rename. The directory is then no
 * part of a backup, and no start waits until it is empty. */
bool gbe_discard_nonce_directory(GbeData *data, GError **error) GBE_CHECKED;
/* The prefix of such a directory's name beside the data; a number follows. */
#define GBE_DISCARD_NONCE GBE_TMP_PREFIX "nonce-"
/* True: @name is @prefix and a number in the form that this program writes. */
bool gbe_discard_has_number(const char *name, const char *prefix);

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Trees beside the data that are of no use any more. Whoever made them chose how many entries they have: they
 * get a name that every recovery sweeps, then they are removed as far as app->patience lasts.
 */
#pragma once

#include "app/data.h"
#include "fs/write.h"

/* @name: a staging tree in @stage_fd, ".staging-<n>" or ".restore-<n>". */
bool gbe_discard_staging(GbeApp *app, int stage_fd, const char *name, GError **error) GBE_CHECKED;
/* A directory in the nonce's place is not root's: it leaves the data directory in one rename, so that it is no
 * part of a backup, and nobody waits until it is empty. */
bool gbe_discard_nonce_directory(GbeData *data, GError **error) GBE_CHECKED;
/* Such a directory's name beside the data, with a number behind it. */
#define GBE_DISCARD_NONCE GBE_TMP_PREFIX "nonce-"
/* Is @name ours alone: @prefix and a number that this program would have written? */
bool gbe_discard_has_number(const char *name, const char *prefix);

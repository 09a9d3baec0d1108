/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Looks into etcd's own files, for decisions, for manifests and before a restore. The data is sound when nothing is
 * wrong that makes a starting etcd die or lose writes. Data that this program does not know, or could not
 * read, is unknown, never unsound. Writes nothing and takes no lock: the caller has etcd's lock, or a copy.
 */
#pragma once

#include "app/backups/data.h"
#include "app/backups/store.h"
#include "core/record/manifest.h"
#include "etcd/directory/directory.h"

/* Looks into data that nobody has open: sound, damage, voters, ids, version, consistent index. */
void gbe_inside_data(const GbeData *data, GbeFacts *facts);
/* Looks into a backup that is being made, as [backup] verify= asks, and fills @manifest. A live backup is always
 * looked into, and fails when it is not sound (GBE_ERROR_VERIFY_FAILED) or when that cannot be told
 * (GBE_ERROR_CANNOT_TELL). Other backups are kept, graded bad: there is no better copy of damaged data. */
bool gbe_inside_copy(GbeApp *app, int data_fd, GbeManifest *manifest, GError **error) GBE_CHECKED;
/* Records a look at sound data, which says more than the manifest did before. Raises ->verified, and an unproven
 * grade when only that was missing. */
void gbe_inside_record(const GbeDirectory *directory, GbeVerifyLevel level, GbeManifest *manifest);
/* Before a restore: does the backup match its manifest, and is its content sound? Checks every row, each digest
 * and the recorded HashKV, as far as [restore] verify-budget= allows. A backup that takes longer gets the sanity
 * check, and the journal reports that. GBE_ERROR_VERIFY_FAILED names what is damaged; an unknown format passes.
 * @ret_look_usec: how long the look into etcd's files took; may be NULL. */
bool gbe_inside_backup(GbeApp *app, GbeStore *store, const GbeManifest *manifest,
		       gint64 *ret_look_usec, GError **error) GBE_CHECKED;

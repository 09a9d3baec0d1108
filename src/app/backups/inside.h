/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Looks into etcd's own files, for decisions and for manifests. The data is sound when nothing is
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

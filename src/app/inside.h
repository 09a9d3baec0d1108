/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What etcd's own files say, for decisions, for manifests and before a restore. Sound: nothing is wrong
 * that a starting etcd would die of, or lose writes by; what this program does not know, or what could
 * not be read, is unknown, never unsound. Nothing is written, and no lock taken: who calls has etcd's,
 * or a copy.
 */
#pragma once

#include "app/data.h"
#include "app/store.h"
#include "core/manifest.h"
#include "etcd/directory.h"

/* Of data that nobody has open: sound, damage, voters, ids, version, consistent index. */
void gbe_inside_data(const GbeData *data, GbeFacts *facts);
/* Of a backup that is being made, by [backup] verify=: what the copy says goes into @manifest. A live one is
 * looked into in any case, and is no backup where it is not sound (GBE_ERROR_VERIFY_FAILED) or where that
 * cannot be told (GBE_ERROR_CANNOT_TELL). Others are kept, graded bad: there is no better copy of damaged
 * data. */
bool gbe_inside_copy(GbeApp *app, int data_fd, GbeManifest *manifest, GError **error) GBE_CHECKED;
/* Of sound ones: what they say is more than what was known before. Raises ->verified, and an unproven grade
 * where only that was missing. */
void gbe_inside_record(const GbeDirectory *directory, GbeVerifyLevel level, GbeManifest *manifest);
/* Before a restore: is the backup what its manifest says, and is what that says sound? Every row, digest and
 * the recorded HashKV, as far as [restore] verify-budget= allows; one that takes longer gets the sanity check,
 * and the journal says so. GBE_ERROR_VERIFY_FAILED names what is damaged; a format that is not known passes.
 * @ret_look_usec: how long etcd's files took of it; may be NULL. */
bool gbe_inside_backup(GbeApp *app, GbeStore *store, const GbeManifest *manifest,
		       gint64 *ret_look_usec, GError **error) GBE_CHECKED;

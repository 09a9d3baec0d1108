/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A member's settings (cluster.env) and certificates belong to its data. When the data is set aside, they are kept
 * under the ids of the cluster and the member. They come back with any restored data of that member.
 *
 *   /var/lib/greenboot-etcd/cluster.env.of-<cluster>-<member>
 *   /var/lib/greenboot-etcd-pki/of-<cluster>-<member>/
 *
 * `of-unknown`: the ids of damaged data, if no record has them. `ownerless-<number>`: certificates without data and
 * without a record of a member. These are kept, and never come back automatically.
 */
#pragma once

#include "app/backup/observe.h"

/* Is anything set aside? Needs no lock. */
bool gbe_settings_aside(GbeApp *app, bool *ret_any, GError **error) GBE_CHECKED;

/* Both need the program's lock, and @observed as it is now. The settings are moved first, then the certificates, each
 * by two renames. After a power cut between two of these, the same call does the rest. */

/* Keeps them for the data of backup @number; 0: the data was gone, and they are kept for a backup
 * of the same member. */
bool gbe_settings_set_aside(GbeApp *app, const GbeObserved *observed, guint64 number,
			    GError **error) GBE_CHECKED;
/* Brings back those of the present data, in place of those of the data that it displaced. Removes those of members of
 * which no backup is left, where all backups are known. *ret_moved: something came back. */
bool gbe_settings_follow(GbeApp *app, const GbeObserved *observed, bool *ret_moved,
			 GError **error) GBE_CHECKED;

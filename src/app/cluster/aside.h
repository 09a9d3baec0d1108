/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A member's settings (cluster.env) and certificates belong to its data: where that is set aside as a backup, they are
 * kept under the backup's number (names are given out again), and where the backup is restored, they come back.
 *
 *   /var/lib/greenboot-etcd/cluster.env.of-<number>
 *   /var/lib/greenboot-etcd-pki/of-<number>/
 */
#pragma once

#include "app/device/context.h"

/* Both need the program's lock. Each is one rename for the settings and one for the certificates: after a power cut
 * between them, the next call does the other one. @sequence: the backup's; 0: there was no data. */
bool gbe_cluster_set_aside(GbeApp *app, guint64 sequence, GError **error) GBE_CHECKED;
/* By the ledger: where the present data was restored from a backup that settings belong to, they come back, and
 * those that are there are set aside with what was displaced. Removes those of backups that are gone. Does nothing
 * where nothing is set aside. *ret_moved: something came back. */
bool gbe_cluster_follow(GbeApp *app, bool *ret_moved, GError **error) GBE_CHECKED;

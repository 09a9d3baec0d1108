/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Snapshots that wait to be sent, in the state directory. The queue is a store of the same layout. Each entry also has
 * a record of how far it was sent (store/core/transfer.h). The newest goes first, and only the newest [store]
 * queue-keep are kept.
 */
#pragma once

#include "store/push.h"

/* Puts a snapshot into the queue, and drops the oldest beyond [store] queue-keep. @identifier: of the configured
 * depot; @there: the depot may be asked. The caller holds the lock "store". */
bool gbe_queue_add(GbeApp *app, const char *identifier, bool there, const GbeStorePush *options,
		   GbeStorePushed *ret_pushed, GError **error) GBE_CHECKED;
/* True: all that etcd has was pushed, or waits already; a refused snapshot does not count. Costs one request to the
 * store. @depot NULL: the store is missing. */
bool gbe_queue_is_unchanged(GbeApp *app, GbeDepot *depot);

/* Sends @name, and then removes it from the queue. Succeeds if the queue does not have @name. GBE_ERROR_BUSY: another
 * process sends.
 *
 * A power cut leaves after step n:
 *
 *   1  the data is in the store, whole                     an entry without a meta file: no snapshot
 *   2  its keyed digest, where there is a key              the same
 *   3  its meta file                                       the snapshot; it is still in the queue, and is
 *                                                          recognised there
 *   4  it is gone from the queue                           the record of the store may lack it
 *
 * During step 1, each part that the server has is recorded, and the next sender sends the others. A failure stays in
 * the snapshot's record, with the reason, until the snapshot is sent or fails for another reason. */
bool gbe_queue_send(GbeApp *app, GbeDepot *depot, const char *name, GError **error) GBE_CHECKED;
/* Tries to send each waiting snapshot once, the newest first, also those that arrive meanwhile. Calls @sent for each
 * success. A refused or damaged snapshot is kept, and the others are still sent. True: the queue is empty. The error
 * is that of the newest refused snapshot; or the store does not answer, and the others were not tried. */
typedef void (*GbeQueueSent)(const char *name, gpointer data);
bool gbe_queue_send_all(GbeApp *app, GbeDepot *depot, GbeQueueSent sent, gpointer data,
			GError **error) GBE_CHECKED;
/* Sends the queue until it is empty; runs as a service. After a failure, waits for 1 min at first and up to 6 h, for
 * a change of the network, or for a newer snapshot. Each attempt with the whole queue may take @seconds. */
bool gbe_queue_drain(GbeApp *app, guint64 seconds, GError **error) GBE_CHECKED;

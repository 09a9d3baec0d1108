/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Snapshots that wait to be sent, in the state directory: a store of the same layout, where each entry also has a
 * record of how far it was sent (store/core/transfer.h). The newest goes first, and only the newest [store] queue-keep
 * are kept.
 */
#pragma once

#include "store/push.h"

/* Puts one into the queue, and drops the oldest beyond [store] queue-keep. @identifier: of the configured depot;
 * @there: it may be asked. The caller holds the lock "store". */
bool gbe_queue_add(GbeApp *app, const char *identifier, bool there, const GbeStorePush *options,
		   GbeStorePushed *ret_pushed, GError **error) GBE_CHECKED;
/* True: etcd has nothing that was not pushed, or does not wait already; a refused snapshot does not count. Costs the
 * store one question. @depot NULL: the store is missing. */
bool gbe_queue_is_unchanged(GbeApp *app, GbeDepot *depot);

/* Sends @name, and then takes it out of the queue. No error where it does not wait. GBE_ERROR_BUSY: another process
 * sends.
 *
 * A power cut leaves after step n:
 *
 *   1  the data is in the store, whole                     an entry without a meta file: no snapshot
 *   2  its keyed digest, where there is a key              the same
 *   3  its meta file                                       the snapshot; it is still in the queue, and is
 *                                                          recognised there
 *   4  it is gone from the queue                           the record of the store may lack it
 *
 * Within step 1 the parts that the server has are recorded, and the next sender sends the others. A failure
 * stays in the snapshot's record, with the reason, until it is sent or fails for another reason. */
bool gbe_queue_send(GbeApp *app, GbeDepot *depot, const char *name, GError **error) GBE_CHECKED;
/* Sends each snapshot that waits, once, the newest first, and what comes meanwhile; calls @sent for each that was sent.
 * A snapshot that the store refuses, or that is damaged, is kept, and the others are still sent. True: nothing waits.
 * An error: of the newest that was refused; or the store cannot be asked, and the others were not tried. */
typedef void (*GbeQueueSent)(const char *name, gpointer data);
bool gbe_queue_send_all(GbeApp *app, GbeDepot *depot, GbeQueueSent sent, gpointer data,
			GError **error) GBE_CHECKED;
/* Sends all that waits again and again: after a failure it waits, for 1 min at first and up to 6 h, for a change of the
 * network, or for a newer snapshot. Each attempt with all that waits may take @seconds. Ends when nothing waits; runs as
 * a service. */
bool gbe_queue_drain(GbeApp *app, guint64 seconds, GError **error) GBE_CHECKED;

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Journal events: one function per MESSAGE_ID, each with an entry in data/greenboot-etcd.catalog that says what
 * happened, what it means and what to do (lint compares). If stderr is not the journal and no journal socket exists,
 * the line goes to stderr without its "<N>" priority. Below --root lines only go to stderr, never to the machine's
 * journal.
 */
#pragma once

#include "base/auto.h"

#include <glib.h>

/* Fields of every event. NULL and 0 leave a field out. */
typedef struct {
	const char *rule, *action, *backup;
	const char *deployment, *from_deployment, *run;
	const char *revision, *reason;
	const char *
	    displaced; /* no field of its own: the backup that a person is told to put back with `undo` */
	gint64 duration_usec;
} GbeEventFields;

/* @program: "prerun"; SYSLOG_IDENTIFIER becomes greenboot-etcd-prerun. @quiet: errors only. */
void gbe_events_init(const char *program, bool below_root, bool quiet, int verbosity);
/* From now on every line also goes to stderr with "<@level>" (1 to 7) before it: shell greenboot shows a hook's
 * lines by that level. Any other @level means no prefix, the default. */
void gbe_events_set_prefix(int level);

/* Each event: gbe_event_NAME(), its MESSAGE_ID, its priority, the field that names its object, and the beginning of its
 * text. The ids never change, because people's filters use them. Each has an entry in data/greenboot-etcd.catalog. */
/* clang-format off */
#define GBE_EVENTS(X) \
	X(decided, "20b47cf33f3d45779905a3ff6aee4cf9", LOG_INFO, OBJECT_RULE, "Decided by rule") /* the rule and its consequence */ \
	X(backed_up, "c9caffff71cc4e9c8e118ecb174bd4c9", LOG_INFO, OBJECT_BACKUP, "Backed up the data of etcd as") \
	X(backup_skipped, "888acdb4eea849ef9ebe0a5868ab65ac", LOG_INFO, OBJECT_NONE, "No backup of the data of etcd was taken") /* unchanged, or not cheap here */ \
	X(backup_failed, "349e14b55e9e433bb48f3d46592d2543", LOG_ERR, OBJECT_NONE, "The data of etcd could not be backed up") \
	X(start_failed, "fd248a20310840cea79092d64aea9ff2", LOG_ERR, OBJECT_NONE, "It could not be decided what this start needs of the data of etcd") /* prerun reached no decision */ \
	X(restored, "abce6674737a4c728de1ca859f87484c", LOG_NOTICE, OBJECT_BACKUP, "Restored the data of etcd from") /* names the displaced and the undo command */ \
	X(set_aside, "4d1f0ab2c6e8473f9a5e0b7c21d84f36", LOG_NOTICE, OBJECT_BACKUP, "Set the data of etcd aside as") /* names the backup that the data is now */ \
	X(restore_failed, "e57d9979613f442fb8ffbd88db67bc0c", LOG_ERR, OBJECT_NONE, "The data of etcd could not be restored") \
	X(candidate_bad, "fe1a13badbac4ff495b94f49ab5fd7c6", LOG_WARNING, OBJECT_BACKUP, "Cannot use the backup") \
	X(recovered, "065b655ef5104422a872c36c5393fadd", LOG_NOTICE, OBJECT_NONE, "An interrupted operation was cleaned up") /* an interrupted operation finished or undone */ \
	X(held_back, "d31e38cf8f624f29988c1e3cddd15192", LOG_CRIT, OBJECT_NONE, "etcd is held back") /* etcd is not started; reason has the command */ \
	X(took_over, "7b3bf8d86b514db1848f42c23f5f488e", LOG_INFO, OBJECT_OWNER, "From now on the data of etcd belongs to") /* take-over recorded */ \
	X(verdict, "be615c252c91448b985c9f452f3c72d8", LOG_NOTICE, OBJECT_ACTION, "This run of the system was judged") /* action = green | red */ \
	X(graded, "d335a55c279447a7a91aee30cd9d6bf0", LOG_INFO, OBJECT_BACKUP, "A new grade for") \
	X(deleted, "2f66eb1f35bd4a8d8b5ea2026cda1571", LOG_INFO, OBJECT_BACKUP, "Deleted") \
	X(request_failed, "8f003286ebf94647be008a0b87f85afd", LOG_ERR, OBJECT_NONE, "The requested restore cannot be done") \
	X(state_broken, "f1fe98b78fa6450bb7b319ede686018b", LOG_WARNING, OBJECT_NONE, "A record could not be read") /* a record was set aside */ \
	X(config_bad, "0e8842f6c8ca469fa69cf33bf44ca66f", LOG_ERR, OBJECT_NONE, "The configuration is wrong") \
	X(unhealthy, "1400d3cd33c349e9ad59ec787affdef8", LOG_ERR, OBJECT_NONE, "etcd is not healthy") \
	X(healthy, "7e147aabab874a79a030c0c783438dda", LOG_INFO, OBJECT_NONE, "etcd is healthy") \
	X(cannot_tell, "760c6c733d154f3ebc2d63156da88531", LOG_WARNING, OBJECT_NONE, "Cannot tell whether etcd is healthy") \
	X(preflight, "fb694ddc87034b778c3d4bb34f5b7e05", LOG_WARNING, OBJECT_NONE, "An upgrade would not go well now") \
	X(carried, "f534d006c13f4c289cc04445c4d048c7", LOG_WARNING, OBJECT_NONE, "Something failed at the last shutdown") \
	X(closed, "edf09f59b37d4175865be86a4c0a2303", LOG_INFO, OBJECT_NONE, "The data of etcd was closed for the shutdown") /* closing record written */ \
	X(fresh, "0b47095073be47a897d310c14849ef49", LOG_NOTICE, OBJECT_NONE, "etcd starts without data") /* no data */ \
	X(rotted, "8489eb96d8474319b42e7ab727b1826e", LOG_ERR, OBJECT_BACKUP, "A backup has rotted:") /* a backup is no longer what it was */ \
	X(defragmented, "a1913de4693242ce85546a2d1867c56f", LOG_INFO, OBJECT_NONE, "etcd's database was defragmented") \
	X(defrag_failed, "d5dccea1739145d785536840a28374ea", LOG_WARNING, OBJECT_NONE, "etcd's database could not be defragmented") \
	X(alarm_cleared, "3e51eb081cef46eb8520d0bc640142dc", LOG_NOTICE, OBJECT_NONE, "etcd takes writes again") /* NOSPACE */ \
	X(certs_changed, "f221c0405e7d4b6f904d3fd6562acc84", LOG_NOTICE, OBJECT_NONE, "Certificates were changed") /* by a verb of certs */ \
	X(rehearsed, "6d0f4b0bb1f34c2c8b6a6d4b8a5e27d1", LOG_INFO, OBJECT_DEPLOYMENT, "The etcd of the update works on today's data:") /* an update's etcd passed */ \
	X(rehearsal_failed, "0a4c5a3e9b7d4ec4a6b1f0c2d93e58f7", LOG_ERR, OBJECT_DEPLOYMENT, "The etcd of the update does not work on today's data:") /* it did not */ \
	X(not_rehearsed, "b92f8d15c6a74f0e9c3d7e1a604b2c58", LOG_NOTICE, OBJECT_DEPLOYMENT, "The update could not be rehearsed:") /* unknown;
																   * reason
																   * says
																   * why */ \
	X(rejoined, "52be07d9c3a14e6f8d20b9a4716c5f3e", LOG_WARNING, OBJECT_NONE, "This device is a member of its cluster again, with data from the others") /* ->reason: why it had to */ \
	X(update_locked, "3f8e52c1a7d94b06b1e4c7590d2a6f83", LOG_NOTICE, OBJECT_NONE, "The update lock of the cluster") /* or released: reason says which */ \
	X(update_failed, "c58a07e94d3b4f21a6f0829bd17e3c64", LOG_ERR, OBJECT_DEPLOYMENT, "The update failed, and the other members wait:") /* the others do not update */
/* clang-format on */
#define GBE_EVENT_DECLARE(name, id, priority, object, lead)                                        \
	void gbe_event_##name(const GbeEventFields *fields);
GBE_EVENTS(GBE_EVENT_DECLARE)

/* For people who watch: not an event, no MESSAGE_ID. */
void gbe_note(const char *format, ...) G_GNUC_PRINTF(1, 2);
/* Always printed. For a failure that is no event but sets the exit status, and for a wait that people do not
 * expect. */
void gbe_complain(const char *format, ...) G_GNUC_PRINTF(1, 2);

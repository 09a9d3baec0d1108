/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Looks before the program decides: fills GbeFacts from ostree, systemd, greenboot, the data, the store and the
 * state. A missing fact is no error: the fact is unknown, with its reason.
 */
#pragma once

#include "app/backups/data.h"
#include "app/backups/store.h"
#include "core/decide/facts.h"
#include "core/health/health.h"
#include "fs/tree.h"
#include "sys/deployment/deployments.h"
#include "sys/deployment/greenboot.h"

/* The time that each step of the engine took, and the bytes that it wrote: `timing` of --json. */
typedef struct {
	gint64 total_usec; /* from the lock to the durable name, without ->look_usec */
	gint64 clone_usec, verify_usec, sync_usec, publish_usec;
	gint64 look_usec;      /* looking into etcd's files, to grade the backup */
	guint64 bytes_written; /* bytes of data that were really copied */
	guint flushes;
} GbeTiming;

typedef struct {
	GbeFacts *facts;
	GbeDeployments *deployments;
	GbeGreenboot *greenboot;
	GbeData *data;
	GbeStore *store;
	char *store_why;    /* why the store could not be opened; NULL */
	GPtrArray *damaged; /* of char *: store entries whose manifest cannot be read */
	int lock_fd;	    /* etcd's lock on db, or -1 */
	bool starts; /* the caller is about to let etcd start: gbe_observe_inside() does nothing */
	bool looked; /* gbe_observe_inside() has run */
	/* gbe_observe_tree() */
	bool scanned;
	GbeTreeInfo tree;
	char *tree_why;	    /* why the tree cannot be copied; NULL: it can, or unknown */
	char *tree_unknown; /* why that is unknown, and so ->tree; NULL */
	gint64 look_usec;   /* how long gbe_observe_inside() took */
} GbeObserved;

typedef struct {
	bool repair;	/* the caller holds this program's lock: set broken records aside, make
			  * the store */
	bool lock_data; /* take and keep etcd's lock */
	bool
	    decides; /* prerun, of whatever root: it may start that system's etcd for its version */
	bool inside; /* call gbe_observe_inside(); ignored by gbe_observe_again() */
	bool tolerant; /* data or a store that cannot be opened has ->fd -1 and is a fact (data,
		       * store). The reason is in the fact data_why or in ->store_why. Else: an
		       * error */
	/* Opened under the same lock, and unchanged since: taken over, both or none; NULL: opened. */
	GbeData **data;
	GbeStore **store;
} GbeObserveOptions;

bool gbe_observe(GbeApp *app, const GbeObserveOptions *options, GbeObserved **ret_observed,
		 GError **error) GBE_CHECKED;
void gbe_observed_free(GbeObserved *observed);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(GbeObserved, gbe_observed_free)

/* The error of an operation for which the store is missing: GBE_ERROR_REFUSED, with the reason. Always returns false. */
bool gbe_observed_no_store(const GbeObserved *observed, GError **error);

/* False, and GBE_ERROR_CANNOT_TELL: the data cannot be read, with the reason. */
bool gbe_observed_is_readable(const GbeObserved *observed, GError **error) GBE_CHECKED;

/* Looks once into etcd's files, when no process has them open, for the facts sound, damage, voters, ids and versions of
 * the data itself. This reads the whole log, so only a caller that needs these facts calls it. */
void gbe_observe_inside(GbeObserved *observed);

/* Scans the tree of the data once for what a backup refuses, within the limits of a look (fs/tree.h). Cheap: etcd has
 * some ten names. Without data, the tree is empty. */
void gbe_observe_tree(GbeObserved *observed);

/* The fact `cramped`, measured now. */
GbeTri gbe_observe_cramped(const GbeObserved *observed);
/* The request on the kernel command line, or NULL. *ret_rd (may be NULL): it asks the initramfs. An
 * initramfs without this program's module leaves such a request to prerun. */
const char *gbe_observe_cmdline(const GbeApp *app, bool *ret_rd);

/* Looks again at data, state and store after they changed; the facts from ostree, systemd and greenboot stay.
 * Releases etcd's lock (with ->lock_data, takes it again). On failure @observed is unchanged, except for the
 * lock. */
bool gbe_observe_again(GbeApp *app, const GbeObserveOptions *options, GbeObserved *observed,
		       GError **error) GBE_CHECKED;

/* The deployment that @wanted names, as in gbe_observe_next_boot(). NULL: no such deployment; unless @wanted is NULL,
 * also GBE_ERROR_NOT_FOUND. */
const GbeListed *gbe_observe_find(const GbeFacts *facts, const char *wanted, GError **error);
/* Fills in what the etcd that has the data open says: the voters and the version, as the next start will find them.
 * @live may be NULL, or of an etcd that did not answer or has other data: then nothing changes. */
void gbe_observe_live(GbeObserved *observed, const GbeHealthFacts *live);
/* For status and explain, changes ->facts into those that the next start will see. The run is a new one of the
 * deployment that boots next, with closed data. Data that is open now is never examined afterwards. @booted: NULL (what
 * boots next), a deployment id, "rollback", "staged" or an index. @verdict and @deliberate override those facts (NULL,
 * unknown: no change). */
bool gbe_observe_next_boot(GbeObserved *observed, const char *booted, const char *verdict,
			   GbeTri deliberate, GError **error) GBE_CHECKED;

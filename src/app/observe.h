/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Looking before deciding: fills GbeFacts from ostree, systemd, greenboot, the data, the store and the
 * state. Nothing here fails for want of a fact: what could not be told is unknown, with its reason.
 */
#pragma once

#include "app/data.h"
#include "app/store.h"
#include "core/facts.h"
#include "sys/deployments.h"
#include "sys/greenboot.h"

typedef struct {
	GbeFacts *facts;
	GbeDeployments *deployments;
	GbeGreenboot *greenboot;
	GbeData *data;
	GbeStore *store;
	char *store_why;    /* why the store could not be opened; NULL */
	GPtrArray *damaged; /* of char *: store entries whose manifest cannot be read */
	int lock_fd;	    /* etcd's lock on db, or -1 */
	gboolean looked;    /* into etcd's files: gbe_observe_inside() */
	gint64 look_usec;   /* how long that took */
} GbeObserved;

typedef struct {
	gboolean repair; /* we hold our lock: broken records may be set aside, the store be made */
	gboolean lock_data; /* take and keep etcd's lock */
	gboolean inside;    /* gbe_observe_inside(), too; not of gbe_observe_again() */
	gboolean
	    tolerant; /* data or a store that cannot be opened is a fact (data, store), no error */
} GbeObserveOptions;

bool gbe_observe(GbeApp *app, const GbeObserveOptions *options, GbeObserved **ret_observed,
		 GError **error) GBE_CHECKED;
void gbe_observed_free(GbeObserved *observed);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(GbeObserved, gbe_observed_free)

/* Fills ->data and ->store; with ->tolerant, what cannot be opened is there with ->fd -1, and why is in the fact
 * data_why and in ->store_why. In observe-open.c. */
bool gbe_observe_open(GbeApp *app, const GbeObserveOptions *options, GbeObserved *observed,
		      GError **error) GBE_CHECKED;

/* Looks into etcd's files where nobody has them open, once: the facts sound, damage, voters, ids, versions
 * of the data itself. Its cost is the log's: for who decides by it, or says it. */
void gbe_observe_inside(GbeObserved *observed);
/* Is anything going to be decided by what is inside? Not where the service is started again in the same run
 * and had not failed (rule 5), not where an update failed (9, 10a), and not where nothing is decided at all. */
gboolean gbe_observe_wants_inside(const GbeObserved *observed);

/* The version of the booted deployment's etcd, as it said it itself in an earlier run; false: it never did. */
gboolean gbe_observe_recorded_version(GbeFacts *facts);
/* What the kernel command line asks of this program, or NULL. *ret_rd: of the initramfs; one without our
 * module leaves that to prerun. May be NULL. */
const char *gbe_observe_cmdline(const GbeApp *app, gboolean *ret_rd);

/* Looks again at data, state and store, after something was done to them; what ostree, systemd and
 * greenboot said stays. Lets go of etcd's lock (and takes it anew with ->lock_data). On failure
 * @observed is as it was, but for the lock. */
bool gbe_observe_again(GbeApp *app, const GbeObserveOptions *options, GbeObserved *observed,
		       GError **error) GBE_CHECKED;

/* Changes @facts into what the next start will see, for status and explain: a new run of the deployment
 * that boots next, nobody at the data. @booted: NULL (what boots next), a deployment id, "rollback",
 * "staged" or an index; @verdict and @deliberate override (NULL, unknown: as they are). */
bool gbe_observe_next_boot(GbeObserved *observed, const char *booted, const char *verdict,
			   GbeTri deliberate, GError **error) GBE_CHECKED;

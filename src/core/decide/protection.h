/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The first line of `status`: the data is protected; or it is not, and why; or a person must do something.
 * The judgement follows from observed facts (app/report/protection.h). An unknown fact never gives "Protected".
 */
#pragma once

#include "base/auto.h"
#include "core/tri.h"
#include "core/words.h"

typedef enum {
	GBE_PROTECTED,
	GBE_NOT_PROTECTED, /* a failed update could cost data, or could not be rolled back */
	GBE_NEEDS_YOU,	   /* a person must do something */
} GbeProtectionState;

const char *gbe_protection_to_string(GbeProtectionState state);

/* Texts are borrowed; NULL: nothing of that kind. */
typedef struct {
	/* Does prerun run before etcd? */
	const char *service; /* [etcd] service; NULL or "": off */
	GbeTri prerun;	     /* UNKNOWN: masked; NO: not installed */
	bool service_known;
	GbeTri ordered; /* the service requires and awaits prerun; UNKNOWN: systemd was not asked */
	const char *other;	     /* a program that has the data open in place of the service */
	const char *elsewhere;	     /* why the etcd that answers does not use the data */
	bool skipped;		     /* greenboot-etcd.skip on the command line of this boot */
	const char *ambiguous;	     /* more than one system is there, and none is chosen */
	const char *unprotected;     /* another application with etcd: its service */
	const char *unprotected_why; /* why it was not detected; NULL: another one is configured */
	/* The data and its place. */
	const char *data_dir;
	GbeTri data;
	const char *data_why; /* why the data cannot be read */
	const char *partial;  /* why a backup would lack a part of the data */
	/* Bad findings of preflight. */
	const char *system, *store, *greenboot;
	bool last_good; /* there is a good backup */
	bool member;	/* of a cluster with others, which give it lost data again */
	/* Problems that wait for a person. */
	const char *held;    /* why etcd is held back */
	bool holds;	     /* the next start would hold etcd back */
	const char *rewinds; /* the backup that the next start puts in place, unasked; NULL */
	const char *damaged; /* a backup whose manifest cannot be read */
	const char *failed;  /* the last operation's result, unless it is "done" */
	const char *again;   /* the command that does a failed restore; NULL */
	const char *periodic, *offsite;
	GbeHealth health;
	const char *health_why;
	const char *warning; /* the first of all other warnings */
} GbeProtectionFacts;

typedef struct {
	GbeProtectionState state;
	bool certain;	     /* false: a fact is unknown, and no known fact is wrong */
	char *reason, *hint; /* why, and what to do; NULL while protected */
	const char *covered; /* not protected: the parts that are still protected; NULL. Static. */
} GbeProtection;

void gbe_protection_judge(const GbeProtectionFacts *facts, GbeProtection *ret_protection);
void gbe_protection_clear(GbeProtection *protection);
/* True: prerun does not run before etcd; @ret_protection says why. False: prerun runs, as far as known. */
bool gbe_protection_is_off(const GbeProtectionFacts *facts, GbeProtection *ret_protection);
/* True: it may run before another etcd than the one that matters. */
bool gbe_protection_is_elsewhere(const GbeProtectionFacts *facts, GbeProtection *ret_protection);

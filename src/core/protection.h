/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The first line of `status`: is the data protected, and if not, why, or what is a person to do? Decided from what
 * was observed (app/protection.h); what could not be told never makes it "Protected".
 */
#pragma once

#include "base/auto.h"
#include "core/tri.h"
#include "core/verdict.h"

typedef enum {
	GBE_PROTECTED,
	GBE_NOT_PROTECTED, /* a failed update could cost data, or could not be rolled back */
	GBE_NEEDS_YOU,	   /* it goes on when a person has done something */
} GbeProtectionState;

const char *gbe_protection_to_string(GbeProtectionState state);

/* Texts are borrowed; NULL: nothing of that kind. */
typedef struct {
	/* Does prerun run before etcd? */
	const char *service; /* [etcd] service; NULL or "": off */
	GbeTri prerun;	     /* UNKNOWN: masked; NO: not installed */
	gboolean service_known;
	GbeTri ordered; /* the service requires and awaits prerun; UNKNOWN: systemd was not asked */
	const char *other;	/* what has the data open in place of the service */
	gboolean skipped;	/* greenboot-etcd.skip on the command line of this boot */
	const char *microshift; /* a MicroShift that is there and is not the service */
	/* What there is to protect, and where. */
	const char *data_dir;
	GbeTri data;
	const char *data_why; /* why the data cannot be read */
	/* What preflight finds bad. */
	const char *system, *store, *greenboot;
	gboolean last_good; /* there is a good backup */
	/* What waits for a person. */
	const char *held;    /* why etcd is held back */
	gboolean holds;	     /* the next start would hold it back */
	const char *damaged; /* a backup whose manifest cannot be read */
	const char *failed;  /* what the last operation came to, where that is not "done" */
	const char *periodic;
	GbeHealth health;
	const char *health_why;
	const char *warning; /* the first of all others */
} GbeProtectionFacts;

typedef struct {
	GbeProtectionState state;
	gboolean certain;    /* FALSE: something could not be told, and nothing known is wrong */
	char *reason, *hint; /* why, and what to do; NULL while protected */
} GbeProtection;

void gbe_protection_judge(const GbeProtectionFacts *facts, GbeProtection *ret_protection);
void gbe_protection_clear(GbeProtection *protection);
/* Why prerun does not run before etcd, whatever else is the case; false: it does, as far as is known. Fills
 * @ret_protection then. */
bool gbe_protection_is_off(const GbeProtectionFacts *facts, GbeProtection *ret_protection);

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * One list of notices has all that a device must tell people (app/report/notices.c collects it). `status`, the MOTD and
 * `preflight` each show a selection. The first line of `status` follows from the most urgent notice: the data
 * is protected; or it is not, and why; or a person must do something. An unknown fact never gives "Protected".
 */
#pragma once

#include "base/auto.h"
#include "core/decide/hold.h"
#include "core/record/fields.h"
#include "core/tri.h"

typedef enum {
	GBE_PROTECTED,
	GBE_NOT_PROTECTED, /* a failed update could cost data, or could not be rolled back */
	GBE_NEEDS_YOU,	   /* a person must do something */
} GbeProtectionState;

extern const GbeWords gbe_protection_words; /* protected not-protected needs-you */

typedef enum {
	GBE_LEVEL_OK,
	GBE_LEVEL_NOTE,	   /* worth knowing; nothing to do */
	GBE_LEVEL_UNKNOWN, /* could not be determined */
	GBE_LEVEL_BAD,	   /* the upgrade's backup would fail, or it could not be restored */
} GbeLevel;

const char *gbe_level_to_string(GbeLevel level); /* ok note unknown bad */

/* The most urgent first. The table in protection.c says who shows a kind, and its effect on the first line. */
typedef enum {
	GBE_NOTICE_HELD, /* etcd is held back */
	/* Prerun does not run before etcd: gbe_protection_off(). */
	GBE_NOTICE_OFF, /* [etcd] service is empty */
	GBE_NOTICE_PRERUN,
	GBE_NOTICE_NO_SERVICE,
	GBE_NOTICE_ORDER, /* etcd's service does not wait for prerun, or another program is etcd */
	GBE_NOTICE_SKIPPED,
	GBE_NOTICE_ELSEWHERE, /* prerun may run before another etcd than the one that matters */
	/* The data and its place. */
	GBE_NOTICE_UNREAD,
	GBE_NOTICE_OTHER_DATA, /* the etcd that answers has its data or its log elsewhere */
	GBE_NOTICE_PARTIAL,    /* a backup would lack a part of the data */
	GBE_NOTICE_BOOTED,     /* the booted deployment is unknown */
	GBE_NOTICE_SYSTEM,
	GBE_NOTICE_STAGED,
	GBE_NOTICE_STORE_AWAY,
	GBE_NOTICE_STORE_READ_ONLY,
	GBE_NOTICE_STORE,
	GBE_NOTICE_EXCHANGE,
	GBE_NOTICE_GREENBOOT,
	GBE_NOTICE_NO_DATA,
	GBE_NOTICE_NO_BACKUP,
	/* Problems that wait for a person. */
	GBE_NOTICE_DAMAGED, /* a manifest */
	GBE_NOTICE_UNHEALTHY,
	GBE_NOTICE_FAILED_RESTORE,
	GBE_NOTICE_FAILED,   /* the last operation */
	GBE_NOTICE_WAS_HELD, /* the same: etcd was held back in an earlier run */
	GBE_NOTICE_PERIODIC,
	GBE_NOTICE_PERIODIC_LAST, /* failed; the next one is not overdue yet */
	GBE_NOTICE_OFFSITE,
	GBE_NOTICE_NEXT_START, /* it holds etcd back, or restores unasked */
	/* From here on: unknown facts, and warnings. */
	GBE_NOTICE_UNTOLD,    /* etcd's health */
	GBE_NOTICE_NO_ANSWER, /* the same: etcd was asked for a moment only, or not at all */
	GBE_NOTICE_LISTED,    /* ostree's list is unknown */
	GBE_NOTICE_LEDGER,
	GBE_NOTICE_LOCKED, /* the staged deployment */
	GBE_NOTICE_WARNING,
	/* The notices from here on do not change the first line. */
	GBE_NOTICE_WAS_UNHEALTHY, /* at this run's own check */
	GBE_NOTICE_WAS_UNTOLD,
	GBE_NOTICE_REHEARSAL,
	GBE_NOTICE_LAST,      /* the last operation replaced the data */
	GBE_NOTICE_PREFLIGHT, /* any other check of preflight */
	GBE_N_NOTICES
} GbeNoticeKind;

enum {
	GBE_IN_PREFLIGHT = 1,
	GBE_IN_WARNINGS = 2, /* of status */
	GBE_IN_MOTD = 4,
};

typedef struct {
	GbeNoticeKind kind;
	const char *check; /* static: "configuration", "data", "store", "space"... */
	GbeLevel level;
	char *text,
	    *hint;	  /* what is wrong, and what to do; hint NULL: ->text says it, or nothing */
	char *line;	  /* both */
	GPtrArray *steps; /* of char *: commands, complete as they stand; NULL: ->hint says it */
	const char *safe; /* static: why waiting is safe; NULL */
} GbeNotice;

GPtrArray *gbe_notices_new(void); /* of GbeNotice */
/* @hint may be NULL. */
void gbe_notice_add(GPtrArray *notices, GbeNoticeKind kind, const char *hint, const char *format,
		    ...) G_GNUC_PRINTF(4, 5);
/* The check of every notice of that kind: static; NULL: GBE_NOTICE_PREFLIGHT has many. */
const char *gbe_notice_kind_check(GbeNoticeKind kind);
/* Etcd is held back. */
void gbe_notice_held(GPtrArray *notices, const GbeHeld *held);
/* The last notice gets one more step of its way out. */
void gbe_notice_step(GPtrArray *notices, const char *format, ...) G_GNUC_PRINTF(2, 3);
/* A check of preflight that nothing else shows. @check is static. */
void gbe_notice_check(GPtrArray *notices, const char *check, GbeLevel level, const char *format,
		      ...) G_GNUC_PRINTF(4, 5);
/* @in: one of GBE_IN_. */
bool gbe_notice_is_in(const GbeNotice *notice, guint in);
/* The lines of the notices that @in shows, in the list's order. Of char *, which the caller frees. */
GPtrArray *gbe_notices_lines(const GPtrArray *notices, guint in);

/* Texts are borrowed; NULL: nothing of that kind. */
typedef struct {
	const char *service; /* [etcd] service; NULL or "": off */
	GbeTri prerun;	     /* UNKNOWN: masked; NO: not installed */
	bool service_known;
	GbeTri ordered; /* the service requires and awaits prerun; UNKNOWN: systemd was not asked */
	const char *other;	     /* a program that has the data open instead of the service */
	bool skipped;		     /* greenboot-etcd.skip on the command line of this boot */
	const char *ambiguous;	     /* more than one system is there, and none is chosen */
	const char *unprotected;     /* another application with etcd: its service */
	const char *unprotected_why; /* why it was not detected; NULL: another one is configured */
	const char *without_etcd,
	    *without_etcd_hint; /* an application without an etcd to protect */
} GbeStartFacts;

/* Adds why prerun does not run before etcd, or runs before another etcd. */
void gbe_notices_of_start(const GbeStartFacts *facts, GPtrArray *notices);
/* NULL: prerun runs before etcd, as far as known. */
const GbeNotice *gbe_protection_off(const GPtrArray *notices);

/* `protection{}` of status. */
typedef struct {
	GbeProtectionState state;
	char *reason, *hint; /* why, and what to do; NULL while protected */
	char *safe;	     /* held back: why waiting is safe; NULL */
	GPtrArray *steps;    /* of char *: the way out, command by command; may be empty */
	char *covered;	     /* not protected: the parts that are still protected; NULL */
	bool certain;	     /* false: a fact is unknown, and no known fact is wrong */
	GPtrArray *needs;    /* of char *: the checks that a person must see to, each once */
} GbeProtection;

extern const GbeFieldItems gbe_protection_items;

/* @member: of a cluster with others, which give it lost data again. The caller frees the result with
 * gbe_fields_free(). */
GbeProtection *gbe_protection_judge(const GPtrArray *notices, bool member);

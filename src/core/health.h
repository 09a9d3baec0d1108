/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Is etcd healthy? Everything that was observed, as plain data; what it means is one table of causes
 * (health-causes.c, and in greenboot-etcd.conf(5)), the first that fits decides. Three answers:
 * unhealthy is only what an OS rollback could mend. And the same facts as a list of steps, each with
 * its figure and its limit, for people.
 */
#pragma once

#include "core/config.h"
#include "core/reach.h"
#include "core/tri.h"
#include "core/verdict.h"

typedef enum {
	GBE_SERVICE_UNKNOWN, /* no systemd to ask, or below --root */
	GBE_SERVICE_NOT_FOUND,
	GBE_SERVICE_MASKED,
	GBE_SERVICE_NOT_ENABLED, /* and not running */
	GBE_SERVICE_INACTIVE,
	GBE_SERVICE_ACTIVATING,
	GBE_SERVICE_RUNNING,
	GBE_SERVICE_FAILED,
	GBE_SERVICE_START_LIMIT, /* failed, and systemd tries no more */
} GbeServiceState;

/* One question to etcd. */
typedef struct {
	GbeReach reach;
	guint status; /* gRPC's, with GBE_REACH_DENIED */
	char *why;    /* NULL: answered */
} GbeQuestion;

/* A file that TLS needs. */
typedef struct {
	const char *key; /* of [etcd]: "cacert", "cert", "key"; NULL: not configured */
	char *path;
	char *problem;	/* not readable, no certificate, not the key of that certificate; NULL */
	gint64 expires; /* seconds since the epoch; -1: has none, or unknown */
} GbeTlsFile;

typedef struct {
	/* The service; what prerun left. */
	GbeServiceState service;
	char *unit;
	gboolean notifies; /* it says itself when it is ready, and is RUNNING from then on only */
	gboolean held;	   /* prerun holds it back */
	char *held_why;
	gboolean on_trial;   /* an OS rollback would bring a deployment back that was green */
	GbeTri data_refused; /* it was written for a newer etcd than this one */

	/* The data and its disk; -1 unknown. */
	char *data_dir;
	GbeTri read_only;
	gint64 size, free;	    /* bytes; free: for root */
	gint64 inodes, inodes_free; /* inodes 0: a file system without a number of them */
	gboolean defragmenting;	    /* etcd is rewriting its database at the moment */

	/* What it takes to ask. */
	char *endpoint;
	GbeTlsFile tls[3];
	/* Below [certs] directories, as key path and the day when it ends; the next to end first. NULL: not looked at. */
	GPtrArray *certs; /* of GbeTlsFile */

	/* What was asked: the state of this member, all members, a write, a linearizable read. */
	GbeQuestion status, members, write, read;
	char *version, *storage_version; /* NULL unknown */
	guint64 cluster_id, member_id;
	gint64 revision; /* -1 unknown, as all that follow */
	gint64 db_size, db_in_use;
	gint64 quota;	/* as etcd says it (3.6), else as it is configured */
	guint64 leader; /* 0: none */
	guint64 raft_index, raft_applied;
	gboolean learner;
	guint member_count, voters; /* 0 unknown */
	gboolean no_space, corrupt, other_alarm;

	/* What the protected data is known to be; NULL, -1 unknown. */
	char *expected_cluster_id, *expected_member_id; /* 16 hex digits */
	gint64 expected_revision;			/* it was that far already */

	gint64 now;		    /* seconds since the epoch */
	guint min_free, quota_warn; /* percent */
	guint64 cert_warn;	    /* seconds */
	GbeOnNospace on_nospace;
} GbeHealthFacts;

typedef enum {
	GBE_CHECK_SERVICE,
	GBE_CHECK_DATA,
	GBE_CHECK_DISK,
	GBE_CHECK_CERTIFICATES,
	GBE_CHECK_REACHED,
	GBE_CHECK_LEADER,
	GBE_CHECK_ALARMS,
	GBE_CHECK_WRITE,
	GBE_CHECK_READ,
	GBE_CHECK_MEMBER,
	GBE_CHECK_REVISION,
	GBE_CHECK_QUOTA,
	GBE_CHECK_LAG,
	GBE_N_CHECKS,
} GbeCheckKind;

typedef enum {
	GBE_CHECK_NOT_APPLICABLE, /* or not known */
	GBE_CHECK_PASSED,
	GBE_CHECK_WARNING,
	GBE_CHECK_FAILED,
} GbeCheckResult;

typedef struct {
	GbeCheckResult result;
	char *detail;	      /* one line, or NULL */
	gint64 figure, limit; /* in the unit that @detail names; -1: none */
} GbeCheck;

typedef enum {
	GBE_PATIENCE_NONE,     /* waiting does not mend it */
	GBE_PATIENCE_SOME,     /* half a minute: it may be of the start */
	GBE_PATIENCE_DEADLINE, /* as long as there is time */
	GBE_PATIENCE_MORE,     /* and beyond it: etcd is at work */
} GbePatience;

typedef struct {
	GbeHealth health;
	const char *cause; /* a word of the table; static */
	GbePatience patience;
	char *reason; /* one line, for people */
	GbeCheck steps[GBE_N_CHECKS];
	guint warnings;
} GbeHealthReport;

GbeHealthFacts *gbe_health_facts_new(void); /* nothing known, nothing asked */
void gbe_health_facts_free(GbeHealthFacts *facts);
void gbe_tls_file_free(gpointer file); /* one that was allocated */
G_DEFINE_AUTOPTR_CLEANUP_FUNC(GbeHealthFacts, gbe_health_facts_free)
/* The limits that the configuration has. */
void gbe_health_facts_configure(GbeHealthFacts *facts, const GbeConfig *config);
/* Of what is asked: forgotten, for the next time. */
void gbe_health_facts_reset(GbeHealthFacts *facts);

GbeHealthReport *gbe_health_judge(const GbeHealthFacts *facts);
void gbe_health_report_free(GbeHealthReport *report);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(GbeHealthReport, gbe_health_report_free)

/* Needs etcd be asked at all, or is the answer known without? */
gboolean gbe_health_needs_asking(const GbeHealthFacts *facts);
const char *gbe_check_to_string(GbeCheckKind step);
const char *gbe_check_result_to_string(GbeCheckResult result);
/* The words of the table, in its order; NULL beyond its end. */
const char *gbe_health_cause(guint index, GbeHealth *ret_health);

/* Between judge and table: what both look at. */
gboolean gbe_health_is_full(const GbeHealthFacts *facts);
gboolean gbe_health_is_writing(const GbeHealthFacts *facts); /* a write went through */
/* The first file of TLS that cannot be used, or has expired; NULL. */
const GbeTlsFile *gbe_health_bad_tls(const GbeHealthFacts *facts);
gboolean gbe_health_is_other_data(const GbeHealthFacts *facts);
/* health-text.c: a cause's sentence with every {name} in it replaced; "41 MiB", "2 GiB", "1.5 GiB": tenths
 * where they say something. Newly allocated. */
char *gbe_health_sentence(const char *text, const GbeHealthFacts *facts);
char *gbe_health_size_text(gint64 bytes);
/* health-steps.c */
void gbe_health_fill_steps(const GbeHealthFacts *facts, GbeHealthReport *report);
/* "healthy, leader, 1 member, 3.5.16, 41.0 MiB of 2.0 GiB, revision 81203". */
char *gbe_health_summary(const GbeHealthFacts *facts);

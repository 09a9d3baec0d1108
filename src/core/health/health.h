/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Is etcd healthy? All observations are plain data. One table of causes (causes.c, and greenboot-etcd.conf(5))
 * gives them a meaning: the first cause that fits decides. Of the three answers, unhealthy means only what an
 * OS rollback could mend. For people, the same facts make a list of steps, each with its figure and its limit.
 * Implemented in causes.c, facts.c, steps.c.
 */
#pragma once

#include "core/config/config.h"
#include "core/decide/hold.h"
#include "core/tri.h"
#include "core/words.h"

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
	const char *key; /* of [etcd]: "cacert", "cert" or "key"; NULL: not configured */
	char *path;
	char *problem; /* not readable, no certificate, or not the certificate's key; NULL */
	gint64 begins, expires; /* seconds since the epoch; -1: never, or unknown */
} GbeTlsFile;

typedef struct {
	/* The service, and prerun's result. */
	GbeServiceState service;
	char *unit;
	bool notifies; /* the service reports when it is ready; it is RUNNING only then */
	bool held;     /* prerun holds etcd back */
	char *held_why;
	GbeHold hold;	     /* the kind of that hold; GBE_HOLD_NO: unknown, or not held back */
	bool on_trial;	     /* an OS rollback would bring back a deployment that was green */
	bool began_empty;    /* etcd began with an empty database, although there was data before */
	GbeTri data_refused; /* the data was written for a newer etcd than this one */

	/* The data and its disk; -1 unknown. */
	char *data_dir;
	GbeTri read_only;
	gint64 size, free;	    /* bytes; free: for root */
	gint64 inodes, inodes_free; /* inodes 0: the file system does not count them */
	bool defragmenting;	    /* etcd is rewriting its database now */
	/* While etcd answers: has a process the database, and the log, of ->data_dir open? */
	GbeTri opens_db, opens_log;
	bool opened_before; /* in the last run before a trial, the check found etcd on the data */

	/* The means to ask etcd. */
	char *endpoint;
	GbeTlsFile tls[3];
	/* The certificates below [certs] directories: path as key, and expiry. The next to expire is first. NULL: not
	 * looked at. */
	GPtrArray *certs; /* of GbeTlsFile */

	/* etcd's answers: the status of this member, all members, a write, a linearizable read. */
	GbeQuestion status, members, write, read;
	char *version, *storage_version; /* NULL unknown */
	guint64 cluster_id, member_id;
	gint64 revision; /* -1 unknown, like the sizes below */
	gint64 db_size, db_in_use;
	gint64 quota;	/* as etcd reports it; 0 and below: unknown, or etcd has none */
	guint64 leader; /* 0: none */
	guint64 raft_index, raft_applied;
	bool learner;
	guint member_count, voters; /* 0 unknown */
	bool no_space, corrupt, other_alarm;

	/* The protected data's identity; NULL, -1 unknown. */
	char *expected_cluster_id, *expected_member_id; /* 16 hex digits */
	gint64 expected_revision;			/* the data has reached it before */

	bool brief; /* asked for a moment only: an answer that is late says nothing */
	gint64 now; /* seconds since the epoch */
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
	GBE_PATIENCE_NONE,     /* waiting does not help */
	GBE_PATIENCE_SOME,     /* half a minute: the start may be the cause */
	GBE_PATIENCE_DEADLINE, /* until the deadline */
	GBE_PATIENCE_MORE,     /* beyond the deadline: etcd is at work */
} GbePatience;

typedef struct {
	GbeHealth health;
	const char *cause; /* a word of the table; static */
	GbePatience patience;
	bool late;    /* asked too briefly: ->health is unknown, ->cause is that of a longer wait */
	char *reason; /* one line, for people */
	GbeCheck steps[GBE_N_CHECKS];
	guint warnings;
} GbeHealthReport;

GbeHealthFacts *gbe_health_facts_new(void); /* nothing known, nothing asked */
void gbe_health_facts_free(GbeHealthFacts *facts);
void gbe_tls_file_free(gpointer file); /* an allocated GbeTlsFile */
G_DEFINE_AUTOPTR_CLEANUP_FUNC(GbeHealthFacts, gbe_health_facts_free)
/* Sets the limits from the configuration. */
void gbe_health_facts_configure(GbeHealthFacts *facts, const GbeConfig *config);
/* Forgets etcd's answers, before etcd is asked again. */
void gbe_health_facts_reset(GbeHealthFacts *facts);

GbeHealthReport *gbe_health_judge(const GbeHealthFacts *facts);
void gbe_health_report_free(GbeHealthReport *report);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(GbeHealthReport, gbe_health_report_free)

/* Is the clock slow, so that the validity of certificates is unknown? *ret_later: a certificate that is valid only
 * later; NULL: the time is one that no device's clock can have. */
bool gbe_health_clock_is_behind(const GbeHealthFacts *facts, const GbeTlsFile **ret_later);
/* Must etcd be asked, or is the answer known without asking? */
bool gbe_health_needs_asking(const GbeHealthFacts *facts);
const char *gbe_check_to_string(GbeCheckKind step);
const char *gbe_check_result_to_string(GbeCheckResult result);
/* The words of the table, in its order. NULL beyond its end. */
const char *gbe_health_cause(guint index, GbeHealth *ret_health);

/* For the judge and the table. */
bool gbe_health_is_full(const GbeHealthFacts *facts);
/* No process has the data open, although etcd answers. */
bool gbe_health_is_elsewhere(const GbeHealthFacts *facts);
bool gbe_health_is_other_data(const GbeHealthFacts *facts);
/* "41 MiB", "2 GiB", "1.5 GiB": tenths only where they say something. Newly allocated. */
char *gbe_health_size_text(gint64 bytes);
/* Fills in @report's steps. */
void gbe_health_fill_steps(const GbeHealthFacts *facts, GbeHealthReport *report);

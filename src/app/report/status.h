/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The answers of `status`, `list`, `explain` and `log`. Those of `status` and `list` are structures with the tables that
 * print and read them (core/record/fields.h); a copy in /run serves users other than root. Also the MOTD line, which is
 * absent while no person is needed. Implemented in status.c, notices.c, foresee.c, explain.c and log.c.
 */
#pragma once

#include "app/backup/observe.h"
#include "app/health/look.h"
#include "app/report/records.h"
#include "core/decide/hold.h"
#include "core/decide/plan.h"
#include "core/decide/protection.h"
#include "core/deployment-name.h"
#include "core/record/fields.h"

/* The reason in `etcd{}` when etcd was not asked. */
#define GBE_STATUS_NOT_ASKED "not asked"
/* The findings of the last preflight: the MOTD's other source. */
#define GBE_PREFLIGHT_FILE "/run/greenboot-etcd/preflight.json"

/* Texts are owned; NULL: not known. Numbers: -1: not known. */
typedef struct {
	GbeTri healthy;
	char *reason, *version;
	gint64 revision, db_size, db_in_use; /* the sizes in bytes */
	GPtrArray *alarms, *warnings;	     /* of char * */
} GbeStatusEtcd;

typedef struct {
	char *deployment, *run;
} GbeStatusOwner;

typedef struct {
	char *path;
	gint64 size; /* bytes, apparent */
	GbeTri present;
} GbeStatusData;

typedef struct {
	char *name;
	gint64 created, age; /* seconds */
	gint64 revision;
} GbeStatusGood;

/* The effect of the next boot on the data. */
typedef struct {
	char *deployment, *rule, *action, *backup, *reason;
	gint64 age, revision; /* of the backup to restore: seconds */
} GbeStatusNext;

typedef struct {
	char *flavour, *reason;
	GbeTri enabled, rollback_imminent, can_count;
	gint64 boot_counter; /* G_MININT64: no counter is set */
} GbeStatusGreenboot;

typedef struct {
	GbeTri ostree, trial, judged;
	char *booted, *unlocked, *other_stateroot, *run;
	/* Of GbeDeploymentName: their versions and places, for gbe_deployment_name(). Also without root rights. */
	GPtrArray *deployments;
	GbeStatusOwner owner;
	char *verdict, *health; /* of this run, if it has the data */
	GbeStatusEtcd etcd;
	GbeStatusData data;
	guint backups;
	GbeStatusGood *last_good; /* NULL: no good backup; the next four: nothing to show */
	GbeLastOperation *last_operation;
	GbePeriodicStatus *periodic;
	GbeOffsiteStatus *offsite;
	GbeRehearsal *rehearsal;
	GbeStatusGreenboot greenboot;
	GPtrArray *warnings;	   /* of char * */
	GbeProtection *protection; /* NULL: a file of an older version */
	GbeStatusNext next;
} GbeStatus;

extern const GbeField gbe_status_fields[], gbe_status_etcd_fields[];
void gbe_status_free(GbeStatus *status);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(GbeStatus, gbe_status_free)

/* `status`. @look: at etcd just now, or NULL (not asked). *ret_motd (may be NULL): the MOTD's lines, of char *, to be
 * freed. Uses @observed up: its facts are those of the next boot afterwards. */
GbeStatus *gbe_status_collect(GbeApp *app, GbeObserved *observed, const GbeHealthLook *look,
			      GPtrArray **ret_motd);
/* The status in @object, of a file, with what every user can check: etcd{}, whether prerun runs, and ages as of now.
 * NULL: @object is no status. */
GbeStatus *gbe_status_read(GbeApp *app, const GbeHealthLook *look, JsonObject *object);
/* `deployments` of the status in @object, which may be NULL: of GbeDeploymentName, newly allocated. */
GPtrArray *gbe_status_read_names(JsonObject *object);
/* `etcd{}`. @look may be NULL. */
void gbe_status_etcd(const GbeHealthLook *look, GbeStatusEtcd *ret_etcd);

/* A backup as `list` and `show` print it. */
typedef struct {
	/* The entry owns what its table names. The rest is not to be read. */
	GbeManifest backup;
	char *grade, *verdict;
	gint64 db_size, exclusive; /* bytes; -1: not known */
	char *present;		   /* what its deployment is now; NULL: not known */
	char *state;		   /* "complete"; "unreadable": nothing but the name is known */
	char *why; /* why the backup was made, or why it is unreadable; NULL: not recorded */
} GbeListEntry;

void gbe_list_entry_free(GbeListEntry *entry);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(GbeListEntry, gbe_list_entry_free)
GbeListEntry *gbe_list_entry(const GbeObserved *observed, const GbeManifest *manifest,
			     gint64 exclusive);
JsonObject *gbe_list_entry_to_json(const GbeListEntry *entry);
/* Every backup, newest first, then those whose manifest cannot be read. @exclusive: also count the blocks that only this
 * backup uses. Of GbeListEntry. */
GPtrArray *gbe_list_collect(const GbeObserved *observed, bool exclusive);
/* The same from the JSON of a file. NULL: an element is no object. */
GPtrArray *gbe_list_read(JsonArray *array);
JsonArray *gbe_list_to_json(const GPtrArray *list);
/* Is @name, a damaged entry, one of this program's entries whose manifest cannot be read? A directory without any
 * manifest belongs to another program. */
bool gbe_status_is_damaged(const GbeObserved *observed, const char *name);

/* ---- what the device has to tell people, each fact once (core/decide/protection.h) ---- */

/* For status and the MOTD. @look: at etcd just now; NULL: systemd is not asked, and etcd's health is that of this run's
 * own check. The caller owns the list. */
GPtrArray *gbe_notices_collect(GbeApp *app, GbeObserved *observed, const GbeHealthLook *look);
/* The notices about the start of etcd and its health that every user can see, without an observation. */
GPtrArray *gbe_notices_for_users(GbeApp *app, const GbeHealthLook *look);
/* Adds the notices of preflight. False: there is nothing to back up. *ret_place: there is a store for the backup. */
bool gbe_notices_for_preflight(GbeApp *app, GbeObserved *observed, const GbeHealthLook *look,
			       GPtrArray *notices, bool *ret_place);

/* The way back from @hold: commands, of char *, complete as they stand. Empty: no way is known. The caller frees the
 * array. */
GPtrArray *gbe_hold_way(const GbeApp *app, const GbeObserved *observed, GbeHold hold);

/* Writes status.json and the MOTD: looks again at the present state, and uses @observed up. @look: at etcd just
 * now, or NULL: the result of the run's own check is shown. *ret_status (may be NULL): the status, if it could be
 * collected. Never fatal: without /run, nothing is written. */
void gbe_status_write(GbeApp *app, GbeObserved *observed, const GbeHealthLook *look,
		      GbeStatus **ret_status);
/* Replaces a file below /run that every user may read, and makes its directory. @text "": removes the file. A power cut
 * may leave any state, but /run does not survive it. */
bool gbe_status_write_file(GbeApp *app, const char *path, const char *text,
			   GError **error) GBE_CHECKED;
/* A JSON file below /run; NULL: it is missing, or not a JSON object. */
JsonObject *gbe_status_read_file(GbeApp *app, const char *path);
/* Takes the lock for gbe_status_write(). @observed is filled again for that: pointers borrowed from it before are
 * invalid. */
void gbe_status_refresh(GbeApp *app, GbeObserved *observed, const char *operation);

/* ---- the next start: one question for status and explain, about the facts that prerun decides on ---- */

typedef struct {
	const char *booted;	    /* NULL: what boots next; id, "rollback", "staged", index */
	const char *verdict;	    /* NULL: as it is; "green", "red", "none" */
	GbeTri deliberate;	    /* --return; unknown: as it is */
	const GbeHealthFacts *live; /* of the running etcd; NULL: not asked */
} GbeExplainOptions;

/* The plan of the next start, as prerun will have it: closed data is examined if prerun would. A backup that is seen to
 * fail now holds etcd back in the plan, or is missing from it. Open data is not examined. Afterwards the facts of
 * @observed are those of the next start. @options may be NULL. */
bool gbe_foresee(GbeObserved *observed, const GbeExplainOptions *options, GbePlan **ret_plan,
		 GError **error) GBE_CHECKED;
/* The plan for the facts of the next start as they are now in @observed, which gbe_foresee() has left. */
GbePlan *gbe_foresee_again(GbeObserved *observed);

/* ---- explain: the same decision function, given the facts of the next boot; changes nothing ---- */

/* A decision. The texts and the lists are the plan's. */
typedef struct {
	char *backup;	 /* if this one turns out to be damaged; NULL: the first decision */
	char *condition; /* under which it follows: "NAME does not validate"; NULL: the first one */
	GbePlan *plan;
	const char *rule, *reason;
	GPtrArray *also, *actions; /* of const char *: the rules that followed; of GbeAction */
} GbeExplainDecision;

typedef struct {
	char *deployment; /* NULL: not known */
	GbeExplainDecision decision;
	bool hold;
	GPtrArray *steps;    /* of char *: the way back from the hold; may be empty */
	JsonObject *facts;   /* unknown: null, and the reason in "<key>_why" */
	GPtrArray *branches; /* of GbeExplainDecision: what only verification can settle */
} GbeExplained;

void gbe_explained_free(GbeExplained *explained);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(GbeExplained, gbe_explained_free)
extern const GbeField gbe_explain_fields[];
/* Uses @observed up. */
bool gbe_explain(GbeApp *app, GbeObserved *observed, const GbeExplainOptions *options,
		 GbeExplained **ret_explained, GError **error) GBE_CHECKED;

/* ---- log: the ledger for people ---- */

/* A record in words. */
typedef struct {
	gint64 sequence, time; /* -1: a place that cannot be read; 0: not known */
	char *kind;
	char *deployment, *run; /* that had the data then; NULL: not known */
	char *text;
	bool detail;	    /* it only repeats or completes another record */
	JsonObject *record; /* as it is in the ledger */
} GbeLogEvent;

extern const GbeFieldItems gbe_log_items;
/* In the order in which the records were written: of GbeLogEvent. @since: seconds since the epoch, 0: from the beginning;
 * times are only labels, because clocks go wrong. @backup: only records that name it, NULL: all. */
bool gbe_log_read(GbeApp *app, gint64 since, const char *backup, GPtrArray **ret_log,
		  GError **error) GBE_CHECKED;

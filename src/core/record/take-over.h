/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A take-over: a deployment has the data from here on. One record of the ledger (core/record/ledger.h), durable
 * after the backup and before etcd starts. These records alone say who had the data, and what comes back after
 * a failed update. A reader ignores unknown keys. Required: deployment (id null where the system is not an
 * ostree one), run, sequence.
 */
#pragma once

#include "core/deployment.h"
#include "core/lineage.h"
#include "core/record/fields.h"
#include "core/record/fingerprint.h"
#include "core/tri.h"

#include <json-glib/json-glib.h>

/* A file in the data directory: the take-over that the tree was made for. By it the program knows data again that root
 * moved, copied or put back (core/decide/past.h). */
#define GBE_NONCE_NAME ".greenboot-etcd-owner"
/* Longer chains lose their oldest links; updates that deep on top of each other, all red, are not tried. */
#define GBE_CHAIN_MAX 32

/* The trial of the owner when it took the data over (decisions.md, "Trial"). It does not contain the owner's last run
 * yet (its verdict, its use). */
typedef struct {
	GbeTri on;     /* unknown counts as no */
	guint64 since; /* sequence of the take-over that began the trial */
	gint64 used;   /* seconds of use in earlier runs on this data; -1 unknown */
	bool judged;   /* one of the earlier runs of the trial was judged */
	GbeTri judges; /* greenboot was enabled under the owner, and judges its boots */
} GbeTrial;

/* A backup by name and number: names are given out again, numbers are not. Also the state in it, by its place on
 * its line (core/lineage.h): where the backup is deleted, another backup of that state serves. */
typedef struct {
	char *name;	     /* NULL: none */
	guint64 sequence;    /* 0: any backup of that name */
	guint64 line, place; /* line 0: not known */
} GbeBackupRef;

/* One link of the chain of bases: the state in which a deployment left the data before the next one took
 * it over. */
typedef struct {
	GbeBackupRef backup; /* of that state; no name: none was taken */
	GbeDeployment owner; /* whose state it is; id NULL: not known */
	bool failed;	     /* the owner was a failed trial: judged, not green, short use */
} GbeLink;

/* finalize's observations at the end of the run. */
typedef struct {
	bool present;
	GbeFingerprint fingerprint;
	gint64 used; /* seconds since the take-over in this run; -1 unknown */
	gint64 at;   /* CLOCK_REALTIME seconds: later mtimes were written later; 0 unknown */
	char *next;  /* the deployment id to boot next; NULL unknown */
	GbeBackupRef backup; /* the closing backup, or none */
} GbeClosing;

typedef struct {
	GbeDeployment deployment; /* the owner */
	char *run;		  /* NULL: unknown, never "the same run" */
	guint64 sequence;
	/* File system and handle of the data directory (core/decide/past.h); NULL: none yet. */
	char *tree;
	char *nonce; /* 16 hex digits; NULL: none was written */
	GbeLineage lineage;
	GPtrArray *chain;   /* of GbeLink: the chain of bases, the base first; never NULL */
	guint64 after;	    /* the take-over whose data this was; 0: not known */
	GbeTri after_trial; /* that take-over was on trial when it ended */
	GbeBackupRef found; /* equals the data as that take-over left it */
	char *source;	    /* the backup that this data was restored from, or NULL */
	/* A person chose the data, by hand or by request. Without ->source: the person chose to begin without data. */
	bool asked;
	bool skipped; /* greenboot-etcd.skip: nothing was backed up or restored */
	/* Recorded when etcd already had the data: its start was not prerun's. No backup was made before it. */
	bool late;
	/* etcd began with an empty database, although earlier records name data, and no person asked for it. */
	bool began_empty;
	bool failed; /* a restore was due and could not be done */
	/* The request that this take-over has done, as the person wrote it: GBE_CMDLINE_RESTORE "NAME", or
	 * GBE_NEXT_BOOT; NULL. */
	char *request;
	char *etcd_version; /* of the owner's etcd, "3.5"; NULL unknown */
	guint voters;	    /* 0 unknown */
	GbeTri mount_point; /* the data directory was one */
	GbeTri was_default; /* the owner was the default boot entry, and no fallback */
	GbeTrial trial;
	gint64 at;	  /* CLOCK_REALTIME seconds, a label */
	gint64 uptime;	  /* CLOCK_BOOTTIME seconds: that clock is never set; -1 unknown */
	char *data_dir;	  /* absolute, without --root; NULL unknown */
	char *store_path; /* the same */
	char *store_fs;	  /* UUID of the store's file system; NULL unknown */
	char *
	    store_tree; /* identity of .greenboot-etcd/ on the data's file system; NULL: it was not there */
	char *member_id; /* 16 hex digits; NULL unknown */
	char *cluster_id;
	/* From later records. */
	GbeClosing closing;
	bool used_beyond; /* the run used the data for longer than trial-limit */
} GbeTakeOver;

/* Without known facts, and with an empty chain. */
GbeTakeOver *gbe_take_over_new(void);
void gbe_take_over_free(GbeTakeOver *take_over);
GbeTakeOver *gbe_take_over_copy(const GbeTakeOver *take_over);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(GbeTakeOver, gbe_take_over_free)

/* Adds a link at the end, unless it repeats the last one. Copies. @owner NULL: not known. */
void gbe_take_over_link(GbeTakeOver *take_over, const GbeBackupRef *backup,
			const GbeDeployment *owner, bool failed);
/* Clears every reference to the backup of that name, which does not exist. */
void gbe_take_over_drop(GbeTakeOver *take_over, const char *name);
/* The base: the backup of the first link, or NULL. */
const GbeBackupRef *gbe_take_over_base(const GbeTakeOver *take_over);

/* Did a person set the data aside, so that etcd begins without data? */
bool gbe_take_over_empties(const GbeTakeOver *take_over);

/* GBE_ERROR_CORRUPT says what is wrong. */
bool gbe_take_over_from_json(JsonObject *object, GbeTakeOver **ret_take_over,
			     GError **error) GBE_CHECKED;
JsonObject *gbe_take_over_to_json(const GbeTakeOver *take_over);

void gbe_backup_ref_set(GbeBackupRef *ref, GbeBackupRef to);
void gbe_backup_ref_clear(GbeBackupRef *ref);
void gbe_closing_clear(GbeClosing *closing);
/* Sets ->present only where the record can be read. */
void gbe_closing_from_json(JsonObject *object, GbeClosing *closing);
JsonObject *gbe_closing_to_json(const GbeClosing *closing);

/* The parts that several records share, as their tables use them. */

extern const GbeField gbe_deployment_fields[]; /* of GbeDeployment: {"id", "handle"} */
extern const GbeField gbe_trial_fields[];      /* of GbeTrial */
extern const GbeField gbe_backup_ref_fields[]; /* of GbeBackupRef */
extern const GbeFieldOwn gbe_lineage_own;      /* of GbeLineage: several members of the record */
extern const GbeFieldOwn gbe_fingerprint_own;  /* of GbeFingerprint: an object, or null */

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A take-over: a deployment has the data from here on. One record of the ledger (core/ledger.h), durable
 * after the backup and before etcd starts; who had the data, and what comes back after a failed update,
 * follows from these records alone.
 *
 * A reader ignores keys that it does not know. What is required: deployment (id null where the system is
 * no ostree one), run, sequence.
 */
#pragma once

#include "core/deployment.h"
#include "core/fingerprint.h"
#include "core/lineage.h"
#include "core/tri.h"

#include <json-glib/json-glib.h>

/* In the data directory: which take-over the tree was made for, so that data which root moved, copied or
 * put back is known again (core/identity.h). */
#define GBE_NONCE_NAME ".greenboot-etcd-owner"
#define GBE_FORMAT 1
/* Longer chains lose their oldest links; updates that deep on top of each other, all red, are not tried. */
#define GBE_CHAIN_MAX 32

/* The trial of the owner when it took the data over (decisions.md, "Trial"). What its last run added (its
 * verdict, its use) is not in here yet. */
typedef struct {
	GbeTri on;	 /* unknown counts as no */
	guint64 since;	 /* sequence of the take-over that began it */
	gint64 used;	 /* seconds of use in earlier runs on this data; -1 unknown */
	gboolean judged; /* one of the earlier runs of the trial was judged */
	GbeTri judges;	 /* somebody judges boots under the owner: greenboot was enabled then */
} GbeTrial;

/* A backup by name and number: names are given out again, numbers are not. And the state that it holds, by its place on
 * its line (core/lineage.h): where the backup is deleted, another one of that state serves. */
typedef struct {
	char *name;	     /* NULL: none */
	guint64 sequence;    /* 0: whichever has the name */
	guint64 line, place; /* line 0: not known */
} GbeBackupRef;

/* One link of the chain of bases: the state in which a deployment left the data before the next one took
 * it over. */
typedef struct {
	GbeBackupRef backup; /* that state; no name: nobody took it */
	GbeDeployment owner; /* whose state it is; id NULL: nobody knows */
	gboolean failed;     /* the owner was on trial, judged and not green, and used it shortly */
} GbeLink;

/* What finalize saw at the end of the run. */
typedef struct {
	gboolean present;
	GbeFingerprint fingerprint;
	gint64 used; /* seconds since the take-over in this run; -1 unknown */
	gint64 at;   /* CLOCK_REALTIME seconds: what came later was written later; 0 unknown */
	char *next;  /* deployment id that is to boot next; NULL unknown */
	GbeBackupRef backup; /* the closing backup, or none */
} GbeClosing;

typedef struct {
	GbeDeployment deployment; /* the owner */
	char *run;		  /* NULL: unknown, never "the same run" */
	guint64 sequence;
	char *
	    tree; /* file system and handle of the data directory (core/identity.h); NULL: none yet */
	char *nonce; /* 16 hex digits; NULL: none was written */
	GbeLineage lineage;
	GPtrArray *chain;   /* of GbeLink: the chain of bases, the base first; never NULL */
	guint64 after;	    /* the take-over whose data this was; 0: nobody's that is known */
	GbeTri after_trial; /* that one was on trial when it was left */
	GbeBackupRef found; /* equal to the data as that one left it */
	char *source;	    /* the backup that this data was restored from, or NULL */
	gboolean asked;	    /* a person chose the data: by hand or by request */
	gboolean skipped;   /* greenboot-etcd.skip: nothing was backed up or restored */
	gboolean failed;    /* a restore was due and could not be done */
	char *
	    request; /* that this carried out, as the person wrote it: GBE_CMDLINE_RESTORE "NAME", or
			     * GBE_NEXT_BOOT; NULL */
	char *etcd_version; /* of the owner's etcd, "3.5"; NULL unknown */
	guint voters;	    /* 0 unknown */
	GbeTri mount_point; /* the data directory was one */
	GbeTri was_default; /* the owner was the default boot entry, by nobody's fallback */
	GbeTrial trial;
	gint64 at;	  /* CLOCK_REALTIME seconds, a label */
	gint64 uptime;	  /* CLOCK_BOOTTIME seconds: that clock is never set; -1 unknown */
	char *store_path; /* absolute, without --root; NULL unknown */
	char *store_fs;	  /* UUID of the store's file system; NULL unknown */
	char *member_id;  /* 16 hex digits; NULL unknown */
	char *cluster_id;
	/* From later records. */
	GbeClosing closing;
	gboolean used_beyond; /* the run used the data for longer than trial-limit */
	gboolean ended;	      /* its prerun came to its end */
} GbeTakeOver;

/* Nothing known, an empty chain. */
GbeTakeOver *gbe_take_over_new(void);
void gbe_take_over_free(GbeTakeOver *take_over);
GbeTakeOver *gbe_take_over_copy(const GbeTakeOver *take_over);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(GbeTakeOver, gbe_take_over_free)

/* Adds a link behind those that are there. Copies; @owner NULL: nobody knows. */
void gbe_take_over_link(GbeTakeOver *take_over, const GbeBackupRef *backup,
			const GbeDeployment *owner, gboolean failed);
/* The first link's backup, or NULL: the base. */
const GbeBackupRef *gbe_take_over_base(const GbeTakeOver *take_over);

/* GBE_ERROR_CORRUPT with what is wrong. */
bool gbe_take_over_from_json(JsonObject *object, GbeTakeOver **ret_take_over,
			     GError **error) GBE_CHECKED;
JsonObject *gbe_take_over_to_json(const GbeTakeOver *take_over);

void gbe_backup_ref_set(GbeBackupRef *ref, GbeBackupRef to);
void gbe_backup_ref_clear(GbeBackupRef *ref);
void gbe_closing_clear(GbeClosing *closing);
void gbe_closing_copy(GbeClosing *to, const GbeClosing *from);
/* Sets ->present only where the record can be read. */
void gbe_closing_from_json(JsonObject *object, GbeClosing *closing);
JsonObject *gbe_closing_to_json(const GbeClosing *closing);

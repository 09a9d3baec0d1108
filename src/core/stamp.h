/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The stamp: who has the data. `.greenboot-etcd-owner` in the root of the data directory, JSON, 0600;
 * written durably as the take-over itself, after the backup and before etcd starts. A copy lies in
 * the state, with the data directory's handle. A stamp inside a backup is history.
 *
 * Format 1. A reader ignores keys it does not know and a writer of the same record keeps them (the
 * program is rolled back with its deployment); a higher format is never a reason to reject. What is
 * required to be a stamp at all: deployment (id null where the system is no ostree one), run, sequence.
 *
 * After a power cut the file is the old or the new one (base write rule), or, where an unprivileged
 * owner of the directory meddled, anything: then it reads as damaged, and rule 4 asks the copy.
 */
#pragma once

#include "core/deployment.h"
#include "core/fingerprint.h"
#include "core/lineage.h"
#include "core/tri.h"

#include <json-glib/json-glib.h>

#define GBE_STAMP_NAME ".greenboot-etcd-owner"
#define GBE_FORMAT 1

/* The trial of the owner, as of the stamp (decisions.md, "Trial"): from taking the data over until
 * the first green run. What the owner's last run added (its verdict, its use) is not in here yet. */
typedef struct {
	GbeTri on;	 /* unknown counts as no */
	guint64 since;	 /* sequence of the stamp that took the data over */
	gint64 used;	 /* seconds of use in earlier runs on this data; -1 unknown */
	gboolean judged; /* one of the earlier runs of the trial was judged */
	GbeTri
	    judges; /* somebody judges boots under the owner: greenboot was enabled at the stamp */
} GbeTrial;

/* What finalize saw at the end of the stamp's own run. */
typedef struct {
	gboolean present;
	GbeFingerprint fingerprint;
	gint64 used;  /* seconds since the stamp in this run; -1 unknown */
	gint64 at;    /* CLOCK_REALTIME seconds: what came later was written later; 0 unknown */
	char *next;   /* deployment id that is to boot next; NULL unknown */
	char *backup; /* the closing backup, or NULL: none was taken */
} GbeClosing;

typedef struct {
	guint format;
	char *written_by;	  /* program version */
	GbeDeployment deployment; /* the owner */
	char *run;
	guint64 sequence;
	GbeLineage lineage;
	char *previous;	     /* P: the backup with which the owner took the data over, or NULL */
	char *restored_from; /* the backup that this data was restored from, or NULL */
	char *etcd_version;  /* of the owner's etcd, "3.5.16"; NULL unknown */
	guint voters;	     /* 0 unknown */
	GbeTri mount_point;  /* the data directory was one */
	GbeTri was_default;  /* the owner was the default boot entry, by nobody's fallback */
	GbeTrial trial;
	gboolean
	    by_request;	   /* restored by request as the owner's last act; nobody ran on it since */
	gint64 stamped;	   /* CLOCK_REALTIME seconds; a label, and the start of "used" */
	gint64 uptime;	   /* CLOCK_BOOTTIME seconds then: that clock is never set; -1 unknown */
	char *store_path;  /* absolute, without --root; NULL unknown */
	char *store_fs;	   /* UUID of the store's file system; NULL unknown */
	char *data_handle; /* in the state's copy only: of the data directory; NULL: of none yet */
	char *member_id;   /* 16 hex digits; NULL unknown */
	char *cluster_id;
	GbeClosing closing;
	JsonObject *unknown; /* the object as read, so that foreign keys survive; NULL: new */
} GbeStamp;

/* Nothing known, of this format. */
GbeStamp *gbe_stamp_new(void);
void gbe_stamp_free(GbeStamp *stamp);
GbeStamp *gbe_stamp_copy(const GbeStamp *stamp);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(GbeStamp, gbe_stamp_free)

/* Any @size bytes. GBE_ERROR_CORRUPT with what is wrong; a duplicate key is wrong, too. */
bool gbe_stamp_parse(const char *bytes, gsize size, GbeStamp **ret_stamp,
		     GError **error) GBE_CHECKED;
/* Pretty-printed JSON with a newline at the end. Newly allocated. */
char *gbe_stamp_print(const GbeStamp *stamp);

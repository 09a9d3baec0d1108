/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * `defrag`, and what its timer starts: etcd is asked to write its database anew, without what is free in it. It
 * answers nobody meanwhile, so that everything that could go wrong is looked at before: the data is here and
 * etcd healthy, there is room, nobody copies it, none is under way.
 *
 * etcd writes db.tmp.* beside db, syncs and renames it (reference etcd.md, section 10). A power cut, or an
 * etcd that is killed, leaves the old database or the new one, with the same keys and revisions, and at most
 * that file, which etcd removes when it starts.
 */
#pragma once

#include "app/context.h"

#include "core/defrag.h"

typedef struct {
	gboolean if_needed; /* only where [defrag] min-size and max-fragmentation say so */
	gboolean no_backup;
	gboolean dry_run;
	guint64 timeout; /* seconds, for etcd's work; it goes on when they are over */
	guint patience;	 /* seconds that it may take to become healthy before */
} GbeDefrag;

typedef struct {
	gint64 size, in_use; /* bytes; -1: not known */
} GbeDefragSizes;

typedef struct {
	char *endpoint;	    /* NULL: of the stopped data */
	char *data;	    /* the stopped data's directory; NULL */
	char *of;	    /* the backup's name; NULL */
	char *made;	    /* the name of the backup that was made of it; NULL */
	GbeDefragNeed need; /* by the configuration, whether it was asked for or not */
	gboolean done;	    /* etcd has done it */
	gboolean healthy;   /* at the end */
	char *reason;	    /* why not; NULL */
	char *backup;	    /* taken before: a backup's name, or the path of a snapshot; NULL */
	GbeDefragSizes before, after;
	gint64 duration_usec; /* from the question to etcd's answer */
	gint64 stall_usec;    /* that a writer waited at most; -1: not known */
} GbeDefragResult;

void gbe_defrag_result_clear(GbeDefragResult *result);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(GbeDefragResult, gbe_defrag_result_clear)

/* Nothing to do is no error. What gbe_live_etcd_*() has to say, and GBE_ERROR_FAILED: etcd has not done it;
 * _CANNOT_TELL: it has not answered in time. */
bool gbe_defrag(GbeApp *app, const GbeDefrag *options, GbeDefragResult *ret_result,
		GError **error) GBE_CHECKED;
/* The stopped data (defrag-data.c), by etcd's own tool, after which every row is read: GBE_ERROR_VERIFY_FAILED
 * where it is damaged, before or after; _BUSY while etcd has it open. Takes the lock of the program. */
bool gbe_defrag_data(GbeApp *app, const GbeDefrag *options, GbeDefragResult *ret_result,
		     GError **error) GBE_CHECKED;
/* The backup @name (defrag-backup.c), of which another one is made in the same way: @new_name, or NULL:
 * "<name>-defragmented". */
bool gbe_defrag_backup(GbeApp *app, const char *name, const char *new_name,
		       const GbeDefrag *options, GbeDefragResult *ret_result,
		       GError **error) GBE_CHECKED;

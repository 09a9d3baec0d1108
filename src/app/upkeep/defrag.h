/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * `defrag` and the program of its timer: ask etcd to rewrite its database without the free space. Meanwhile etcd
 * answers no client. Therefore these are checked first: the data is on this device, etcd is healthy, there is room,
 * and no copy or defragmentation is under way.
 */
#pragma once

#include "app/device/context.h"

#include "core/health/defrag.h"

typedef struct {
	bool if_needed; /* only when [defrag] min-size and max-fragmentation ask for it */
	bool no_backup;
	bool dry_run;
	guint64 timeout; /* seconds to wait for etcd, which continues afterwards */
	guint patience;	 /* seconds that etcd may take to become healthy before */
} GbeDefrag;

typedef struct {
	gint64 size, in_use; /* bytes; -1: not known */
} GbeDefragSizes;

typedef struct {
	char *endpoint;	    /* NULL: the stopped data */
	char *data;	    /* the stopped data's directory; NULL */
	char *of;	    /* the backup's name; NULL */
	char *made;	    /* the name of the backup that was made from ->of; NULL */
	GbeDefragNeed need; /* by the configuration, even if not asked for */
	bool done;	    /* etcd has done it */
	bool healthy;	    /* at the end */
	char *reason;	    /* why it was not done; NULL */
	char *backup;	    /* taken before: a backup's name, or the path of a snapshot; NULL */
	GbeDefragSizes before, after;
	gint64 duration_usec; /* from the request to etcd's answer */
} GbeDefragResult;

void gbe_defrag_result_clear(GbeDefragResult *result);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(GbeDefragResult, gbe_defrag_result_clear)

/* Defragments the running etcd's database, if needed. Errors are those of gbe_live_etcd_*(), and GBE_ERROR_FAILED:
 * etcd has not done it; _CANNOT_TELL: etcd has not answered in time, or the connection was lost.
 *
 * etcd writes db.tmp.* next to db, syncs and renames it (reference etcd.md, section 10). A power cut, or a killed
 * etcd, leaves the old database or the new one, with the same keys and revisions. etcd removes a remaining db.tmp.*
 * when it starts. */
bool gbe_defrag(GbeApp *app, const GbeDefrag *options, GbeDefragResult *ret_result,
		GError **error) GBE_CHECKED;
/* Defragments the stopped data with etcd's own tool, then reads every row. GBE_ERROR_VERIFY_FAILED when it is
 * damaged, before or after; _BUSY while etcd has it open. Takes the program's lock. */
bool gbe_defrag_data(GbeApp *app, const GbeDefrag *options, GbeDefragResult *ret_result,
		     GError **error) GBE_CHECKED;
/* Makes a defragmented backup from the backup @name in the same way. @new_name NULL: "<name>-defragmented". */
bool gbe_defrag_backup(GbeApp *app, const char *name, const char *new_name,
		       const GbeDefrag *options, GbeDefragResult *ret_result,
		       GError **error) GBE_CHECKED;
/* For the timer: defragments if it is due by [defrag]. If it cannot run now, the next call retries. Returns 0, or 1
 * on failure. */
int gbe_defrag_run(GbeApp *app);

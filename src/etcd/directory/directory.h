/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Reads a whole data directory as etcd does when it starts (etcd.md sections 4, 6 and 12). Finds the snapshot that etcd
 * begins with, the member, the voters and other files, and whether database, log and snapshot fit together. Above all
 * it finds a database that is ahead of its log: etcd starts on it and calls itself healthy, but no write ever ends.
 * Only reads.
 */
#pragma once

#include "etcd/db/db.h"
#include "etcd/directory/applied.h"
#include "etcd/wal/read.h"
#include "etcd/wal/snapfile.h"

typedef struct {
	GbeVersion reader;  /* the etcd that is to start on it; not known: any */
	bool log_elsewhere; /* as in GbeDbOptions */
	bool has_db;	    /* there is a member/snap/db that is not empty, sound or not */
	GbeDb db;
	bool db_tells; /* the database could be read and tells how much of the log it has */
	GbeWal wal;
	/* With GBE_VERIFY_FULL where database and log are whole; else unknown */
	GbeApplied applied;
	GPtrArray *snapfiles;	     /* of GbeSnapfile, newest name first */
	GArray *databases;	     /* of guint64: the indices of the .snap.db files */
	const GbeSnapfile *snapfile; /* etcd begins with this one; NULL: with the log */
	GbeRaftPoint start;	     /* its place in the log; 0: the beginning */
	GbeConfState conf;	     /* at the end of the log; ->voters NULL: unknown */
} GbeDirectory;

void gbe_directory_clear(GbeDirectory *directory);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(GbeDirectory, gbe_directory_clear)

/* @member_path: from gbe_member_locate(). @wal_dir_fd: -1, or the open --wal-dir. Follows no symlink but
 * member/wal, and takes no lock: the caller has etcd's, or a copy. */
bool gbe_directory_read(int data_fd, const char *member_path, int wal_dir_fd,
			const GbeDbOptions *options, GbeDirectory *ret_directory,
			GbeFindings *findings, GError **error) GBE_CHECKED;

/* Applies the rules between the parts, without touching a file: sets ->snapfile, ->start and ->conf. Findings about
 * the whole name @member_path. */
void gbe_directory_judge(GbeDirectory *directory, const char *member_path, GbeFindings *findings);

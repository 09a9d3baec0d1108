/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A data directory of etcd as a whole, as etcd sees it when it starts: which snapshot it begins with,
 * whether database and log fit together and to it, whose it is, who votes, and what lies around
 * (etcd.md sections 4, 6 and 12). Reads only, never through a symlink but that of member/wal, and takes
 * no lock: who calls has etcd's, or a copy.
 *
 * Above all the one fault that etcd does not see: a database that is ahead of its log. etcd starts on
 * it, says that it is healthy, and no write ever ends.
 */
#pragma once

#include "etcd/applied.h"
#include "etcd/db.h"
#include "etcd/snapfile.h"
#include "etcd/wal-read.h"

typedef struct {
	gboolean has_db; /* there is a member/snap/db, sound or not */
	GbeDb db;
	gboolean db_tells; /* how far it holds what the log says: it was there to be read */
	GbeWal wal;
	GbeApplied applied; /* of GBE_VERIFY_FULL, where database and log are whole; else unknown */
	GPtrArray *snapfiles;	     /* of GbeSnapfile, newest name first */
	GArray *databases;	     /* of guint64: of which indices a .snap.db is there */
	const GbeSnapfile *snapfile; /* that etcd begins with; NULL: none, it begins with the log */
	GbeRaftPoint start;	     /* where it stands; 0: the beginning */
	GbeConfState conf; /* at the end of the log; ->voters NULL: could not be found out */
} GbeDirectory;

void gbe_directory_clear(GbeDirectory *directory);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(GbeDirectory, gbe_directory_clear)

/* @member_path as gbe_member_locate() gives it, @wal_dir_fd: -1, or the open --wal-dir. */
bool gbe_directory_read(int data_fd, const char *member_path, int wal_dir_fd,
			const GbeDbOptions *options, GbeDirectory *ret_directory,
			GbeFindings *findings, GError **error) GBE_CHECKED;

/* The rules between the parts, on what was read: sets ->snapfile, ->start and ->conf. No file is
 * touched. @path: what findings about the whole name. */
void gbe_directory_judge(GbeDirectory *directory, const char *member_path, GbeFindings *findings);

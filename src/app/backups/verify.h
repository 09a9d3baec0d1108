/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Is it sound? Checks a backup, the stopped data directory, another directory or a snapshot file, without etcd
 * (etcd/directory/directory.h, etcd/db/db.h). Changes nothing. While a data directory is checked, this program holds
 * etcd's lock; only a starting etcd waits for it. Implemented in verify.c, verify-report.c.
 */
#pragma once

#include "app/backups/data.h"
#include "app/backups/store.h"
#include "core/record/manifest.h"
#include "etcd/directory/directory.h"

typedef enum {
	GBE_VERIFY_BACKUP,
	GBE_VERIFY_DATA,
	GBE_VERIFY_DIRECTORY, /* any other directory */
	GBE_VERIFY_SNAPSHOT,  /* a file of `etcdctl snapshot save`, or a db */
} GbeVerifyKind;

typedef struct {
	GbeVerifyKind kind;
	char *name; /* the backup's, or the path as it was given */
	GbeVerifyLevel level;
	bool quick;
	GbeDirectory directory; /* of a snapshot file only ->db */
	GbeFindings findings;
	gint64 usec;
	gint64 look_usec; /* the part of ->usec spent in etcd's files */
	char *advice;	  /* of a damaged backup, replaces that of its findings; NULL */
} GbeVerification;

void gbe_verification_free(GbeVerification *verification);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(GbeVerification, gbe_verification_free)

typedef struct {
	GbeVerifyLevel level;
	bool quick;
	bool digests; /* compare a backup's recorded digests; GBE_VERIFY_FULL always does */
	bool summed;  /* the checksum at the end of a snapshot was already compared */
	/* Limit for each part, in g_get_monotonic_time(); 0: none. After it: GBE_ERROR_FAILED, or a finding of
	 * GBE_FINDING_UNKNOWN. */
	gint64 deadline;
} GbeVerifyOptions;

/* An error means that the look failed: not there, not readable, GBE_ERROR_BUSY. Damage is a finding. */
bool gbe_verify_backup(GbeApp *app, GbeStore *store, const GbeManifest *manifest,
		       const GbeVerifyOptions *options, GbeVerification **ret_verification,
		       GError **error) GBE_CHECKED;
bool gbe_verify_data(GbeApp *app, GbeData *data, const GbeVerifyOptions *options,
		     GbeVerification **ret_verification, GError **error) GBE_CHECKED;
/* Checks a file or a directory, by its path below the root. */
bool gbe_verify_path(GbeApp *app, const char *path, const GbeVerifyOptions *options,
		     GbeVerification **ret_verification, GError **error) GBE_CHECKED;
/* Checks an open snapshot file. @name: for findings. */
bool gbe_verify_snapshot(GbeApp *app, int fd, const char *name, const GbeVerifyOptions *options,
			 GbeVerification **ret_verification, GError **error) GBE_CHECKED;

/* Names a person's next step for @finding. Borrowed. */
const char *gbe_verification_advice(const GbeVerification *verification, const GbeFinding *finding);
/* The object that verify --json prints. */
JsonObject *gbe_verification_to_json(const GbeVerification *verification);
const char *gbe_verify_kind_to_string(GbeVerifyKind kind); /* backup data directory snapshot */
/* sound damaged cannot-tell */
const char *gbe_verification_result(const GbeVerification *verification);

/*
 * Looks into etcd's own files, for decisions and for manifests. The data is sound when nothing is wrong that makes a
 * starting etcd die or lose writes. Data that this program does not know, or could not read, is unknown, never
 * unsound. Writes nothing and takes no lock: the caller has etcd's lock, or a copy.
 */

/* Looks into data that no process has open: sound, damage, voters, ids, version, consistent index. */
void gbe_inside_data(const GbeData *data, GbeFacts *facts);
/* Looks into a backup that is being made, as [backup] verify= asks, and fills @manifest. A live backup is always
 * looked into, and fails when it is not sound (GBE_ERROR_VERIFY_FAILED) or when that is unknown
 * (GBE_ERROR_CANNOT_TELL). Other backups are kept, graded bad: there is no better copy of damaged data. */
bool gbe_inside_copy(GbeApp *app, int data_fd, GbeManifest *manifest, GError **error) GBE_CHECKED;
/* Records a look at sound data, which says more than the manifest did before. Raises ->verified, and an unproven
 * grade when only that was missing. */
void gbe_inside_record(const GbeDirectory *directory, GbeVerifyLevel level, GbeManifest *manifest);

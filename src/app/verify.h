/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Is it sound? A backup, the stopped data directory, another directory, or a snapshot file, looked into
 * without etcd (etcd/directory.h, etcd/db.h). Changes nothing. Of a data directory etcd's lock is taken
 * meanwhile: a starting etcd waits for it, and nothing else.
 */
#pragma once

#include "app/data.h"
#include "app/store.h"
#include "etcd/directory.h"

typedef enum {
	GBE_VERIFY_BACKUP,
	GBE_VERIFY_DATA,
	GBE_VERIFY_DIRECTORY, /* any other */
	GBE_VERIFY_SNAPSHOT,  /* a file of `etcdctl snapshot save`, or a db */
} GbeVerifyKind;

typedef struct {
	GbeVerifyKind kind;
	char *name; /* the backup's, or the path as it was given */
	GbeVerifyLevel level;
	gboolean quick;
	GbeDirectory directory; /* of a snapshot file ->db alone */
	GbeFindings findings;
	gint64 usec;
	gint64 look_usec; /* of it: in etcd's files */
	char *advice; /* of a damaged backup, in place of its findings' own (app/damage.h); NULL */
} GbeVerification;

void gbe_verification_free(GbeVerification *verification);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(GbeVerification, gbe_verification_free)

typedef struct {
	GbeVerifyLevel level;
	gboolean quick;
	gboolean
	    digests; /* of a backup, where they are recorded; with GBE_VERIFY_FULL in any case */
	gboolean summed; /* the checksum behind a snapshot was compared already */
	/* On g_get_monotonic_time(), for each part; 0: as long as it takes. Beyond it: GBE_ERROR_FAILED, or a
	 * finding of GBE_FINDING_UNKNOWN. */
	gint64 deadline;
} GbeVerifyOptions;

/* Errors are those of looking: not there, not readable, GBE_ERROR_BUSY. What is wrong is a finding. */
bool gbe_verify_backup(GbeApp *app, GbeStore *store, const GbeManifest *manifest,
		       const GbeVerifyOptions *options, GbeVerification **ret_verification,
		       GError **error) GBE_CHECKED;
bool gbe_verify_data(GbeApp *app, GbeData *data, const GbeVerifyOptions *options,
		     GbeVerification **ret_verification, GError **error) GBE_CHECKED;
/* A file or a directory, by its path below the root. */
bool gbe_verify_path(GbeApp *app, const char *path, const GbeVerifyOptions *options,
		     GbeVerification **ret_verification, GError **error) GBE_CHECKED;
/* A snapshot file that is open. @name: for findings. */
bool gbe_verify_snapshot(GbeApp *app, int fd, const char *name, const GbeVerifyOptions *options,
			 GbeVerification **ret_verification, GError **error) GBE_CHECKED;

/* What a person can do about a finding of @verification. Borrowed. */
const char *gbe_verification_advice(const GbeVerification *verification, const GbeFinding *finding);
/* What verify --json says of one. */
JsonObject *gbe_verification_to_json(const GbeVerification *verification);
const char *gbe_verify_kind_to_string(GbeVerifyKind kind); /* backup data directory snapshot */
/* sound damaged cannot-tell */
const char *gbe_verification_result(const GbeVerification *verification);

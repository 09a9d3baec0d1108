/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Collects in one archive what a helper needs to see: the output of verbs, the records, manifests, units, this
 * program's lines of the journal, file systems and the names of etcd's files. It works even when little else does: a
 * part that cannot be found out has the reason instead. Implemented in diagnosis.c, diagnosis-records.c,
 * diagnosis-system.c.
 */
#pragma once

#include "app/device/context.h"
#include "app/health/look.h"

#include <json-glib/json-glib.h>

/* Limits: bytes of one part, uncompressed; lines of the journal, backups and runs. Whatever exceeds a limit is
 * left out and counted. */
#define GBE_DIAGNOSIS_PART_MAX (1024 * 1024)
#define GBE_DIAGNOSIS_JOURNAL_MAX 1000
#define GBE_DIAGNOSIS_BACKUPS_MAX 200
#define GBE_DIAGNOSIS_RECORDS_MAX 100

typedef struct {
	char *name; /* "status.json" */
	char *text; /* redacted JSON */
	gsize size; /* of ->text, bytes */
	char *why;  /* what could not be found out, redacted; NULL: the part is complete */
} GbeDiagnosisPart;

typedef struct {
	GPtrArray *parts; /* of GbeDiagnosisPart */
} GbeDiagnosis;

/* The archive leaves the device. Therefore it has no key and no value of etcd, no content of any file but this
 * program's own records, no environment, no configuration file (comments), and no description that a person
 * wrote. Every text is redacted (core/redact.h). */
GbeDiagnosis *gbe_diagnosis_new(void);
void gbe_diagnosis_free(GbeDiagnosis *diagnosis);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(GbeDiagnosis, gbe_diagnosis_free)

/* @name without a suffix. @content (taken; NULL: there is none) and @why are redacted here. */
void gbe_diagnosis_add(GbeDiagnosis *diagnosis, const char *name, JsonNode *content,
		       const char *why);
/* status, list, explain, records, manifests, files, filesystems, units, journal, versions. Never fails.
 * The configuration is loaded; @look may be NULL. */
void gbe_diagnosis_collect(GbeDiagnosis *diagnosis, GbeApp *app, const GbeHealthLook *look);
/* Like gbe_diagnosis_collect(), for the parts that ask neither ostree nor the data. */
void gbe_diagnosis_collect_system(GbeDiagnosis *diagnosis, GbeApp *app, const GbeHealthLook *look);
/* Packs all parts as a gzipped tar. */
bool gbe_diagnosis_pack(const GbeDiagnosis *diagnosis, GBytes **ret_archive,
			GError **error) GBE_CHECKED;
/* Writes the archive to @path: 0600, durable, whole or not at all, without a temporary file beside it. An
 * existing file is not replaced. */
bool gbe_diagnosis_write(GbeApp *app, GBytes *archive, const char *path,
			 GError **error) GBE_CHECKED;

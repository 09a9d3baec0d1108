/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What somebody who is to help needs to see, in one archive: what the verbs say, the records, the
 * manifests, units, the journal's lines of this program, file systems and the names of etcd's files.
 *
 * It leaves the device, so: no key and no value of etcd, no content of any file but this program's own
 * records, no environment, no configuration file (comments), no description that a person wrote; and
 * every text has been through core/redact.h. It works where little else does: what cannot be found out
 * is a part with the reason in it.
 */
#pragma once

#include "app/context.h"
#include "app/health-look.h"

#include <json-glib/json-glib.h>

/* Of one part, uncompressed; of lines of the journal, backups and runs. What is beyond is left out and
 * counted. */
#define GBE_DIAGNOSIS_PART_MAX (1024 * 1024)
#define GBE_DIAGNOSIS_JOURNAL_MAX 1000
#define GBE_DIAGNOSIS_BACKUPS_MAX 200
#define GBE_DIAGNOSIS_RECORDS_MAX 100

typedef struct {
	char *name; /* "status.json" */
	char *text; /* redacted JSON */
	gsize size; /* of it, bytes */
	char *why;  /* what could not be found out, redacted; NULL: all of it is there */
} GbeDiagnosisPart;

typedef struct {
	GPtrArray *parts; /* of GbeDiagnosisPart */
} GbeDiagnosis;

GbeDiagnosis *gbe_diagnosis_new(void);
void gbe_diagnosis_free(GbeDiagnosis *diagnosis);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(GbeDiagnosis, gbe_diagnosis_free)

/* @name without a suffix. @content (taken; NULL: nothing is there) and @why go in redacted. */
void gbe_diagnosis_add(GbeDiagnosis *diagnosis, const char *name, JsonNode *content,
		       const char *why);
/* status, list, explain, records, manifests, files, filesystems, units, journal, versions. Never fails.
 * The configuration is loaded; @look may be NULL. */
void gbe_diagnosis_collect(GbeDiagnosis *diagnosis, GbeApp *app, const GbeHealthLook *look);
/* The same for what asks neither ostree nor the data: in diagnosis-system.c. */
void gbe_diagnosis_collect_system(GbeDiagnosis *diagnosis, GbeApp *app, const GbeHealthLook *look);
/* All of it as a gzipped tar. */
bool gbe_diagnosis_pack(const GbeDiagnosis *diagnosis, GBytes **ret_archive,
			GError **error) GBE_CHECKED;
/* At @path: 0600, durable, whole or not at all. A file that is there is not replaced. */
bool gbe_diagnosis_write(GbeApp *app, GBytes *archive, const char *path,
			 GError **error) GBE_CHECKED;

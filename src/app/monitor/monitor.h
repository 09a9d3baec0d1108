/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Two programs that show the state of the device. `monitor` writes etcd's health into status.json, the MOTD and the
 * metrics, and records nothing. `diagnose` collects in one archive what a helper needs to see. This is the output of
 * verbs, the records, manifests, units, this program's lines of the journal, file systems and the names of etcd's
 * files. The command works even when little else does: an unavailable part is replaced by the reason.
 */
#pragma once

#include "app/device/context.h"
#include "app/health/look.h"
#include "app/report/status.h"

#include <json-glib/json-glib.h>

bool gbe_monitor_run(GbeApp *app, GError **error) GBE_CHECKED;

/* The text file for Prometheus' node_exporter ([metrics] textfile). An unknown value has no line. @observed: NULL when
 * observing failed; etcd's part is then still written. Reads the facts of this boot: call it before the status is
 * collected. */
GString *gbe_metrics_new(const GbeHealthLook *look, GbeObserved *observed);
void gbe_metrics_add_status(GString *metrics, const GbeStatus *status);

typedef struct {
	char *name;   /* "status.json" */
	char *text;   /* redacted JSON */
	guint64 size; /* of ->text, bytes */
	char *why;    /* what could not be found out, redacted; NULL: the part is complete */
} GbeDiagnosisPart;

typedef struct {
	GPtrArray *parts; /* of GbeDiagnosisPart */
} GbeDiagnosis;

/* The archive leaves the device. So it has no key and no value of etcd, no environment, no configuration file
 * (comments), and no description that a person wrote. Of files it has the content of this program's own records only.
 * Every text is redacted (core/redact.h). */
GbeDiagnosis *gbe_diagnosis_new(void);
void gbe_diagnosis_free(GbeDiagnosis *diagnosis);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(GbeDiagnosis, gbe_diagnosis_free)

/* @name without a suffix. @content (taken; NULL: missing) and @why are redacted here. */
void gbe_diagnosis_add(GbeDiagnosis *diagnosis, const char *name, JsonNode *content,
		       const char *why);
/* status, list, explain, records, manifests, files, filesystems, units, journal, versions. Never fails.
 * The configuration is loaded; @look may be NULL. */
void gbe_diagnosis_collect(GbeDiagnosis *diagnosis, GbeApp *app, const GbeHealthLook *look);
/* Packs all parts as a gzipped tar. */
bool gbe_diagnosis_pack(const GbeDiagnosis *diagnosis, GBytes **ret_archive,
			GError **error) GBE_CHECKED;
/* Writes the archive to @path: 0600, durable, whole or not at all, without a temporary file next to it. An
 * existing file is not replaced. */
bool gbe_diagnosis_write(GbeApp *app, GBytes *archive, const char *path,
			 GError **error) GBE_CHECKED;

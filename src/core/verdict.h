/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The words for what became of a run and of a backup, each with its string table. Reading an unknown
 * word (a newer program's) gives the value that decides nothing.
 */
#pragma once

#include <glib.h>

/* greenboot's part of a run's verdict. JUDGING: a check has started, nobody came to an end; shown as
 * "none", and the run counts as judged. */
typedef enum {
	GBE_VERDICT_NONE,
	GBE_VERDICT_JUDGING,
	GBE_VERDICT_GREEN,
	GBE_VERDICT_RED,
} GbeVerdict;

/* etcd's part. */
typedef enum {
	GBE_HEALTH_NOT_ASKED,
	GBE_HEALTH_HEALTHY,
	GBE_HEALTH_UNHEALTHY,
	GBE_HEALTH_CANNOT_TELL,
} GbeHealth;

typedef enum {
	GBE_GRADE_UNPROVEN, /* also what an unknown word reads as: valid, but evicts nothing */
	GBE_GRADE_GOOD,
	GBE_GRADE_BAD,
} GbeGrade;

typedef enum {
	GBE_METHOD_SNAPSHOT,
	GBE_METHOD_REFLINK,
	GBE_METHOD_COPY,
	GBE_METHOD_RENAME,
} GbeMethod;

const char *gbe_verdict_to_string(GbeVerdict verdict); /* none judging green red */
GbeVerdict gbe_verdict_from_string(const char *text);
const char *gbe_verdict_to_public(GbeVerdict verdict); /* none green red: the contract's words */
const char *gbe_health_to_string(GbeHealth health);    /* not-asked healthy unhealthy cannot-tell */
GbeHealth gbe_health_from_string(const char *text);
const char *gbe_grade_to_string(GbeGrade grade); /* unproven good bad */
GbeGrade gbe_grade_from_string(const char *text);
const char *gbe_method_to_string(GbeMethod method); /* snapshot reflink copy rename */
GbeMethod gbe_method_from_string(const char *text); /* unknown word: copy */

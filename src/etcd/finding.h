/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Findings about etcd's files: each names one object, one place in it, what is wrong and what that means. The
 * readers add findings and continue where that is bounded. Their GError is about reading alone (EIO, EACCES), never
 * about content.
 */
#pragma once

#include "core/tri.h"

typedef enum {
	GBE_FINDING_NOTE,    /* legal, and worth knowing, such as what a power cut leaves */
	GBE_FINDING_WARNING, /* unusual, not damage */
	GBE_FINDING_DAMAGE,
	GBE_FINDING_UNKNOWN, /* this program does not know the format */
} GbeSeverity;

/* The unit of GbeFinding.at. */
typedef enum {
	GBE_PLACE_FILE,	  /* the file as a whole; at is 0 */
	GBE_PLACE_OFFSET, /* byte */
	GBE_PLACE_PAGE,
	GBE_PLACE_RECORD, /* the byte at which a record of the log begins */
	GBE_PLACE_ROW,	  /* a key's revision */
} GbePlace;

typedef struct {
	GbeSeverity severity;
	const char *code; /* static, kebab-case, never renamed: "bbolt-page-twice", "wal-crc" */
	char *file;	  /* relative to the data directory */
	GbePlace place;
	guint64 at;
	char *what;	     /* one line for people: what is wrong */
	GbeTri etcd_notices; /* would etcd itself refuse it, or repair it knowingly? */
	GbeTri loses_data;   /* would starting etcd on it lose writes that were acknowledged? */
} GbeFinding;

/* Most findings kept of one verification: a file of garbage must not fill the memory. */
#define GBE_FINDINGS_MAX 64

typedef struct {
	GPtrArray *items; /* of GbeFinding, in the order found; GBE_FINDINGS_MAX at most */
	guint dropped;	  /* findings beyond that; the least severe are dropped first */
	GbeSeverity worst;
} GbeFindings;

void gbe_findings_init(GbeFindings *findings);
void gbe_findings_clear(GbeFindings *findings);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(GbeFindings, gbe_findings_clear)

void gbe_findings_add(GbeFindings *findings, GbeSeverity severity, const char *code,
		      const char *file, GbePlace place, guint64 at, GbeTri etcd_notices,
		      GbeTri loses_data, const char *format, ...) G_GNUC_PRINTF(9, 10);
/* NOTE when there is no finding. Damage is worse than "unknown": one certain finding decides. */
GbeSeverity gbe_findings_worst(const GbeFindings *findings);
/* The first of the worst findings; NULL: none. */
const GbeFinding *gbe_findings_first(const GbeFindings *findings);
/* Names a person's next step; static, never NULL. */
const char *gbe_finding_advice(const GbeFinding *finding);
/* "FILE, record at 1480: WHAT". Newly allocated. */
char *gbe_finding_to_text(const GbeFinding *finding);
const char *gbe_severity_to_string(GbeSeverity severity); /* note warning damage unknown */
const char *gbe_place_to_string(GbePlace place);	  /* file offset page record row */

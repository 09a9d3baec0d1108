/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* One decision on its way, for the files of decide. */
#pragma once

#include "core/decide.h"

typedef struct {
	const GbeFacts *facts;
	GbePlan *plan;
	GbeView live;
	GbeView view; /* what the last rule looked at */
	GbeSituation situation;
	GbeRuling ruling;
	const GbeManifest *source; /* what takes the data's place; NULL: the data stays */
	gboolean displaces;
	GbeDisplaced displaced; /* how the first move displaces the live data */
	gboolean keep_source;
	const char *displaced_why;
	char *previous;	  /* what becomes P(D) where D takes the data over */
	guint64 sequence; /* next free one */
} Decision;

/* "3.5", or NULL. Newly allocated. */
char *gbe_decide_version_text(GbeVersion version);
/* A stamp for D and R on @source, or on the data in @view: what all stamps have in common. */
void gbe_decide_stamp_common(const GbeFacts *facts, const GbeView *view, const GbeManifest *source,
			     guint64 sequence, GbeStamp *stamp);
/* P and the trial, by the ruling. */
void gbe_decide_stamp_trial(const Decision *d, GbeStamp *stamp);
/* Rule 2: the requested backup becomes the last act of O's run. */
void gbe_decide_stamp_requested(Decision *d, GbeStamp *stamp);

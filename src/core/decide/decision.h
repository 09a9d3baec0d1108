/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* One decision in the making. Private to decide.c, new-manifest.c and new-take-over.c. */
#pragma once

#include "core/decide/decide.h"

typedef struct {
	const GbeFacts *facts;
	GbePlan *plan;
	GbeView live;
	GbeSituation live_situation;
	GbeView view;		/* the data that the last rule looked at */
	GbeSituation situation; /* of ->view */
	GbeRuling ruling;
	const GbeManifest
	    *source; /* the backup that takes the data's place; NULL: the data stays */
	bool displaces;
	GbeDisplaced displaced; /* how the first move displaces the live data */
	const char *displaced_why;
	GbeBackupRef
	    found; /* a backup equal to the live data: taken, kept or displaced by this plan */
	guint64 sequence; /* the next free one */
	bool by_hand;	  /* a person restores in the middle of a run */
	bool empties;	  /* no data was requested */
} Decision;

/* "3.5", or NULL. Newly allocated. */
char *gbe_decide_version_text(GbeVersion version);
/* The record that D and R have the data. If ->source replaces the data, the record is for ->source. */
GbeTakeOver *gbe_decide_take_over(const Decision *d, guint64 sequence);

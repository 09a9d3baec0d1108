/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The decision at an orderly shutdown: the closing backup, the closing record and the hand-back (decisions.md).
 * Facts in, plan out, as in core/decide/decide.h. An unknown fact that the hand-back needs prevents the
 * hand-back. A plan never deletes data.
 */
#pragma once

#include "core/decide/situation.h"

typedef enum {
	GBE_SHUTDOWN_NOTHING, /* the data is not this run's */
	GBE_SHUTDOWN_WAIT,  /* a process may have the data open: observe again once it is closed */
	GBE_SHUTDOWN_CLOSE, /* the run gets its closing record */
} GbeShutdownStep;

/* In the order of execution. With any step but CLOSE, all other fields are empty. Borrows from the facts. */
typedef struct {
	GbeShutdownStep step;
	const char *why;	  /* static: why no backup is taken; NULL: ->backup is taken */
	GbeManifest *backup;	  /* to be taken of the data; NULL */
	bool cow_only;		  /* ... only if no bytes have to be copied */
	const GbeManifest *equal; /* the owner's backup that already equals the data; NULL */
	gint64 used;		  /* seconds since the take-over in this run; -1 unknown */
	/* Replaces the data after the record; NULL: the data stays. */
	const GbeManifest *hand_back;
	GbeManifest *displaced; /* by ->hand_back: the manifest that the data gets */
} GbeShutdown;

/* If a process may have the data open, ->fingerprint and the contents of the data are not looked at yet. */
GbeShutdown *gbe_decide_shutdown(const GbeFacts *facts);
void gbe_shutdown_free(GbeShutdown *shutdown);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(GbeShutdown, gbe_shutdown_free)

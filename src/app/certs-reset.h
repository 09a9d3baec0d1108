/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * `certs reset`: what [certs] regenerated lists is archived and removed, the service is started, which makes it
 * anew, and etcd has to be healthy with that; else the old files are put back. `--undo`: the newest archive's
 * files are put back the same way, so that a second one returns.
 *
 * The service is stopped before the first file changes and started after the last one; should this program be
 * killed in between, service.h's guardian starts it. What a power cut leaves: certs-archive.h.
 */
#pragma once

#include "app/context.h"

typedef struct {
	gboolean undo, dry_run;
	guint64 timeout; /* seconds, for etcd to be healthy after each start */
} GbeCertsResetOptions;

typedef struct {
	gboolean done;	     /* files were removed, or put back, and stay so */
	gboolean healthy;    /* etcd is, with what lies there now; not known below --root */
	gboolean put_back;   /* the old ones are back, for etcd was not healthy with the new ones */
	GPtrArray *removed;  /* of char *: paths */
	GPtrArray *restored; /* of char *: with undo */
	char *reason;	     /* put_back: what was wrong */
} GbeCertsReset;

void gbe_certs_reset_free(GbeCertsReset *reset);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(GbeCertsReset, gbe_certs_reset_free)

/* *ret_reset is set on failure, too, where the old ones were put back. GBE_ERROR_REFUSED: nothing is configured, or a
 * reset was interrupted, which undo puts right; _NOT_FOUND: there is nothing to undo; _FAILED: the old ones are back,
 * and etcd is healthy with them; _VERIFY_FAILED: it is not; _PARTIAL: they could not be put back, undo goes on. */
bool gbe_certs_reset(GbeApp *app, const GbeCertsResetOptions *options, GbeCertsReset **ret_reset,
		     GError **error) GBE_CHECKED;

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The certificates on this device as their users see them: reset, export, and single files.
 *
 * `certs reset`: archives and removes the files that [certs] regenerated lists, and starts the service, which makes
 * them again. If etcd is then unhealthy, the old files are put back. `--undo` puts the newest archive's files back in
 * the same way, so that a second `--undo` reverses the first.
 */
#pragma once

#include "app/device/context.h"

typedef struct {
	bool undo, dry_run;
	guint64 timeout; /* seconds for etcd to become healthy after each start */
} GbeCertsResetOptions;

typedef struct {
	bool done;	     /* files were removed or put back, and stay so */
	bool healthy;	     /* etcd is healthy with the present files; not known below --root */
	bool put_back;	     /* the old files are back: etcd was not healthy with the new ones */
	GPtrArray *removed;  /* of char *: paths */
	GPtrArray *restored; /* of char *: with undo */
	char *reason;	     /* with put_back: the reason */
} GbeCertsReset;

void gbe_certs_reset_free(GbeCertsReset *reset);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(GbeCertsReset, gbe_certs_reset_free)

/* The service is stopped before the first file changes and started after the last one. If this program is killed in
 * between, the guardian (app/device/service.h) starts the service. archive.h has the states after a power cut.
 *
 * *ret_reset is also set on failure when the old files were put back. GBE_ERROR_REFUSED: nothing is configured, or a
 * reset was interrupted, which --undo repairs; _NOT_FOUND: no reset can be undone; _FAILED: the old files are back,
 * and etcd is healthy with them; _VERIFY_FAILED: the same, but etcd is unhealthy; _PARTIAL: they could not be put
 * back, and --undo resumes; or the stopped service does not start again. */
bool gbe_certs_reset(GbeApp *app, const GbeCertsResetOptions *options, GbeCertsReset **ret_reset,
		     GError **error) GBE_CHECKED;

/* Throws that the old certificates were put back because of @why; @unwell: @why is etcd's health. GBE_ERROR_FAILED:
 * etcd is healthy with them (@healthy); else _VERIFY_FAILED, and @still (may be NULL) is the reason. Always returns
 * false. */
bool gbe_certs_throw_put_back(GError **error, const char *why, bool unwell, bool healthy,
			      const char *still);

/* ---- `certs export` ---- */

/* Writes the files that a client on another machine needs into one gzipped tar. These are ca.crt, client.crt,
 * client.key (as [etcd] names them), etcdctl.env for a shell, and README. The file appears as a whole, with mode 0600,
 * and never replaces another file (fs/part.h). @path as the user typed it. GBE_ERROR_REFUSED: no credentials are
 * configured, or one cannot be used. */
bool gbe_certs_export(GbeApp *app, const char *path, GError **error) GBE_CHECKED;
/* Writes a new file of the caller's, 0600, whole or not at all; replaces none. */
bool gbe_certs_write_file(const GbeApp *app, GBytes *content, const char *path,
			  GError **error) GBE_CHECKED;
/* Reads a file of the user. @secret: it has a private key. GBE_ERROR_REFUSED: other users have access to it, as ssh
 * also refuses. */
bool gbe_certs_read_file(const GbeApp *app, const char *path, bool secret, GBytes **ret_content,
			 GError **error) GBE_CHECKED;
/* Removes a file that gbe_certs_write_file() has written; errors are ignored. */
void gbe_certs_remove_file(const GbeApp *app, const char *path);

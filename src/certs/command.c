/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Certificates that another program renews: certbot, step, certmonger and their like. */
#include "certs/change.h"

#include <fcntl.h>

#include "app/certs/archive.h"
#include "app/health/certificates.h"
#include "certs/core/renewal.h"
#include "core/config/lists.h"
#include "fs/open.h"
#include "sys/child.h"

/* It may ask a server on the other side of a bad road. */
#define SECONDS 600

/* The same rule as for certificates of our own. */
static bool
find_due(GbeApp *app, char **ret_reason, GError **error)
{
	g_autoptr(GbeCerts) certs = NULL;
	gint64 now = g_get_real_time() / G_USEC_PER_SEC;

	if (!gbe_certs_look(app, &certs, error))
		return false;
	for (guint i = 0; i < certs->certs->len && *ret_reason == NULL; i++) {
		const GbeCert *cert = certs->certs->pdata[i];
		const GbeLeafFacts facts = {.signed_by_authority = true,
					    .not_before = cert->pem->not_before,
					    .not_after = cert->pem->not_after};
		g_autofree char *why = NULL;

		if (cert->pem->kind != GBE_PEM_CERTIFICATE || cert->pem->ca)
			continue;
		why = gbe_renewal_reason(&facts, now);
		if (why != NULL)
			*ret_reason = g_strdup_printf("%s: %s", cert->path, why);
	}
	return true;
}

static bool
run_renewal(GbeApp *app, GError **error)
{
	g_auto(GbeChild) child = {0};
	g_auto(GStrv) argv = NULL;
	gbe_autofd int program_fd = -1;
	gbe_autofd int root_fd = -1;

	if (!gbe_run_args(app->config->certs.renew_command, &argv, error) ||
	    !gbe_open_in_root(app->root_fd, argv[0], O_RDONLY, &program_fd, error) ||
	    !gbe_open_root("/", &root_fd, error) ||
	    !gbe_child_start_as(NULL, program_fd, (const char *const *)argv, root_fd, &child,
				error) ||
	    !gbe_child_wait(&child, SECONDS, error))
		return gbe_prefix(error, "[certs] renew-command");
	return true;
}

static bool
go_back(GbePkiChange *change, const GbeCertsArchive *archive, GError **error)
{
	if (gbe_certs_remove(change->app, archive->directories, archive->patterns, error) &&
	    gbe_certs_archive_put_back(change->app, archive, error))
		return true;
	gbe_rethrow(error, GBE_ERROR_PARTIAL);
	return gbe_prefix(error,
			  "the old certificates are not all back: `greenboot-etcd certs reset "
			  "--undo` goes on");
}

/* An interrupted renewal, or reset, left its archive open. */
static bool
finish_earlier(GbePkiChange *change, GError **error)
{
	g_autoptr(GbeCertsArchive) archive = NULL;
	g_autofree char *why = NULL;

	if (!gbe_certs_archive_newest(change->app, &archive, error))
		return false;
	if (archive == NULL || !archive->open)
		return true;
	if (gbe_pki_change_look(change, 0, &why) == GBE_YES)
		return gbe_certs_archive_close(archive, error);
	return go_back(change, archive, error) && gbe_certs_archive_drop(archive, error);
}

static bool
put_back(GbePkiChange *change, GbeCertsArchive *archive, const char *why, GError **error)
{
	g_autofree char *now = NULL;

	if (!gbe_pki_change_lock(change, error) || !go_back(change, archive, error) ||
	    !gbe_certs_archive_drop(archive, error))
		return false;
	gbe_app_unlock(change->app);
	g_free(change->result->reason);
	change->result->reason = g_strdup(why);
	change->result->put_back = true;
	change->result->healthy = gbe_pki_change_look(change, change->options->timeout, &now);
	return gbe_throw(
	    error, change->result->healthy == GBE_YES ? GBE_ERROR_FAILED : GBE_ERROR_VERIFY_FAILED,
	    "%s: the old certificates are back%s%s", why,
	    now != NULL ? ", and etcd is not healthy with them, either: " : "",
	    now != NULL ? now : "");
}

static bool
renew_others(GbePkiChange *change, GError **error)
{
	static char *everything[] = {(char *)"*", NULL};
	GbeApp *app = change->app;
	GbePkiResult *result = change->result;
	g_autoptr(GbeCertsArchive) archive = NULL;
	g_autoptr(GError) local = NULL;
	g_auto(GStrv) directories = NULL;
	g_autofree char *why = NULL;
	GbeTri before;

	if (!gbe_pki_change_begin(change, error) ||
	    (!change->options->dry_run && !finish_earlier(change, error)) ||
	    !find_due(app, &result->reason, error) ||
	    !gbe_certs_directories(app->config->certs.directories, &directories, error))
		return false;
	if (directories[0] == NULL)
		return gbe_throw(error, GBE_ERROR_INVALID_CONFIG,
				 "[certs] renew-command is set, and directories does not say where "
				 "the certificates are");
	if (result->reason == NULL && !change->options->force)
		return true;
	if (result->reason == NULL)
		result->reason = g_strdup("asked for");
	if (change->options->dry_run)
		return true;
	/* It is the image's program, and would work on the files of this machine. */
	if (app->below_root)
		return gbe_throw(error, GBE_ERROR_REFUSED,
				 "%s, and [certs] renew-command does not run below --root: call "
				 "`greenboot-etcd certs renew` on the device itself",
				 result->reason);
	before = gbe_pki_change_look(change, 0, &why);
	if (!gbe_certs_archive_make(app, directories, everything, &archive, error))
		return false;
	/* etcd may start meanwhile, and its prerun needs the lock. */
	gbe_app_unlock(app);
	if (!run_renewal(app, &local))
		return put_back(change, archive, local->message, error);
	g_clear_pointer(&why, g_free);
	result->healthy = gbe_pki_change_look(change, change->options->timeout, &why);
	if (before == GBE_YES && result->healthy != GBE_YES)
		return put_back(change, archive, why, error);
	result->done = true;
	return gbe_pki_change_lock(change, error) && gbe_certs_archive_close(archive, error);
}

bool
gbe_pki_renew_by_command(GbeApp *app, const GbePkiOptions *options, GbePkiResult *result,
			 GError **error)
{
	return gbe_pki_change_run(app, "certs renew", renew_others, options, result, error);
}

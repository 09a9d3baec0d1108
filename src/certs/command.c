/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Certificates that another program renews: certbot, step, certmonger and their like. */
#include "certs/change.h"

#include <fcntl.h>

#include "app/health/certificates.h"
#include "certs/core/renewal.h"
#include "core/config/lists.h"
#include "fs/open.h"
#include "sys/child.h"

/* The command may ask a server over a slow network. */
#define SECONDS 600

/* An interrupted renewal, or reset, left its archive open. */
static bool
finish_earlier(gpointer change, GError **error)
{
	GbeApp *app = ((GbePkiChange *)change)->change.app;
	g_autoptr(GbeCertsArchive) archive = NULL;
	g_autofree char *why = NULL;

	if (!gbe_certs_archive_newest(app, &archive, error))
		return false;
	if (archive == NULL || !archive->open)
		return true;
	if (gbe_pki_change_look(change, 0, &why) == GBE_YES)
		return gbe_certs_archive_close(archive, error);
	return gbe_certs_archive_return(app, archive, error) &&
	       gbe_certs_archive_drop(archive, error);
}

/* The same rule as for certificates of our own. */
static bool
find_due(gpointer change, GError **error)
{
	GbePkiChange *pki = change;
	char **reason = &pki->result->reason;
	g_autoptr(GbeCerts) certs = NULL;
	gint64 now = g_get_real_time() / G_USEC_PER_SEC;

	if (!gbe_certs_look(pki->change.app, &certs, error))
		return false;
	for (guint i = 0; i < certs->certs->len && *reason == NULL; i++) {
		const GbeCert *cert = certs->certs->pdata[i];
		const GbeLeafFacts facts = {.signed_by_authority = true,
					    .not_before = cert->pem->not_before,
					    .not_after = cert->pem->not_after};
		g_autofree char *why = NULL;

		if (cert->pem->kind != GBE_PEM_CERTIFICATE || cert->pem->ca)
			continue;
		why = gbe_renewal_reason(&facts, now);
		if (why != NULL)
			*reason = g_strdup_printf("%s: %s", cert->path, why);
	}
	if (!gbe_certs_directories(pki->change.app->config->certs.directories, &pki->directories,
				   error))
		return false;
	if (pki->directories[0] == NULL)
		return gbe_throw(error, GBE_ERROR_INVALID_CONFIG,
				 "[certs] renew-command is set, and directories does not say where "
				 "the certificates are");
	if (*reason == NULL && pki->options->force)
		*reason = g_strdup("asked for");
	pki->change.ended = *reason == NULL;
	return true;
}

static bool
archive_files(gpointer change, GError **error)
{
	static char *everything[] = {(char *)"*", NULL};
	GbePkiChange *pki = change;
	GbeApp *app = pki->change.app;
	g_autofree char *why = NULL;

	/* The command belongs to the image below --root, but would change the files of this machine. */
	if (app->below_root)
		return gbe_throw(error, GBE_ERROR_REFUSED,
				 "%s, and [certs] renew-command does not run below --root: call "
				 "`greenboot-etcd certs renew` on the device itself",
				 pki->result->reason);
	pki->before = gbe_pki_change_look(pki, 0, &why);
	return gbe_certs_archive_make(app, pki->directories, everything, &pki->archive, error);
}

/* Without the program's lock: etcd may start meanwhile, and its prerun needs that lock. */
static bool
run_command(gpointer change, GError **error)
{
	GbeApp *app = ((GbePkiChange *)change)->change.app;
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
put_back_files(gpointer change, GError **error)
{
	GbePkiChange *pki = change;

	if (pki->result->done)
		return true;
	if (!gbe_certs_archive_return(pki->change.app, pki->archive, error) ||
	    !gbe_certs_archive_drop(pki->archive, error))
		return false;
	gbe_app_unlock(pki->change.app);
	pki->result->put_back = true;
	pki->result->healthy = gbe_pki_change_look(pki, pki->options->timeout, &pki->with_old);
	return true;
}

static bool
prove_files(gpointer change, GError **error)
{
	GbePkiChange *pki = change;
	GbePkiResult *result = pki->result;
	g_autofree char *why = NULL;

	result->healthy = gbe_pki_change_look(pki, pki->options->timeout, &why);
	pki->unwell = pki->before == GBE_YES && result->healthy != GBE_YES;
	if (pki->unwell)
		return gbe_throw(error, GBE_ERROR_VERIFY_FAILED, "%s", why);
	result->done = true;
	return true;
}

static bool
close_archive(gpointer change, GError **error)
{
	return gbe_certs_archive_close(((GbePkiChange *)change)->archive, error);
}

const GbeStep gbe_pki_command_steps[] = {
    {"pki-looked", gbe_pki_look, NULL, GBE_STEP_LOOK, 0},
    {"pki-earlier-proved", gbe_pki_prove, gbe_pki_unprove, GBE_STEP_UNLOCKED, 0},
    {"certs-finished", finish_earlier, NULL, 0, 0},
    {"certs-due", find_due, NULL, GBE_STEP_LOOK, 0},
    {"certs-archived", archive_files, NULL, 0, 0},
    {"certs-renewed", run_command, put_back_files, GBE_STEP_UNLOCKED, 0},
    {"certs-healthy", prove_files, NULL, GBE_STEP_UNLOCKED, 0},
    {"certs-closed", close_archive, NULL, 0, 0},
    {NULL, NULL, NULL, 0, 0},
};

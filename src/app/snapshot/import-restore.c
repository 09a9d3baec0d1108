/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "app/snapshot/import-private.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "app/device/etcd-tool.h"
#include "app/run/walled.h"

/* etcd's own default, used when nothing is configured. */
#define NAME "default"
#define PEER_URLS "http://localhost:2380"
#define TOKEN "etcd-cluster"

/* The tool makes the last directory itself. */
static bool
make_dirs(const GbeImporting *importing, char **ret_data_dir, GError **error)
{
	g_autofree char *path = g_build_filename(GBE_STORE_DATA, importing->member_path, NULL);

	for (char *slash = path; (slash = strchr(slash, '/')) != NULL; slash++) {
		*slash = '\0';
		if (mkdirat(importing->partial.fd, path, 0700) < 0)
			return gbe_throw_errno(error, errno, "make %s", path);
		*slash = '/';
	}
	*ret_data_dir = g_steal_pointer(&path);
	return true;
}

static char *
cluster(const char *name, const char *urls)
{
	g_auto(GStrv) parts = g_strsplit(urls, ",", -1);
	GString *text = g_string_new(NULL);

	for (guint i = 0; parts[i] != NULL; i++)
		g_string_append_printf(text, "%s%s=%s", i > 0 ? "," : "", name, parts[i]);
	return g_string_free(text, false);
}

bool
gbe_import_restore(GbeImporting *importing, GError **error)
{
	const GbeConfig *config = importing->app->config;
	const char *name = config->etcd.name != NULL ? config->etcd.name : NAME;
	const char *urls = config->etcd.peer_urls != NULL ? config->etcd.peer_urls : PEER_URLS;
	g_autofree char *members = cluster(name, urls);
	const char *token = importing->options->token != NULL ? importing->options->token : TOKEN;
	const char *wal =
	    gbe_data_wal_below(importing->app, importing->session->observed->data->path);
	g_autofree char *data_dir = NULL;
	g_autofree char *wal_dir = NULL;
	g_autofree char *dir = g_path_get_dirname(config->etcd.binary);
	g_autofree char *program = NULL;
	const char *tool = NULL;
	gbe_autofd int fd = -1;
	g_auto(GbeWalledRun) run = {.work_fd = -1};
	struct stat own;
	GbeChildUser user;
	const GbeWalledWait wait = {.seconds = importing->options->timeout,
				    .progress = importing->options->progress,
				    .progress_data = importing->options->progress_data};
	bool ok;

	if (!gbe_etcd_tool_open(importing->app, "restores a snapshot", &tool, &fd, error) ||
	    !make_dirs(importing, &data_dir, error))
		return false;
	if (fstat(importing->partial.fd, &own) < 0)
		return gbe_throw_errno(error, errno, "cannot look at the entry");
	if (!gbe_walled_user(importing->app, &own, &user, error) ||
	    !gbe_walled_give(importing->partial.fd, &user, error))
		return gbe_rethrow_if(error, GBE_ERROR_CANNOT_TELL, GBE_ERROR_FAILED);
	program = g_build_filename(dir, tool, NULL);
	wal_dir = wal != NULL ? g_build_filename(GBE_STORE_DATA, wal, NULL)
			      : g_build_filename(data_dir, "member/wal", NULL);
	{
		/* The snapshot was already checked page by page, so it needs no checksum. */
		const char *const argv[] = {tool,
					    "snapshot",
					    "restore",
					    GBE_IMPORT_SNAPSHOT,
					    "--name",
					    name,
					    "--initial-cluster",
					    members,
					    "--initial-advertise-peer-urls",
					    urls,
					    "--data-dir",
					    data_dir,
					    "--wal-dir",
					    wal_dir,
					    "--initial-cluster-token",
					    token,
					    importing->options->no_checksum ? "--skip-hash-check"
									    : NULL,
					    NULL};
		const GbeWalled walled = {.tree_fd = -1,
					  .program = program,
					  .argv = argv,
					  .work_fd = importing->partial.fd,
					  .seconds = importing->options->timeout,
					  .size = importing->source->directory.db.size};

		ok = gbe_walled_start(importing->app, &walled, &run, error);
	}
	if (!ok || !gbe_walled_wait(&run, &wait, error))
		return gbe_rethrow_if(error, GBE_ERROR_VERIFY_FAILED, GBE_ERROR_FAILED) ||
		       gbe_rethrow_if(error, GBE_ERROR_CANNOT_TELL, GBE_ERROR_FAILED);
	gbe_walled_end(&run);
	user = (GbeChildUser){own.st_uid, own.st_gid};
	return gbe_walled_give(importing->partial.fd, &user, error);
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "app/import-private.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "fs/open.h"
#include "sys/child.h"

#define POLL_USEC 10000
/* etcd's own, where nothing is configured. */
#define NAME "default"
#define PEER_URLS "http://localhost:2380"

/* etcdutl, which etcd 3.5 and later have, beside [etcd] binary; else etcdctl. */
static bool
open_tool(GbeApp *app, const char **ret_tool, int *ret_fd, GError **error)
{
	static const char *const tools[] = {"etcdutl", "etcdctl"};
	g_autofree char *dir = g_path_get_dirname(app->config->etcd.binary);

	for (gsize i = 0; i < G_N_ELEMENTS(tools); i++) {
		g_autofree char *path = g_build_filename(dir, tools[i], NULL);
		g_autoptr(GError) local = NULL;

		if (gbe_open_in_root(app->root_fd, path, O_RDONLY, ret_fd, &local)) {
			*ret_tool = tools[i];
			return true;
		}
		if (!g_error_matches(local, GBE_ERROR, GBE_ERROR_NOT_FOUND)) {
			g_propagate_error(error, g_steal_pointer(&local));
			return false;
		}
	}
	return gbe_throw(error, GBE_ERROR_REFUSED,
			 "neither etcdutl nor etcdctl is in %s, and etcd's own tool is what "
			 "restores a snapshot: install it",
			 dir);
}

/* The tool makes the last directory itself. */
static bool
make_dirs(const GbeImporting *importing, char **ret_data_dir, GError **error)
{
	g_autofree char *path = g_build_filename(GBE_STORE_DATA, importing->member_path, NULL);

	for (char *slash = path; (slash = strchr(slash, '/')) != NULL; slash++) {
		*slash = '\0';
		if (mkdirat(importing->entry_fd, path, 0700) < 0)
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
	return g_string_free(text, FALSE);
}

static bool
wait_for(const GbeImporting *importing, GbeChild *child, GError **error)
{
	const GbeImport *options = importing->options;
	gint64 deadline = g_get_monotonic_time() + (gint64)options->timeout * G_USEC_PER_SEC;

	for (bool running = true;;) {
		if (!gbe_child_poll(child, &running, error))
			return false;
		if (!running)
			return true;
		if (g_get_monotonic_time() >= deadline)
			return gbe_throw(error, GBE_ERROR_FAILED,
					 "%s has not ended within %" G_GUINT64_FORMAT
					 " s (--timeout)",
					 child->name, options->timeout);
		if (options->progress != NULL && !options->progress(0, 0, options->progress_data))
			return gbe_throw(error, GBE_ERROR_FAILED, "interrupted");
		g_usleep(POLL_USEC);
	}
}

bool
gbe_import_restore(GbeImporting *importing, GError **error)
{
	const GbeConfig *config = importing->app->config;
	const char *name = config->etcd.name != NULL ? config->etcd.name : NAME;
	const char *urls = config->etcd.peer_urls != NULL ? config->etcd.peer_urls : PEER_URLS;
	g_autofree char *members = cluster(name, urls);
	g_autofree char *data_dir = NULL;
	const char *tool = NULL;
	gbe_autofd int fd = -1;
	g_auto(GbeChild) child = {0};

	if (!open_tool(importing->app, &tool, &fd, error) ||
	    !make_dirs(importing, &data_dir, error))
		return false;
	{
		/* What was looked into, page by page, needs no checksum any more. */
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
					    importing->options->no_checksum ? "--skip-hash-check"
									    : NULL,
					    NULL};

		if (!gbe_child_start(fd, argv, importing->entry_fd, &child, error))
			return false;
	}
	return wait_for(importing, &child, error);
}

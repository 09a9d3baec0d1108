/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cli/observe.h"

#include "cli/print.h"
#include "core/backup-name.h"
#include "core/json/parse.h"
#include "fs/open.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#define CANDIDATES_MAX 5

static bool
needs_root(GError **error, const GError *why)
{
	return gbe_throw(error, GBE_ERROR_FAILED, "%s (needs root: sudo)", why->message);
}

/* Opens the state directory. Without root rights it is closed. A closed store or data directory would look like one
 * that does not exist, so then nothing at all is observed. */
static bool
open_state(GbeCli *cli, bool *ret_denied, GError **error)
{
	g_autoptr(GError) local = NULL;
	gbe_autofd int fd = -1;

	*ret_denied = false;
	if (gbe_app_open_state(cli->app, false, &local))
		return true;
	if (g_error_matches(local, GBE_ERROR, GBE_ERROR_NOT_FOUND)) {
		/* The program has never run here. The data may still be closed to this user. */
		if (geteuid() == 0 ||
		    gbe_open_in_root(cli->app->root_fd, cli->app->config->etcd.data_dir,
				     O_RDONLY | O_DIRECTORY, &fd, NULL))
			return true;
	}
	if (geteuid() == 0)
		return gbe_pass(error, &local);
	*ret_denied = true;
	return needs_root(error, local);
}

bool
gbe_cli_observe(GbeCli *cli, GbeObserved **ret_observed, GError **error)
{
	g_autoptr(GError) local = NULL;
	bool denied;
	GbeObserveOptions options = {.tolerant = true};

	if (open_state(cli, &denied, &local))
		return gbe_observe(cli->app, &options, ret_observed, error);
	if (denied) {
		*ret_observed = NULL;
		return true;
	}
	return gbe_pass(error, &local);
}

bool
gbe_cli_observe_as_root(GbeCli *cli, bool tolerant, GbeObserved **ret_observed, GError **error)
{
	GbeObserveOptions options = {.tolerant = tolerant};
	bool denied;

	return open_state(cli, &denied, error) &&
	       gbe_observe(cli->app, &options, ret_observed, error);
}

bool
gbe_cli_open_state(GbeCli *cli, GError **error)
{
	bool denied;

	return open_state(cli, &denied, error);
}

bool
gbe_cli_find_backup(const GbeObserved *observed, const char *name, const GbeManifest **ret_manifest,
		    GError **error)
{
	if (!gbe_backup_name_check(name, error))
		return false;
	*ret_manifest = gbe_facts_backup(observed->facts, name);
	if (*ret_manifest != NULL)
		return true;
	if (gbe_status_is_damaged(observed, name))
		return gbe_throw(error, GBE_ERROR_CORRUPT,
				 "the manifest of backup %s cannot be read", name);
	return gbe_throw(error, GBE_ERROR_NOT_FOUND,
			 "no backup %s in %s; `greenboot-etcd list` shows them", name,
			 observed->store->path);
}

static bool
read_file(GbeCli *cli, JsonObject **ret_object, GError **error)
{
	g_autofree char *bytes = NULL;
	g_autoptr(GError) local = NULL;
	gsize size = 0;

	if (!gbe_read_in_root(cli->app->root_fd, GBE_STATUS_FILE, GBE_JSON_MAX_SIZE, &bytes, &size,
			      &local))
		return gbe_throw(
		    error, GBE_ERROR_FAILED,
		    "%s, which users other than root read, does not exist yet (needs root: "
		    "sudo)",
		    GBE_STATUS_FILE);
	return gbe_json_parse_object(bytes, size, GBE_STATUS_FILE, ret_object, error);
}

bool
gbe_cli_read_status(GbeCli *cli, const GbeHealthLook *look, GbeStatus **ret_status, GError **error)
{
	g_autoptr(JsonObject) whole = NULL;
	JsonObject *object;
	GbeStatus *status = NULL;

	if (!read_file(cli, &whole, error))
		return false;
	object = gbe_json_object(whole, "status");
	if (object != NULL)
		status = gbe_status_read(cli->app, look, object);
	if (status == NULL)
		return gbe_throw(error, GBE_ERROR_CORRUPT, "%s holds no status", GBE_STATUS_FILE);
	*ret_status = status;
	return true;
}

bool
gbe_cli_read_list(GbeCli *cli, GPtrArray **ret_list, GError **error)
{
	g_autoptr(JsonObject) whole = NULL;
	JsonArray *array;
	GPtrArray *list = NULL;

	if (!read_file(cli, &whole, error))
		return false;
	array = gbe_json_array(whole, "list");
	if (array != NULL)
		list = gbe_list_read(array);
	if (list == NULL)
		return gbe_throw(error, GBE_ERROR_CORRUPT, "%s holds no list", GBE_STATUS_FILE);
	*ret_list = list;
	return true;
}

/* @list may be NULL. */
static char **
names_of(const GPtrArray *list)
{
	guint count = list != NULL ? list->len : 0;
	char **names = g_new0(char *, count + 1);

	for (guint i = 0; i < count; i++)
		names[i] = g_strdup(((const GbeListEntry *)list->pdata[i])->backup.name);
	return names;
}

void
gbe_cli_fit(GbeCli *cli, const GbeObserved *observed)
{
	g_autoptr(JsonObject) whole = NULL;
	g_autoptr(GPtrArray) list = NULL, deployments = NULL;
	g_auto(GStrv) names = NULL;
	JsonArray *array;

	if (cli->json || isatty(STDOUT_FILENO) != 1)
		return;
	if (observed != NULL) {
		list = gbe_list_collect(observed, false);
		deployments = gbe_deployments_names(observed->deployments);
	} else if (read_file(cli, &whole, NULL)) {
		array = gbe_json_array(whole, "list");
		list = array != NULL ? gbe_list_read(array) : NULL;
		deployments = gbe_status_read_names(gbe_json_object(whole, "status"));
	}
	names = names_of(list);
	if (deployments == NULL)
		deployments =
		    g_ptr_array_new_with_free_func((GDestroyNotify)gbe_deployment_name_free);
	/* A backup knows the version of a deployment that is gone. */
	for (guint i = 0; list != NULL && i < list->len; i++) {
		const GbeManifest *backup = &((const GbeListEntry *)list->pdata[i])->backup;
		bool known = backup->deployment.id == NULL || backup->deployment_version == NULL;

		for (guint k = 0; k < deployments->len && !known; k++)
			known = g_strcmp0(((GbeDeploymentName *)deployments->pdata[k])->id,
					  backup->deployment.id) == 0;
		if (known)
			continue;
		GbeDeploymentName *gone = g_new0(GbeDeploymentName, 1);
		gone->id = g_strdup(backup->deployment.id);
		gone->version = g_strdup(backup->deployment_version);
		g_ptr_array_add(deployments, gone);
	}
	gbe_print_fit((const char *const *)names, deployments);
}

static bool
ambiguous(const char *text, const GPtrArray *matches, const char *const *names, GError **error)
{
	g_autoptr(GString) all = g_string_new(NULL);

	for (guint i = 0; i < MIN(matches->len, CANDIDATES_MAX); i++) {
		g_autofree char *name = gbe_backup_name_short(matches->pdata[i], names);

		g_string_append_printf(all, "%s%s", i > 0 ? ", " : "", name);
	}
	if (matches->len > CANDIDATES_MAX)
		g_string_append_printf(all, " and %u more", matches->len - CANDIDATES_MAX);
	return gbe_throw(error, GBE_ERROR_USAGE, "\"%s\" can be %u backups: %s", text, matches->len,
			 all->str);
}

bool
gbe_cli_resolve_names(GbeCli *cli, char **names, GError **error)
{
	g_autoptr(GbeObserved) observed = NULL;
	g_autoptr(GPtrArray) list = NULL;
	g_auto(GStrv) known = NULL;

	for (guint i = 0; names[i] != NULL; i++) {
		g_autoptr(GPtrArray) matches = NULL;

		/* A whole automatic name, or a path. */
		if (gbe_backup_name_parse(names[i], NULL, NULL, NULL) == GBE_NAME_AUTOMATIC ||
		    strchr(names[i], '/') != NULL)
			continue;
		if (known == NULL) {
			if (!gbe_cli_observe(cli, &observed, NULL) || observed == NULL)
				return true;
			list = gbe_list_collect(observed, false);
			known = names_of(list);
		}
		matches = gbe_backup_name_match(names[i], (const char *const *)known);
		if (matches->len > 1)
			return ambiguous(names[i], matches, (const char *const *)known, error);
		if (matches->len == 0 && names[i][0] == '@')
			return gbe_throw(error, GBE_ERROR_USAGE,
					 "there is no backup %s: `greenboot-etcd list` has %u, and "
					 "@1 is the newest",
					 names[i], g_strv_length(known));
		if (matches->len == 1) {
			g_free(names[i]);
			names[i] = g_strdup(matches->pdata[0]);
		}
	}
	return true;
}

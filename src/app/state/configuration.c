/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "app/state/configuration.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "app/state/state.h"
#include "core/config/lists.h"
#include "core/config/systems.h"
#include "core/json/parse.h"
#include "fs/list.h"
#include "fs/open.h"
#include "sys/installed.h"

#define BASE_NAME "greenboot-etcd.conf"
#define DROPIN_DIR "greenboot-etcd.conf.d"
#define FILE_MAX (1024 * 1024)

static void
conf_file_free(GbeConfFile *file)
{
	g_free(file->path);
	g_free(file->text);
	g_clear_error(&file->error);
	g_clear_pointer(&file->skip, g_hash_table_unref);
	g_free(file);
}

static GPtrArray *
files_new(void)
{
	return g_ptr_array_new_with_free_func((GDestroyNotify)conf_file_free);
}

static GbeConfFile *
read_conf(GbeApp *app, const char *path)
{
	GbeConfFile *file = g_new0(GbeConfFile, 1);

	file->path = g_strdup(path);
	(void)!gbe_read_in_root(app->root_fd, path, FILE_MAX, &file->text, &file->size,
				&file->error);
	return file;
}

static void
add_base(GbeApp *app, const char *dir, GPtrArray *files)
{
	g_autofree char *path = g_build_filename(dir, BASE_NAME, NULL);
	GbeConfFile *file = read_conf(app, path);

	if (g_error_matches(file->error, GBE_ERROR, GBE_ERROR_NOT_FOUND))
		conf_file_free(file);
	else
		g_ptr_array_add(files, file);
}

/* @chosen: name -> path, or "" for a masked one. */
static bool
list_dropins(GbeApp *app, const char *dir, GHashTable *chosen, GError **error)
{
	g_autofree char *path = g_build_filename(dir, DROPIN_DIR, NULL);
	g_autoptr(GError) local = NULL;
	g_auto(GbeList) list = {NULL};
	gbe_autofd int fd = -1;
	const char *name;

	if (!gbe_open_in_root(app->root_fd, path, O_RDONLY | O_DIRECTORY, &fd, &local))
		return gbe_pass_unless(error, &local, GBE_ERROR_NOT_FOUND);
	list = gbe_list_open_at(fd, path);
	while ((name = gbe_list_next(&list)) != NULL) {
		char target[sizeof("/dev/null")] = "";
		bool masks;

		if (name[0] == '.' || !g_str_has_suffix(name, ".conf"))
			continue;
		/* As in systemd, a link to /dev/null masks the file of that name. Below --root there may be no /dev,
		 * so the link is read and not followed. A longer link is cut, and then is another one. */
		masks =
		    readlinkat(fd, name, target, sizeof(target)) == (ssize_t)strlen("/dev/null") &&
		    memcmp(target, "/dev/null", strlen("/dev/null")) == 0;
		g_hash_table_replace(chosen, g_strdup(name),
				     masks ? g_strdup("") : g_build_filename(path, name, NULL));
	}
	return gbe_list_end(&list, error);
}

/* @usr: the same as @app, or with another root for what lies in /usr. */
static void
add_dropins(GbeApp *app, GbeApp *usr, gsize n_dirs, GPtrArray *files)
{
	static const char *const dirs[] = {"/usr/lib/greenboot-etcd", "/etc/greenboot-etcd",
					   "/run/greenboot-etcd"};
	g_autoptr(GHashTable) chosen =
	    g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
	GList *names;

	for (gsize i = 0; i < n_dirs; i++) {
		GbeConfFile *unreadable = g_new0(GbeConfFile, 1);

		if (list_dropins(i == 0 ? usr : app, dirs[i], chosen, &unreadable->error)) {
			conf_file_free(unreadable);
			continue;
		}
		unreadable->path = g_build_filename(dirs[i], DROPIN_DIR, NULL);
		g_ptr_array_add(files, unreadable);
	}
	names = g_list_sort(g_hash_table_get_keys(chosen), (GCompareFunc)strcmp);
	for (GList *at = names; at != NULL; at = at->next) {
		const char *path = g_hash_table_lookup(chosen, at->data);

		if (path[0] != '\0')
			g_ptr_array_add(
			    files, read_conf(g_str_has_prefix(path, "/usr/") ? usr : app, path));
	}
	g_list_free(names);
}

GPtrArray *
gbe_configuration_files(GbeApp *app)
{
	GPtrArray *files = files_new();

	if (app->config_file != NULL) {
		/* Below --root the path is inside the root; on the system itself it is the caller's. */
		g_autofree char *path = app->below_root
					    ? g_strdup(app->config_file)
					    : g_canonicalize_filename(app->config_file, NULL);

		g_ptr_array_add(files, read_conf(app, path));
		return files;
	}
	add_base(app, "/usr/lib/greenboot-etcd", files);
	add_base(app, "/etc/greenboot-etcd", files);
	add_dropins(app, app, 3, files);
	return files;
}

/* Adds what lies below all files: the installed system's settings, and those of a cluster and of certificates. */
static void
detect(GbeApp *app, GbeConfig *config)
{
	GbeInstalled installed[GBE_SYSTEMS_MAX];
	g_autofree char *settings = NULL;
	guint count = 0;
	gsize size = 0;

	if (gbe_config_wants_detection(config)) {
		count = gbe_installed_look(app->root_fd, installed);
		gbe_config_detect(config, installed, count);
	}
	for (guint i = 0; i < count; i++)
		if (installed[i].why != NULL)
			g_ptr_array_add(config->warnings,
					g_strdup_printf("%s is here and not protected: %s",
							installed[i].system->service,
							installed[i].why));
	gbe_installed_clear(installed, count);
	if (config->ambiguous != NULL)
		g_ptr_array_add(config->warnings, g_strdup(config->ambiguous));
	/* Unreadable settings also are those of a member. */
	if (gbe_is_in_root(app->root_fd, GBE_CLUSTER_ENV) == GBE_YES) {
		if (!gbe_read_in_root(app->root_fd, GBE_CLUSTER_ENV, FILE_MAX, &settings, &size,
				      NULL))
			settings = g_strdup("");
		gbe_config_detect_cluster(config, settings);
	}
	if (gbe_is_in_root(app->root_fd, GBE_PKI_LIVE) == GBE_YES)
		gbe_config_detect_pki(config);
}

/* Merges all files or none, and below them what is detected. *ret_culprit (may be NULL) is the file at fault, or -1
 * when only the combination of files is; *ret_bad_key (may be NULL) as in gbe_config_merge(). */
static bool
merge_files(GbeApp *app, GPtrArray *files, GbeConfig **ret_config, gssize *ret_culprit,
	    char **ret_bad_key, GError **error)
{
	g_autoptr(GbeConfig) config = gbe_config_new();

	for (guint i = 0; i < files->len; i++) {
		GbeConfFile *file = files->pdata[i];

		if (ret_culprit != NULL)
			*ret_culprit = (gssize)i;
		/* The message names the file. */
		if (file->error != NULL)
			return gbe_throw(error, GBE_ERROR_INVALID_CONFIG, "%s",
					 file->error->message);
		if (!gbe_config_merge(config, file->path, file->text, file->size, false, file->skip,
				      ret_bad_key, error))
			return false;
	}
	if (ret_culprit != NULL)
		*ret_culprit = -1;
	detect(app, config);
	if (!gbe_config_check(config, error))
		return false;
	*ret_config = g_steal_pointer(&config);
	return true;
}

static void
use_config(GbeApp *app, GbeConfig *config)
{
	/* Only greenboot-etcd-cluster gets a member's data from the others, and lets a locked update go. */
	if (gbe_program_find("cluster", NULL) == GBE_NO)
		config->cluster.rejoin = config->cluster.update_lock = false;
	gbe_config_free(app->config);
	app->config = config;
	app->configured = true;
}

bool
gbe_configuration_load(GbeApp *app, GError **error)
{
	g_autoptr(GPtrArray) files = gbe_configuration_files(app);
	GbeConfig *config = NULL;

	if (!merge_files(app, files, &config, NULL, NULL, error))
		return false;
	use_config(app, config);
	return true;
}

bool
gbe_configuration_load_to_look(GbeApp *app, char **ret_complaint, GError **error)
{
	g_autoptr(GPtrArray) files = gbe_configuration_files(app);
	GbeDeployment booted = {NULL};
	GbeConfFile *only = app->config_file != NULL ? files->pdata[0] : NULL;

	*ret_complaint = NULL;
	if (only != NULL && only->error != NULL)
		return gbe_throw(error, GBE_ERROR_INVALID_CONFIG, "%s", only->error->message);
	if (gbe_configuration_load(app, NULL))
		return true;
	(void)!gbe_booted_from_cmdline(app, &booted, NULL);
	(void)gbe_configuration_choose_from(app, booted.id, files, ret_complaint);
	gbe_deployment_clear(&booted);
	return true;
}

void
gbe_configuration_use_right(GbeApp *app, GPtrArray *faults)
{
	g_autoptr(GPtrArray) files = gbe_configuration_files(app);
	g_autoptr(GPtrArray) contradictions = NULL;
	GbeConfig *config = gbe_config_new();

	for (guint i = 0; i < files->len; i++) {
		const GbeConfFile *file = files->pdata[i];

		if (file->error != NULL)
			g_ptr_array_add(faults, g_strdup(file->error->message));
		else
			gbe_config_merge_right(config, file->path, file->text, file->size, faults);
	}
	detect(app, config);
	if (config->ambiguous != NULL)
		g_ptr_array_add(faults, g_strdup(config->ambiguous));
	contradictions = gbe_config_faults(config);
	g_ptr_array_extend_and_steal(faults, g_steal_pointer(&contradictions));
	use_config(app, config);
}

bool
gbe_configuration_of_tree(GbeApp *app, int tree_fd, GbeConfig **ret_config, GError **error)
{
	g_autoptr(GPtrArray) files = files_new();
	GbeApp tree = *app;

	tree.root_fd = tree_fd;
	add_base(&tree, "/usr/lib/greenboot-etcd", files);
	add_base(app, "/etc/greenboot-etcd", files);
	/* /run is empty after a reboot. */
	add_dropins(app, &tree, 2, files);
	return merge_files(&tree, files, ret_config, NULL, NULL, error);
}

/* Turns the record back into files. NULL: this deployment has no record. */
static GPtrArray *
read_remembered(GbeApp *app, const char *deployment)
{
	g_autoptr(JsonObject) object = NULL;
	g_autoptr(GPtrArray) files = files_new();
	JsonArray *array;

	if (deployment == NULL || app->config_file != NULL ||
	    !gbe_state_peek(app, GBE_CONFIGURATION_RECORD, &object, NULL) || object == NULL)
		return NULL;
	array = gbe_json_array(object, "files");
	if (array == NULL ||
	    g_strcmp0(gbe_json_string(object, "deployment", NULL), deployment) != 0)
		return NULL;
	for (guint i = 0; i < json_array_get_length(array); i++) {
		JsonNode *node = json_array_get_element(array, i);
		JsonObject *element =
		    JSON_NODE_HOLDS_OBJECT(node) ? json_node_get_object(node) : NULL;
		const char *path, *text;
		GbeConfFile *file;

		path = element != NULL ? gbe_json_string(element, "path", NULL) : NULL;
		text = element != NULL ? gbe_json_string(element, "text", NULL) : NULL;
		if (path == NULL || text == NULL)
			return NULL;
		file = g_new0(GbeConfFile, 1);
		file->path = g_strdup(path);
		file->text = g_strdup(text);
		file->size = strlen(text);
		g_ptr_array_add(files, file);
	}
	return g_steal_pointer(&files);
}

/* Leaves out the faulty keys one after the other, and a file that cannot be parsed as a whole. If keys contradict each
 * other, the last file is left out. Ends with the defaults at the latest. */
static GbeConfig *
merge_without_faults(GbeApp *app, GPtrArray *files)
{
	for (;;) {
		g_autofree char *bad_key = NULL;
		GbeConfig *config = NULL;
		GbeConfFile *file = NULL;
		gssize culprit = -1;

		if (merge_files(app, files, &config, &culprit, &bad_key, NULL))
			return config;
		if (files->len == 0)
			return gbe_config_new();
		if (culprit < 0)
			culprit = (gssize)files->len - 1;
		file = files->pdata[culprit];
		if (bad_key != NULL && file->skip == NULL)
			file->skip = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
		if (bad_key == NULL || !g_hash_table_add(file->skip, g_steal_pointer(&bad_key)))
			g_ptr_array_remove_index(files, (guint)culprit);
	}
}

bool
gbe_configuration_choose_from(GbeApp *app, const char *deployment, GPtrArray *files,
			      char **ret_complaint)
{
	g_autoptr(GPtrArray) remembered = NULL;
	g_autoptr(GString) warnings = g_string_new(NULL);
	g_autoptr(GError) error = NULL;
	GbeConfig *config = NULL;

	if (merge_files(app, files, &config, NULL, NULL, &error)) {
		use_config(app, config);
		for (guint i = 0; config->warnings != NULL && i < config->warnings->len; i++)
			g_string_append_printf(warnings, "%s%s", i > 0 ? "; " : "",
					       (const char *)config->warnings->pdata[i]);
		*ret_complaint = warnings->len > 0 ? g_strdup(warnings->str) : NULL;
		return true;
	}
	remembered = read_remembered(app, deployment);
	if (remembered != NULL && merge_files(app, remembered, &config, NULL, NULL, NULL)) {
		use_config(app, config);
		*ret_complaint = g_strdup_printf(
		    "%s; the last configuration that worked under this deployment is used",
		    error->message);
		return false;
	}
	use_config(app, merge_without_faults(app, files));
	*ret_complaint =
	    g_strdup_printf("%s; the rest of the configuration is used", error->message);
	return false;
}

void
gbe_configuration_choose(GbeApp *app, const char *deployment, char **ret_complaint)
{
	g_autoptr(GPtrArray) files = gbe_configuration_files(app);

	(void)gbe_configuration_choose_from(app, deployment, files, ret_complaint);
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "app/run/member.h"

#include <string.h>

#include "app/device/context.h"
#include "app/state/configuration.h"
#include "core/config/lists.h"
#include "core/unit-name.h"
#include "fs/open.h"
#include "sys/systemd/events.h"
#include "sys/systemd/transient.h"

#define FILE_MAX (64 * 1024)
#define QUOTA "ETCD_QUOTA_BACKEND_BYTES"

/* As in prerun, a typo in a file must not leave a device without etcd. */
static bool
configure(GbeMember *member, GError **error)
{
	GbeApp *app = member->app;
	GbeDeployment booted = {0};
	g_autofree char *complaint = NULL;

	if (app->config_file != NULL)
		return gbe_configuration_load(app, false, error) ||
		       gbe_rethrow_if(error, GBE_ERROR_NOT_FOUND, GBE_ERROR_USAGE);
	(void)!gbe_booted_from_cmdline(app, &booted, NULL);
	(void)!gbe_app_open_state(app, false, NULL);
	gbe_configuration_choose(app, booted.id, &complaint);
	gbe_deployment_clear(&booted);
	if (complaint != NULL) {
		GbeEventFields fields = {.reason = complaint};

		gbe_event_config_bad(&fields);
		g_ptr_array_add(member->notes, g_steal_pointer(&complaint));
	}
	return true;
}

/* Newly allocated; NULL: there is none. */
static char *
program_at(const char *directory, const char *name)
{
	g_autofree char *path = g_build_filename(directory, name, NULL);

	if (!g_file_test(path, G_FILE_TEST_IS_EXECUTABLE) || g_file_test(path, G_FILE_TEST_IS_DIR))
		return NULL;
	return g_steal_pointer(&path);
}

static char *
beside_the_caller(const char *name)
{
	g_autofree char *link = g_strdup_printf("/proc/%d/exe", (int)getppid());
	g_autofree char *caller = g_file_read_link(link, NULL);
	g_autofree char *directory = caller != NULL ? g_path_get_dirname(caller) : NULL;

	return directory != NULL ? program_at(directory, name) : NULL;
}

/* The configured etcd is the one whose version prerun uses. */
static char *
configured(const GbeConfig *config, const char *name)
{
	g_autofree char *base = NULL;

	if (g_hash_table_lookup(config->origins, "etcd.binary") == NULL)
		return NULL;
	base = g_path_get_basename(config->etcd.binary);
	return g_str_equal(base, name) ? program_at("/", config->etcd.binary) : NULL;
}

static bool
find_program(const GbeConfig *config, const char *name, char **ret_path, GError **error)
{
	g_autofree char *path = NULL;

	if (strchr(name, '/') != NULL) {
		g_autofree char *given = g_canonicalize_filename(name, NULL);

		path = program_at("/", given);
	} else {
		path = configured(config, name);
		if (path == NULL)
			path = beside_the_caller(name);
		if (path == NULL) {
			g_autofree char *found = g_find_program_in_path(name);

			path = found != NULL ? g_canonicalize_filename(found, NULL) : NULL;
		}
	}
	if (path == NULL)
		return gbe_throw(
		    error, GBE_ERROR_NOT_FOUND,
		    "there is no program %s%s: install it, or name it with its path", name,
		    strchr(name, '/') != NULL ? ""
					      : " beside the one that calls, and none on the path");
	*ret_path = g_steal_pointer(&path);
	return true;
}

static bool
make_argv(GbeMember *member, GError **error)
{
	const GbeConfig *config = member->app->config;
	char **command = member->options->command;
	g_autoptr(GPtrArray) argv = g_ptr_array_new_with_free_func(g_free);
	g_auto(GStrv) more = NULL;
	char *program = NULL;

	if (!gbe_run_args(config->run.args, &more, error) ||
	    !find_program(config, command[0], &program, error))
		return false;
	g_ptr_array_add(argv, program);
	for (guint i = 1; command[i] != NULL; i++)
		g_ptr_array_add(argv, g_strdup(command[i]));
	for (guint i = 0; more[i] != NULL; i++)
		g_ptr_array_add(argv, g_strdup(more[i]));
	g_ptr_array_add(argv, NULL);
	member->argv = (char **)g_ptr_array_free(g_steal_pointer(&argv), false);
	return true;
}

/* Adds the variables in the files of env-file=. */
static bool
read_files(const GbeApp *app, char ***environment, GError **error)
{
	g_auto(GStrv) files = NULL;

	if (!gbe_run_files(app->config->run.env_file, &files, error))
		return false;
	for (guint i = 0; files[i] != NULL; i++) {
		bool optional = files[i][0] == '-';
		g_autoptr(GError) local = NULL;
		g_autofree char *text = NULL;
		gsize size;

		if (gbe_read_in_root(app->root_fd, files[i] + (optional ? 1 : 0), FILE_MAX, &text,
				     &size, &local)) {
			*environment = gbe_run_environment(*environment, text);
		} else if (!optional || !g_error_matches(local, GBE_ERROR, GBE_ERROR_NOT_FOUND)) {
			g_propagate_error(error, g_steal_pointer(&local));
			return gbe_prefix(error, "[run] env-file");
		}
	}
	return true;
}

/* A unit gets etcd's variables from the caller's environment. systemd reads the other variables from the files
 * when it starts etcd; the values that identify an etcd are noted in the unit, as they are now. */
static char **
for_a_unit(char **own, char **files)
{
	char **environment = g_new0(char *, 1);

	for (guint i = 0; own[i] != NULL; i++) {
		g_auto(GStrv) parts = g_strsplit(own[i], "=", 2);

		if (g_str_has_prefix(own[i], "ETCD_") && parts[1] != NULL)
			environment = g_environ_setenv(environment, parts[0], parts[1], true);
	}
	for (guint i = 0; files[i] != NULL; i++) {
		g_auto(GStrv) parts = g_strsplit(files[i], "=", 2);

		if (gbe_etcd_command_knows(parts[0]) && parts[1] != NULL)
			environment = g_environ_setenv(environment, parts[0], parts[1], true);
	}
	return environment;
}

static char **
for_our_place(char **own, char **files)
{
	char **environment = g_strdupv(own);

	for (guint i = 0; files[i] != NULL; i++) {
		g_auto(GStrv) parts = g_strsplit(files[i], "=", 2);

		environment = g_environ_setenv(environment, parts[0], parts[1], true);
	}
	return environment;
}

/* The quota is a variable and not an argument: etcd ends when an argument and a variable set the same option, and
 * here the value of a file goes before ours. */
static bool
make_environment(GbeMember *member, GError **error)
{
	const GbeConfig *config = member->app->config;
	g_autofree char *here = g_get_current_dir();
	g_auto(GStrv) own = g_get_environ();
	g_auto(GStrv) files = g_new0(char *, 1);

	if (!read_files(member->app, &files, error))
		return false;
	member->environment =
	    member->parent != NULL ? for_a_unit(own, files) : for_our_place(own, files);
	gbe_etcd_command_parse(member->argv + 1, member->environment,
			       member->parent != NULL ? "/" : here, &member->command);
	if (!member->command.has_quota && member->command.config_file == NULL) {
		g_autofree char *quota =
		    g_strdup_printf("%" G_GUINT64_FORMAT, config->run.quota_backend_bytes);

		member->environment = g_environ_setenv(member->environment, QUOTA, quota, true);
	}
	return true;
}

bool
gbe_member_prepare(GbeApp *app, const GbeMemberOptions *options, GbeMember **ret_member,
		   GError **error)
{
	g_autoptr(GbeMember) member = g_new0(GbeMember, 1);
	g_autofree char *own = NULL;

	member->app = app;
	member->options = options;
	member->notes = g_ptr_array_new_with_free_func(g_free);
	if (app->below_root)
		return gbe_throw(error, GBE_ERROR_REFUSED,
				 "etcd is not started below --root: start it there yourself");
	if (!configure(member, error))
		return false;
	own = gbe_own_unit();
	if (options->parent != NULL)
		member->parent = g_strdup(options->parent);
	else if (gbe_unit_is_parent(own))
		member->parent = g_steal_pointer(&own);
	if (!make_argv(member, error) || !make_environment(member, error))
		return false;
	*ret_member = g_steal_pointer(&member);
	return true;
}

void
gbe_member_free(GbeMember *member)
{
	if (member == NULL)
		return;
	gbe_etcd_command_clear(&member->command);
	g_free(member->parent);
	g_strfreev(member->argv);
	g_strfreev(member->environment);
	g_free(member->replaced);
	g_ptr_array_unref(member->notes);
	g_clear_pointer(&member->last, g_ptr_array_unref);
	g_free(member);
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* etcdctl: starts the real etcdctl for the configured etcd. */
#include "cli/print.h"
#include "cli/verb.h"
#include "core/json/parse.h"
#include "core/units/etcd-command.h"

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#define PROGRAM "etcdctl"

static void
print_environment(const GbeCli *cli, const GbeEtcdctlVariable *variables)
{
	g_autoptr(JsonObject) object = gbe_json_answer();
	JsonObject *environment = json_object_new();

	for (guint i = 0; i < GBE_N_ETCDCTL_VARIABLES; i++) {
		g_autofree char *quoted = NULL;

		gbe_json_set_string(environment, variables[i].name, variables[i].value);
		if (cli->json)
			continue;
		quoted = variables[i].value != NULL ? g_shell_quote(variables[i].value) : NULL;
		if (quoted != NULL)
			gbe_print("export %s=%s\n", variables[i].name, quoted);
		else
			gbe_print("unset %s\n", variables[i].name);
	}
	json_object_set_object_member(object, "environment", environment);
	if (cli->json)
		gbe_print_object(object);
}

/* The etcdctl that came with the configured etcd, else the one on the path. */
static char *
find_program(const GbeConfig *config)
{
	g_autofree char *directory = NULL;
	g_autofree char *beside = NULL;

	if (config->etcd.binary != NULL && g_path_is_absolute(config->etcd.binary)) {
		directory = g_path_get_dirname(config->etcd.binary);
		beside = g_build_filename(directory, PROGRAM, NULL);
		if (g_file_test(beside, G_FILE_TEST_IS_EXECUTABLE))
			return g_steal_pointer(&beside);
	}
	return g_find_program_in_path(PROGRAM);
}

static bool
execute(const GbeConfig *config, char **arguments, const GbeEtcdctlVariable *variables,
	GError **error)
{
	g_autofree char *program = find_program(config);
	g_autoptr(GPtrArray) argv = g_ptr_array_new();
	g_auto(GStrv) environment = g_get_environ();

	if (program == NULL)
		return gbe_throw(error, GBE_ERROR_NOT_FOUND,
				 "etcdctl is missing next to %s and on the path; install it",
				 config->etcd.binary != NULL ? config->etcd.binary : "etcd");
	for (guint i = 0; i < GBE_N_ETCDCTL_VARIABLES; i++)
		environment =
		    variables[i].value != NULL
			? g_environ_setenv(environment, variables[i].name, variables[i].value, true)
			: g_environ_unsetenv(environment, variables[i].name);
	g_ptr_array_add(argv, (gpointer)PROGRAM);
	for (guint i = 0; arguments[i] != NULL; i++)
		g_ptr_array_add(argv, arguments[i]);
	g_ptr_array_add(argv, NULL);
	(void)fflush(NULL);
	(void)execve(program, (char **)argv->pdata, environment);
	return gbe_throw_errno(error, errno, "cannot start %s", program);
}

bool
gbe_verb_etcdctl(GbeCli *cli, char **arguments, GError **error)
{
	const GbeConfig *config = cli->app->config;
	GbeEtcdctlVariable variables[GBE_N_ETCDCTL_VARIABLES];

	if (g_strcmp0(arguments[0], "--print-env") == 0) {
		if (arguments[1] != NULL)
			return gbe_throw(error, GBE_ERROR_USAGE, "--print-env takes no argument");
		gbe_etcdctl_environment(config, NULL, variables);
		print_environment(cli, variables);
		return true;
	}
	/* etcdctl knows nothing of --root and would talk to this system's etcd. */
	if (cli->app->below_root)
		return gbe_throw(error, GBE_ERROR_REFUSED,
				 "etcdctl is not started below --root; --print-env prints what it "
				 "needs");
	gbe_etcdctl_environment(config, arguments, variables);
	return execute(config, arguments, variables, error);
}

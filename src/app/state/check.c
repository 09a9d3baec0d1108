/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The configuration as a person asks for it: every fault of every file, and what names something that is not there. */
#include "app/state/configuration.h"

#include <fcntl.h>
#include <string.h>

#include "base/format.h"
#include "core/config/systems.h"
#include "fs/open.h"
#include "sys/child.h"
#include "sys/enabled.h"

#define ANALYZE "/usr/bin/systemd-analyze"
#define ANALYZE_USEC (10 * G_USEC_PER_SEC)
#define ANALYZE_POLL_USEC 2000

static bool
is_from_file(const GbeConfig *config, const char *key)
{
	g_autofree char *name = g_strconcat("etcd.", key, NULL);
	const char *origin = g_hash_table_lookup(config->origins, name);

	return origin != NULL && !g_str_has_prefix(origin, "detected: ");
}

static void G_GNUC_PRINTF(4, 5)
    add_fault(const GbeConfig *config, const char *key, GPtrArray *faults, const char *format, ...)
{
	g_autofree char *what = GBE_VFORMAT(format);
	g_autoptr(GError) fault = NULL;

	(void)gbe_config_refuse(config, "etcd", key, what, &fault);
	g_ptr_array_add(faults, g_strdup(fault->message));
}

/* The addresses at which the unit tells its etcd to listen for clients, with commas between them; newly allocated.
 * NULL: not known. A file of etcd's own would precede options and variables. */
static char *
clients_of_unit(const GbeApp *app, const char *service)
{
	g_autoptr(GString) unit = g_string_new(NULL), variables = g_string_new(NULL);
	g_auto(GbeTold) told = {NULL, NULL};
	g_auto(GStrv) files = NULL;

	gbe_unit_append_text(app->root_fd, service, unit);
	files = gbe_unit_values(unit->str, "EnvironmentFile");
	for (guint i = 0; files[i] != NULL; i++)
		gbe_text_append(app->root_fd, files[i] + strspn(files[i], "-"), variables);
	gbe_told_read(unit->str, variables->str, "etcd", &told);
	if (told.arguments == NULL ||
	    gbe_told_value(&told, "config-file", 0, "ETCD_CONFIG_FILE") != NULL)
		return NULL;
	return g_strdup(gbe_told_value(&told, "listen-client-urls", 0, "ETCD_LISTEN_CLIENT_URLS"));
}

static gint
port_of(const char *address)
{
	g_autoptr(GUri) uri = g_uri_parse(address, G_URI_FLAGS_NONE, NULL);

	return uri != NULL ? g_uri_get_port(uri) : -1;
}

/* Compares ports only: a unit may listen at any name of this device. */
static void
check_endpoint(const GbeApp *app, GPtrArray *faults)
{
	const GbeConfig *config = app->config;
	const char *endpoint = config->etcd.endpoint, *service = config->etcd.service;
	g_autofree char *clients = NULL;
	g_auto(GStrv) addresses = NULL;
	gint port = endpoint != NULL ? port_of(endpoint) : -1;

	if (port < 0 || service == NULL)
		return;
	clients = clients_of_unit(app, service);
	addresses = g_strsplit(clients != NULL ? clients : "", ",", -1);
	for (guint i = 0; addresses[i] != NULL; i++) {
		gint at = port_of(g_strstrip(addresses[i]));

		if (at < 0 || at == port)
			return;
	}
	if (addresses[0] != NULL)
		add_fault(config, "endpoint", faults, "%s listens for clients at %s", service,
			  clients);
}

/* A path may come with etcd's first start, so its absence is a warning. The settings of a detected system are right. */
static void
check_names(const GbeApp *app, GPtrArray *faults)
{
	const GbeConfig *config = app->config;
	const struct {
		const char *key, *path, *kind;
	} paths[] = {{"data-dir", config->etcd.data_dir, "directory"},
		     {"cacert", config->etcd.cacert, "file"},
		     {"cert", config->etcd.cert, "file"},
		     {"key", config->etcd.key, "file"},
		     {"password-file", config->etcd.password_file, "file"}};
	const char *service = config->etcd.service;

	for (gsize i = 0; i < G_N_ELEMENTS(paths); i++)
		if (is_from_file(config, paths[i].key) && paths[i].path != NULL &&
		    gbe_is_in_root(app->root_fd, paths[i].path) == GBE_NO)
			add_fault(config, paths[i].key, config->warnings, "there is no %s %s",
				  paths[i].kind, paths[i].path);
	if (is_from_file(config, "service") && service != NULL &&
	    !gbe_unit_is_known(app->root_fd, service))
		add_fault(config, "service", faults, "there is no unit %s", service);
	if (is_from_file(config, "endpoint"))
		check_endpoint(app, faults);
}

static bool
check_calendar(const GbeApp *app, const char *group, const char *key, const char *schedule,
	       GError **error)
{
	const char *const argv[] = {"systemd-analyze", "calendar", "--", schedule, NULL};
	gint64 deadline = g_get_monotonic_time() + ANALYZE_USEC;
	g_auto(GbeChild) child = {0};
	g_autoptr(GError) local = NULL;
	gbe_autofd int fd = open(ANALYZE, O_RDONLY | O_CLOEXEC);
	bool running = true;

	if (fd < 0 || !gbe_child_start_as(NULL, fd, argv, app->root_fd, &child, NULL))
		return true;
	while (running && g_get_monotonic_time() < deadline) {
		g_usleep(ANALYZE_POLL_USEC);
		if (!gbe_child_poll(&child, &running, &local))
			return gbe_config_refuse(app->config, group, key, local->message, error);
	}
	return true;
}

static void
check_schedules(const GbeApp *app, GPtrArray *faults)
{
	const struct {
		const char *group, *key, *schedule;
	} schedules[] = {{"backup", "schedule", app->config->backup.schedule},
			 {"store", "schedule", app->config->store.schedule},
			 {"store", "prove", app->config->store.prove}};

	for (gsize i = 0; !app->below_root && i < G_N_ELEMENTS(schedules); i++) {
		g_autofree char *origin =
		    g_strconcat(schedules[i].group, ".", schedules[i].key, NULL);
		g_autoptr(GError) fault = NULL;

		/* A default is right. */
		if (schedules[i].schedule != NULL &&
		    g_hash_table_contains(app->config->origins, origin) &&
		    !check_calendar(app, schedules[i].group, schedules[i].key,
				    schedules[i].schedule, &fault))
			g_ptr_array_add(faults, g_strdup(fault->message));
	}
}

GPtrArray *
gbe_configuration_check(GbeApp *app, bool names)
{
	GPtrArray *faults = g_ptr_array_new_with_free_func(g_free);

	gbe_configuration_use_right(app, faults);
	check_schedules(app, faults);
	if (names)
		check_names(app, faults);
	return faults;
}

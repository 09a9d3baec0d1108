/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Diagnosis: the system around this program. */
#include "app/monitor/diagnosis.h"

#include "app/backup/observe.h"
#include "core/json/parse.h"
#include "core/units/member-unit.h"
#include "fs/open.h"
#include "fs/probe.h"
#include "sys/systemd/journal.h"
#include "sys/systemd/units.h"

#include <fcntl.h>
#include <string.h>
#include <sys/utsname.h>

#define OS_RELEASE "/usr/lib/os-release"

static const char *const identifiers[] = {
    "greenboot-etcd",	      "greenboot-etcd-cli",	  "greenboot-etcd-finalize",
    "greenboot-etcd-green",   "greenboot-etcd-generator", "greenboot-etcd-health",
    "greenboot-etcd-monitor", "greenboot-etcd-preflight", "greenboot-etcd-prerun",
    "greenboot-etcd-red",     "greenboot-etcd-scrub",	  "greenboot-etcd-defrag",
    "greenboot-etcd-backup",  "greenboot-etcd-used",	  NULL,
};

static const char *const own_units[] = {
    "greenboot-etcd-prerun.service",
    "greenboot-etcd-finalize.service",
    "greenboot-etcd-green.service",
    "greenboot-etcd-preflight.service",
    "greenboot-etcd-preflight.path",
    "greenboot-etcd-monitor.service",
    "greenboot-etcd-monitor.timer",
    "greenboot-etcd-scrub.service",
    "greenboot-etcd-scrub.timer",
    "greenboot-etcd-start.target",
    "greenboot-etcd-used.service",
    "greenboot-etcd-used.timer",
    "greenboot-etcd-defrag.service",
    "greenboot-etcd-defrag.timer",
    "greenboot-etcd-backup.service",
    "greenboot-etcd-backup.timer",
    "greenboot-etcd-requests.service",
    "greenboot-etcd-requests.path",
    "greenboot-etcd-requests.timer",
    "greenboot-etcd-push.service",
    "greenboot-etcd-push.timer",
    "greenboot-etcd-send.service",
    "greenboot-etcd-send.timer",
    "greenboot-etcd-prove.service",
    "greenboot-etcd-prove.timer",
    "greenboot-etcd-renew.service",
    "greenboot-etcd-renew.timer",
    "greenboot-etcd-rejoin.service",
    "greenboot-etcd-rejoin.timer",
    "greenboot-etcd-lock.service",
    "greenboot-etcd-lock.timer",
    "greenboot-etcd-lock.path",
    GBE_MEMBER_UNIT,
    "greenboot-healthcheck.service",
};

static void
list_units(const GbeApp *app, const char *units[G_N_ELEMENTS(own_units) + 2])
{
	const char *service = app->config->etcd.service;
	gsize n = 0;

	for (; n < G_N_ELEMENTS(own_units); n++)
		units[n] = own_units[n];
	if (service != NULL)
		units[n++] = service;
	units[n] = NULL;
}

static void
add_units(GbeDiagnosis *diagnosis, const GbeApp *app, const char *const *units)
{
	JsonObject *object = json_object_new();
	JsonNode *node = json_node_new(JSON_NODE_OBJECT);
	g_autoptr(GError) error = NULL;

	for (; *units != NULL && !app->below_root && error == NULL; units++) {
		GbeUnitState state = {NULL};
		JsonObject *unit;

		if (!gbe_unit_query(*units, &state, &error))
			break;
		unit = json_object_new();
		gbe_json_set_string(unit, "load", state.load_state);
		gbe_json_set_string(unit, "active", state.active_state);
		gbe_json_set_string(unit, "sub", state.sub_state);
		gbe_json_set_string(unit, "enabled", state.unit_file_state);
		gbe_json_set_string(unit, "result", state.result);
		gbe_json_set_string(unit, "type", state.type);
		gbe_json_set_string(unit, "restart", state.restart);
		json_object_set_object_member(object, *units, unit);
		gbe_unit_state_clear(&state);
	}
	json_node_take_object(node, object);
	gbe_diagnosis_add(diagnosis, "units", node,
			  app->below_root ? "not below --root"
			  : error != NULL ? error->message
					  : NULL);
}

static void
add_journal(GbeDiagnosis *diagnosis, const GbeApp *app, const char *const *units)
{
	JsonArray *lines = json_array_new();
	JsonNode *node = json_node_new(JSON_NODE_ARRAY);
	g_autoptr(GError) error = NULL;
	bool read = gbe_journal_read(app->below_root ? app->root_fd : -1, identifiers, units,
				     GBE_DIAGNOSIS_JOURNAL_MAX, lines, &error);

	json_node_take_array(node, lines);
	gbe_diagnosis_add(diagnosis, "journal", node, read ? NULL : error->message);
}

static JsonObject *
describe_filesystem(int fd)
{
	JsonObject *object = json_object_new();
	guint64 free_bytes, total, inodes;
	g_autofree char *type = gbe_filesystem_type(fd);
	g_autofree char *id = NULL;

	gbe_json_set_string(object, "type", type);
	if (gbe_filesystem_id(fd, &id, NULL))
		gbe_json_set_string(object, "id", id);
	if (gbe_filesystem_space(fd, &free_bytes, &total, &inodes, NULL)) {
		json_object_set_int_member(object, "free", (gint64)free_bytes);
		json_object_set_int_member(object, "total", (gint64)total);
		json_object_set_int_member(object, "free_inodes", (gint64)inodes);
	}
	json_object_set_boolean_member(object, "read_only", gbe_filesystem_read_only(fd));
	json_object_set_boolean_member(object, "subvolume", gbe_is_subvolume(fd));
	return object;
}

static void
add_filesystem(JsonObject *to, const GbeApp *app, const char *path)
{
	gbe_autofd int fd = -1;
	g_autoptr(GError) error = NULL;

	if (gbe_open_in_root(app->root_fd, path, O_RDONLY | O_DIRECTORY, &fd, &error))
		json_object_set_object_member(to, path, describe_filesystem(fd));
	else
		json_object_set_string_member(to, path, error->message);
}

static void
add_filesystems(GbeDiagnosis *diagnosis, GbeApp *app)
{
	JsonObject *object = json_object_new();
	JsonNode *node = json_node_new(JSON_NODE_OBJECT);
	GbeObserveOptions options = {0};
	g_autoptr(GbeObserved) observed = NULL;

	add_filesystem(object, app, "/var");
	add_filesystem(object, app, "/boot");
	add_filesystem(object, app, GBE_STATE_DIR);
	add_filesystem(object, app, app->config->etcd.data_dir);
	if (gbe_observe(app, &options, &observed, NULL) && observed->store->path != NULL)
		add_filesystem(object, app, observed->store->path);
	json_node_take_object(node, object);
	gbe_diagnosis_add(diagnosis, "filesystems", node, NULL);
}

/* NAME, VERSION and the like, never the whole file: images add their own fields. */
static void
add_os_release(JsonObject *versions, const GbeApp *app)
{
	static const char *const keys[] = {"PRETTY_NAME",   "ID",	"VERSION_ID",
					   "VARIANT_ID",    "IMAGE_ID", "IMAGE_VERSION",
					   "OSTREE_VERSION"};
	g_autofree char *text = NULL;
	g_auto(GStrv) lines = NULL;
	gsize size;

	if (!gbe_read_in_root(app->root_fd, OS_RELEASE, 65536, &text, &size, NULL))
		return;
	lines = g_strsplit(text, "\n", -1);
	for (guint i = 0; lines[i] != NULL; i++)
		for (guint k = 0; k < G_N_ELEMENTS(keys); k++) {
			gsize n = strlen(keys[k]);

			if (strncmp(lines[i], keys[k], n) == 0 && lines[i][n] == '=')
				gbe_json_set_string(versions, keys[k], lines[i] + n + 1);
		}
}

static void
add_versions(GbeDiagnosis *diagnosis, const GbeApp *app, const GbeHealthLook *look)
{
	JsonObject *versions = json_object_new();
	JsonNode *node = json_node_new(JSON_NODE_OBJECT);
	struct utsname kernel;

	gbe_json_set_string(versions, "greenboot-etcd", GBE_VERSION);
	gbe_json_set_string(versions, "etcd", look != NULL ? look->facts->version : NULL);
	if (uname(&kernel) == 0) {
		gbe_json_set_string(versions, "kernel", kernel.release);
		gbe_json_set_string(versions, "machine", kernel.machine);
	}
	add_os_release(versions, app);
	/* Only these words of the kernel's command line. */
	gbe_json_set_string(versions, "greenboot-etcd.restore", app->cmdline.restore);
	json_object_set_boolean_member(versions, "greenboot-etcd.skip", app->cmdline.skip);
	json_node_take_object(node, versions);
	gbe_diagnosis_add(diagnosis, "versions", node, NULL);
}

void
gbe_diagnosis_collect_system(GbeDiagnosis *diagnosis, GbeApp *app, const GbeHealthLook *look)
{
	const char *units[G_N_ELEMENTS(own_units) + 2];

	list_units(app, units);
	add_filesystems(diagnosis, app);
	add_units(diagnosis, app, units);
	add_journal(diagnosis, app, units);
	add_versions(diagnosis, app, look);
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "app/boot/boot.h"
#include "app/monitor/monitor.h"
#include "app/state/configuration.h"
#include "cli/print.h"
#include "cli/verb.h"
#include "core/json/parse.h"
#include "core/redact.h"
#include "core/space.h"

#include <stdio.h>
#include <unistd.h>

#define LOOK_MS 5000

static char *arg_output;

const GbeOption gbe_options_diagnose[] = {
    {"output", 'o', &arg_output,
     "The archive to make (default: in /var/tmp, named by the time); -: standard output", "FILE",
     GBE_A_FILE},
    {NULL},
};

/* The output's absolute path, below the root where there is one. NULL: standard output. */
static bool
choose_path(const GbeCli *cli, char **arguments, char **ret_path, GError **error)
{
	const char *path = arguments[0] != NULL ? arguments[0] : arg_output;
	g_autoptr(GDateTime) now = g_date_time_new_now_utc();

	if (arguments[0] != NULL && arg_output != NULL)
		return gbe_throw(error, GBE_ERROR_USAGE,
				 "two files: FILE and --output are the same thing");
	if (g_strcmp0(path, "-") == 0) {
		if (cli->json || isatty(STDOUT_FILENO))
			return gbe_throw(
			    error, GBE_ERROR_USAGE,
			    "-: an archive cannot be written to a terminal or into JSON");
		*ret_path = NULL;
		return true;
	}
	if (path != NULL && cli->app->below_root && !g_path_is_absolute(path))
		return gbe_throw(error, GBE_ERROR_USAGE,
				 "%s: with --root, FILE is an absolute path below it", path);
	*ret_path = path != NULL
			? g_canonicalize_filename(path, NULL)
			: g_date_time_format(
			      now, "/var/tmp/greenboot-etcd-diagnosis-%Y%m%dT%H%M%SZ.tar.gz");
	return true;
}

static void
add(GbeDiagnosis *diagnosis, const char *name, JsonObject *object, const char *why)
{
	JsonNode *node = json_node_new(JSON_NODE_OBJECT);

	json_node_take_object(node, object);
	gbe_diagnosis_add(diagnosis, name, node, why);
}

/* Private settings: etcd's arguments, the source of its credentials, and the names of the member and its hosts. */
static bool
is_private(const char *group, const char *key)
{
	static const char *const of_etcd[] = {"name", "peer-urls", NULL};
	static const char *const of_run[] = {"args", "credentials", NULL};

	return (g_str_equal(group, "etcd") && g_strv_contains(of_etcd, key)) ||
	       (g_str_equal(group, "run") && g_strv_contains(of_run, key));
}

static void
leave_out_settings(JsonObject *config)
{
	JsonArray *settings = gbe_json_array(config, "settings");

	for (guint i = 0; settings != NULL && i < json_array_get_length(settings); i++) {
		JsonObject *setting = json_array_get_object_element(settings, i);
		const char *key = gbe_json_string(setting, "key", "");
		const char *value = gbe_json_string(setting, "value", "");

		if (*value != '\0' && is_private(gbe_json_string(setting, "group", ""), key))
			gbe_json_set_string(setting, "value", GBE_REDACTED);
	}
}

static void
collect(GbeCli *cli, GbeDiagnosis *diagnosis)
{
	GbeApp *app = cli->app;
	g_autofree char *complaint = NULL;
	g_autoptr(GbeHealthLook) look = NULL;
	g_autoptr(GPtrArray) findings = NULL;
	JsonObject *config;

	/* A wrong configuration is a reason to ask for help, so it is no error here. */
	gbe_configuration_choose(app, NULL, &complaint);
	config = gbe_cli_config_json(app->config);
	leave_out_settings(config);
	add(diagnosis, "config", config, complaint);
	look = gbe_health_look_new(app);
	gbe_health_look_now(look, LOOK_MS);
	add(diagnosis, "health", gbe_cli_health_json(look), NULL);
	gbe_diagnosis_collect(diagnosis, app, look);
	/* Last, because it loads the configuration again, as strictly as possible. */
	findings = gbe_preflight_check(app, look);
	add(diagnosis, "preflight", gbe_cli_preflight_json(findings), NULL);
}

typedef struct {
	const char *path;
	guint64 size; /* bytes */
	const GPtrArray *parts;
} Answer;

static const GbeField part_fields[] = {
    GBE_FIELD_SET(GbeDiagnosisPart, name, "name", TEXT),
    GBE_FIELD(GbeDiagnosisPart, size, "size", NUMBER),
    GBE_FIELD(GbeDiagnosisPart, why, "why", TEXT),
    {0},
};
static const GbeFieldItems part_items = {part_fields, sizeof(GbeDiagnosisPart)};

const GbeField gbe_diagnose_fields[] = {
    GBE_FIELD_SET(Answer, path, "path", TEXT),
    GBE_FIELD(Answer, size, "size", NUMBER),
    GBE_FIELD_OF(Answer, parts, "parts", LIST, &part_items, 0),
    {0},
};

static void
print_text(const GbeCli *cli, const Answer *answer)
{
	g_autofree char *text = gbe_size_to_text(answer->size);

	gbe_print("%s\n", answer->path);
	if (cli->quiet)
		return;
	gbe_print("%s; no keys and values of etcd, no secrets that this program knows of. Read it "
		  "before you give it away.\n",
		  text);
	for (guint i = 0; i < answer->parts->len; i++) {
		const GbeDiagnosisPart *part = answer->parts->pdata[i];

		if (part->why != NULL)
			gbe_print("  %s: %s\n", part->name, part->why);
	}
}

bool
gbe_verb_diagnose(GbeCli *cli, char **arguments, GError **error)
{
	g_autoptr(GbeDiagnosis) diagnosis = gbe_diagnosis_new();
	g_autoptr(GBytes) archive = NULL;
	g_autofree char *path = NULL;
	Answer answer;

	if (!choose_path(cli, arguments, &path, error))
		return false;
	if (geteuid() != 0)
		return gbe_throw(error, GBE_ERROR_FAILED,
				 "the state and the data are root's (needs root: sudo)");
	collect(cli, diagnosis);
	if (!gbe_diagnosis_pack(diagnosis, &archive, error))
		return false;
	if (path == NULL) {
		/* gbe_print_done() flushes, and finds a short write. */
		(void)!fwrite(g_bytes_get_data(archive, NULL), 1, g_bytes_get_size(archive),
			      stdout);
		return true;
	}
	if (!gbe_diagnosis_write(cli->app, archive, path, error))
		return false;
	answer = (Answer){path, g_bytes_get_size(archive), diagnosis->parts};
	if (cli->json)
		gbe_print_answer(gbe_diagnose_fields, &answer);
	else
		print_text(cli, &answer);
	return true;
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "app/report/status.h"
#include "cli/observe.h"
#include "cli/print.h"
#include "cli/verb.h"
#include "core/json/parse.h"
#include "core/space.h"

#include <string.h>
#include <unistd.h>

static gboolean arg_exclusive, arg_names, arg_full;
static char *arg_deployment, *arg_grade;

const GOptionEntry gbe_options_list[] = {
    {"exclusive", 0, 0, G_OPTION_ARG_NONE, &arg_exclusive,
     "Count the bytes that removing each would free", NULL},
    {"deployment", 0, 0, G_OPTION_ARG_FILENAME, &arg_deployment, "Only those of deployment ID",
     "ID"},
    {"grade", 0, 0, G_OPTION_ARG_FILENAME, &arg_grade,
     "Only those graded good, unproven, bad or unreadable", "GRADE"},
    {"names", 0, 0, G_OPTION_ARG_NONE, &arg_names, "Names alone, one on each line", NULL},
    {"full", 0, 0, G_OPTION_ARG_NONE, &arg_full, "Whole names and one line each, on a terminal too",
     NULL},
    {NULL},
};

static bool
wanted(JsonObject *backup)
{
	if (arg_deployment != NULL &&
	    g_strcmp0(gbe_json_string(backup, "deployment", NULL), arg_deployment) != 0)
		return false;
	return arg_grade == NULL ||
	       g_strcmp0(gbe_json_string(backup, "grade", NULL), arg_grade) == 0;
}

static JsonArray *
filter(JsonArray *all)
{
	JsonArray *some = json_array_new();

	for (guint i = 0; i < json_array_get_length(all); i++) {
		JsonObject *backup = json_array_get_object_element(all, i);

		if (wanted(backup))
			json_array_add_object_element(some, json_object_ref(backup));
	}
	return some;
}

static char *
size_text(JsonObject *backup, const char *key)
{
	gint64 size = gbe_json_known(backup, key);

	return size >= 0 ? gbe_size_to_text((guint64)size) : NULL;
}

/* Of the version, a backup knows X.Y, and a patch level of 0 is made up. */
static char *
minor_version(const char *text)
{
	return text != NULL && g_str_has_suffix(text, ".0")
		   ? g_strndup(text, strlen(text) - strlen(".0"))
		   : g_strdup(text);
}

static char *
marks(JsonObject *backup)
{
	static const char *const keys[] = {"pinned", "set_aside", "consumed"};
	static const char *const words[] = {"pinned", "set aside", "consumed"};
	GString *text = g_string_new(NULL);

	for (guint i = 0; i < G_N_ELEMENTS(keys); i++)
		if (gbe_json_bool(backup, keys[i], false))
			g_string_append_printf(text, "%s%s", text->len > 0 ? ", " : "", words[i]);
	if (text->len == 0)
		g_string_append_c(text, '-');
	return g_string_free(text, false);
}

/* @fits: on a terminal the name tells deployments apart. */
static void
print_row(GbeTable *table, JsonObject *backup, bool fits)
{
	const char *id = gbe_json_string(backup, "deployment", NULL);
	const char *present = gbe_json_string(backup, "present", NULL);
	gint64 revision = gbe_json_known(backup, "revision");
	g_autofree char *short_id = id != NULL ? gbe_deployment_id_short(id) : NULL;
	g_autofree char *deployment =
	    short_id == NULL || fits
		? g_strdup(present)
		: g_strdup_printf("%s (%s)", short_id, present != NULL ? present : "unknown");
	g_autofree char *when = gbe_text_time(gbe_json_known(backup, "created"));
	g_autofree char *revision_text =
	    revision >= 0 ? g_strdup_printf("%" G_GINT64_FORMAT, revision) : NULL;
	g_autofree char *size = size_text(backup, "size");
	g_autofree char *exclusive = size_text(backup, "exclusive");
	g_autofree char *marked = marks(backup);
	g_autofree char *version = minor_version(gbe_json_string(backup, "etcd_version", NULL));
	const char *with[] = {gbe_json_string(backup, "name", "?"),
			      deployment,
			      gbe_json_string(backup, "grade", NULL),
			      when,
			      version,
			      revision_text,
			      size,
			      arg_exclusive ? exclusive : marked,
			      arg_exclusive ? marked : gbe_json_string(backup, "description", NULL),
			      gbe_json_string(backup, "description", NULL)};

	gbe_table_add(table, with);
	if (g_str_equal(gbe_json_string(backup, "grade", ""), "bad") ||
	    g_str_equal(gbe_json_string(backup, "grade", ""), "unreadable"))
		gbe_table_paint(table, GBE_RED);
}

static void
print_text(JsonArray *list, bool fits)
{
	static const char *const titles[] = {"NAME",	    "DEPLOYMENT", "GRADE", "WHEN",
					     "ETCD",	    "REVISION",	  "SIZE",  "MARKS",
					     "DESCRIPTION", NULL};
	static const char *const titles_exclusive[] = {"NAME",	"DEPLOYMENT",  "GRADE", "WHEN",
						       "ETCD",	"REVISION",    "SIZE",	"EXCLUSIVE",
						       "MARKS", "DESCRIPTION", NULL};
	g_autoptr(GbeTable) table = gbe_table_new(arg_exclusive ? titles_exclusive : titles);

	for (guint i = 0; i < json_array_get_length(list); i++)
		print_row(table, json_array_get_object_element(list, i), fits);
	gbe_table_print(table);
}

static bool
check_arguments(GError **error)
{
	static const char *const grades[] = {"good", "unproven", "bad", "unreadable", NULL};

	if (arg_grade != NULL && !g_strv_contains(grades, arg_grade))
		return gbe_throw(error, GBE_ERROR_USAGE,
				 "--grade=%s: a grade is good, unproven, bad or unreadable",
				 arg_grade);
	if (arg_deployment != NULL && !gbe_deployment_id_parse(arg_deployment, NULL, NULL, NULL))
		return gbe_throw(error, GBE_ERROR_USAGE,
				 "--deployment=%s: a deployment id is "
				 "<stateroot>-<checksum of 64 digits>.<serial>",
				 arg_deployment);
	return true;
}

bool
gbe_verb_list(GbeCli *cli, char **arguments, GError **error)
{
	g_autoptr(GbeObserved) observed = NULL;
	g_autoptr(JsonArray) all = NULL;
	g_autoptr(JsonArray) list = NULL;
	bool fits = !arg_full && isatty(STDOUT_FILENO) == 1;

	if (!check_arguments(error) || !gbe_cli_observe(cli, &observed, error))
		return false;
	if (observed != NULL && observed->store_why != NULL)
		return gbe_throw(error, GBE_ERROR_CANNOT_TELL, "%s", observed->store_why);
	if (observed != NULL)
		all = gbe_status_list(observed, arg_exclusive);
	else if (!gbe_cli_read_list(cli, &all, error))
		return false;
	list = filter(all);
	if (cli->json) {
		gbe_print_array(list);
	} else if (arg_names) {
		for (guint i = 0; i < json_array_get_length(list); i++)
			gbe_print("%s\n", gbe_json_string(json_array_get_object_element(list, i),
							  "name", "?"));
	} else if (json_array_get_length(list) > 0) {
		if (fits)
			gbe_cli_fit(cli, all);
		print_text(list, fits);
	} else if (!cli->quiet) {
		gbe_print("no backups%s\n", json_array_get_length(all) > 0 ? " of that kind" : "");
	}
	return true;
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* prune, pin, unpin, delete, mark: the verbs that work on backups. */
#include "app/by-hand/by-hand.h"
#include "cli/print.h"
#include "cli/verb.h"
#include "core/json/parse.h"

static gboolean arg_dry_run, arg_force;
static char *arg_reason;

const GbeOption gbe_options_change[] = {{GBE_DRY_RUN(arg_dry_run)}, {NULL}};

const GbeOption gbe_options_delete[] = {
    {"force", 0, &arg_force, "Also delete the last valid backup, pinned and unreadable ones"},
    {GBE_DRY_RUN(arg_dry_run)},
    {NULL},
};

const GbeOption gbe_options_mark[] = {
    {"reason", 0, &arg_reason, "Record the reason", "TEXT"},
    {GBE_DRY_RUN(arg_dry_run)},
    {NULL},
};

static void
print_change(GbeCli *cli, const char *key, const char *word, char *const *names)
{
	if (cli->json) {
		g_autoptr(JsonObject) object = gbe_json_answer();
		JsonArray *array = json_array_new();

		for (guint i = 0; names[i] != NULL; i++)
			json_array_add_string_element(array, names[i]);
		json_object_set_array_member(object, key, array);
		json_object_set_boolean_member(object, "dry_run", arg_dry_run);
		gbe_print_object(object);
		return;
	}
	for (guint i = 0; names[i] != NULL && !cli->quiet; i++)
		gbe_print("%s %s\n", word, names[i]);
}

static bool
pin(GbeCli *cli, char **names, bool pinned, GError **error)
{
	if (!gbe_by_hand_pin(cli->app, names, pinned, arg_dry_run, error))
		return false;
	gbe_cli_changed(cli, arg_dry_run);
	print_change(cli, pinned ? "pinned" : "unpinned", pinned ? "pinned" : "unpinned", names);
	return true;
}

bool
gbe_verb_pin(GbeCli *cli, char **arguments, GError **error)
{
	return pin(cli, arguments, true, error);
}

bool
gbe_verb_unpin(GbeCli *cli, char **arguments, GError **error)
{
	return pin(cli, arguments, false, error);
}

bool
gbe_verb_delete(GbeCli *cli, char **arguments, GError **error)
{
	if (!gbe_by_hand_delete(cli->app, arguments, arg_force, arg_dry_run, error))
		return false;
	gbe_cli_changed(cli, arg_dry_run);
	print_change(cli, "deleted", "deleted", arguments);
	return true;
}

bool
gbe_verb_prune(GbeCli *cli, char **arguments, GError **error)
{
	g_autoptr(GPtrArray) removed = NULL;

	if (!gbe_by_hand_prune(cli->app, arg_dry_run, &removed, error))
		return false;
	gbe_cli_changed(cli, arg_dry_run);
	gbe_print_removed(cli, removed, arg_dry_run);
	return true;
}

typedef struct {
	const char *name, *mark;
	bool dry_run;
} Marked;

const GbeField gbe_mark_fields[] = {
    GBE_FIELD(Marked, name, "name", TEXT),
    GBE_FIELD_SET(Marked, mark, "mark", TEXT),
    GBE_FIELD(Marked, dry_run, "dry_run", FLAG),
    {0},
};

static void
print_marked(GbeCli *cli, const char *mark, const char *name)
{
	if (cli->json) {
		gbe_print_answer(gbe_mark_fields, &(const Marked){name, mark, arg_dry_run});
	} else if (!cli->quiet) {
		gbe_print("%s is marked %s\n", name != NULL ? name : "the present run", mark);
	}
}

bool
gbe_verb_mark(GbeCli *cli, char **arguments, GError **error)
{
	const char *name = arguments[0];
	bool good = g_str_equal(cli->words, "good");

	if (!gbe_by_hand_mark(cli->app, name, good, arg_reason, arg_dry_run, error))
		return false;
	gbe_cli_changed(cli, arg_dry_run);
	print_marked(cli, cli->words, name);
	return true;
}

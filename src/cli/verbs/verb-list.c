/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "app/report/status.h"
#include "cli/observe.h"
#include "cli/print.h"
#include "cli/verb.h"
#include "core/space.h"

#include <string.h>
#include <unistd.h>

static gboolean arg_exclusive, arg_names, arg_full;
static char *arg_deployment, *arg_grade;

const GbeOption gbe_options_list[] = {
    {"exclusive", 0, &arg_exclusive, "Count the bytes that the removal of each would free"},
    {"deployment", 0, &arg_deployment, "List only backups of deployment ID", "ID"},
    {"grade", 0, &arg_grade, "List only good, unproven, bad or unreadable backups", "GRADE",
     "good,unproven,bad,unreadable"},
    {"names", 0, &arg_names, "Print only names, one on each line"},
    {"full", 0, &arg_full, "Print whole names, one line each, also on a terminal"},
    {NULL},
};

static bool
is_wanted(const GbeListEntry *entry)
{
	if (arg_deployment != NULL && g_strcmp0(entry->backup.deployment.id, arg_deployment) != 0)
		return false;
	return arg_grade == NULL || g_str_equal(entry->grade, arg_grade);
}

/* @fits: on a terminal the name tells deployments apart. */
static void
print_row(GbeTable *table, const GbeListEntry *entry, bool fits)
{
	const GbeManifest *m = &entry->backup;
	bool unreadable = g_str_equal(entry->grade, "unreadable");
	g_autofree char *id =
	    m->deployment.id != NULL ? gbe_deployment_id_short(m->deployment.id) : NULL;
	g_autofree char *deployment =
	    id == NULL || fits
		? g_strdup(entry->present)
		: g_strdup_printf("%s (%s)", id,
				  entry->present != NULL ? entry->present : "unknown");
	g_autofree char *when = gbe_text_time(m->created);
	g_autofree char *revision =
	    m->revision >= 0 ? g_strdup_printf("%" G_GINT64_FORMAT, m->revision) : NULL;
	g_autofree char *size = unreadable ? NULL : gbe_size_to_text(m->size);
	g_autofree char *exclusive =
	    entry->exclusive >= 0 ? gbe_size_to_text((guint64)entry->exclusive) : NULL;
	g_autoptr(GString) marks = g_string_new(m->pinned ? ", pinned" : NULL);
	/* Of the version, a backup knows X.Y, and a patch level of 0 is made up. */
	bool minor = m->etcd_version != NULL && g_str_has_suffix(m->etcd_version, ".0");
	g_autofree char *version =
	    minor ? g_strndup(m->etcd_version, strlen(m->etcd_version) - strlen(".0"))
		  : g_strdup(m->etcd_version);

	g_string_append(marks, m->set_aside ? ", set aside" : "");
	g_string_append(marks, m->consumed ? ", consumed" : "");
	{
		const char *marked = marks->len > 0 ? marks->str + strlen(", ") : NULL;
		const char *cells[] = {m->name,
				       deployment,
				       entry->grade,
				       when,
				       version,
				       revision,
				       size,
				       arg_exclusive ? exclusive : marked,
				       arg_exclusive ? marked : m->description,
				       m->description};

		gbe_table_add(table, cells);
	}
	if (unreadable || g_str_equal(entry->grade, "bad"))
		gbe_table_paint(table, GBE_RED);
}

static void
print_text(const GPtrArray *list, bool fits)
{
	static const char *const titles[] = {"NAME",	    "DEPLOYMENT", "GRADE", "WHEN",
					     "ETCD",	    "REVISION",	  "SIZE",  "MARKS",
					     "DESCRIPTION", NULL};
	static const char *const titles_exclusive[] = {"NAME",	"DEPLOYMENT",  "GRADE", "WHEN",
						       "ETCD",	"REVISION",    "SIZE",	"EXCLUSIVE",
						       "MARKS", "DESCRIPTION", NULL};
	g_autoptr(GbeTable) table = gbe_table_new(arg_exclusive ? titles_exclusive : titles);

	for (guint i = 0; i < list->len; i++)
		print_row(table, list->pdata[i], fits);
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
	g_autoptr(GPtrArray) all = NULL;
	g_autoptr(GPtrArray) list = g_ptr_array_new();
	bool fits = !arg_full && isatty(STDOUT_FILENO) == 1;

	if (!check_arguments(error) || !gbe_cli_observe(cli, &observed, error))
		return false;
	if (observed != NULL && observed->store_why != NULL)
		return gbe_throw(error, GBE_ERROR_CANNOT_TELL, "%s", observed->store_why);
	if (observed != NULL)
		all = gbe_list_collect(observed, arg_exclusive);
	else if (!gbe_cli_read_list(cli, &all, error))
		return false;
	for (guint i = 0; i < all->len; i++)
		if (is_wanted(all->pdata[i]))
			g_ptr_array_add(list, all->pdata[i]);
	if (cli->json) {
		g_autoptr(JsonArray) array = gbe_list_to_json(list);

		gbe_print_array(array);
	} else if (arg_names) {
		for (guint i = 0; i < list->len; i++)
			gbe_print("%s\n", ((const GbeListEntry *)list->pdata[i])->backup.name);
	} else if (list->len > 0) {
		if (fits)
			gbe_cli_fit(cli, observed);
		print_text(list, fits);
	} else if (!cli->quiet) {
		gbe_print("no backups%s\n", all->len > 0 ? " of that kind" : "");
	}
	return true;
}

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

/* "all but 23 KiB", or the size of what the backup shares with the data and other backups. */
static char *
shared_text(const GbeListEntry *entry)
{
	guint64 own = (guint64)entry->exclusive, size = entry->backup.size;
	g_autofree char *bytes = NULL;

	if (entry->exclusive < 0)
		return NULL;
	if (own == 0)
		return g_strdup("all");
	if (own >= size)
		return g_strdup("nothing");
	bytes = gbe_size_to_text(own < size / 100 ? own : size - own);
	return own < size / 100 ? g_strdup_printf("all but %s", bytes) : g_steal_pointer(&bytes);
}

/* Of the etcd version, a backup knows X.Y, and a patch level of 0 is made up. */
static char *
etcd_text(const char *version)
{
	bool minor = version != NULL && g_str_has_suffix(version, ".0");

	return minor ? g_strndup(version, strlen(version) - strlen(".0")) : g_strdup(version);
}

typedef enum {
	HANDLE,
	NAME,
	DEPLOYMENT,
	FROM,
	WHY,
	GRADE,
	WHEN,
	WHEN_FOR_PEOPLE,
	ETCD,
	REVISION,
	SIZE,
	EXCLUSIVE,
	SHARED,
	MARKS,
	DESCRIPTION,
} Column;

static const char *const titles[] = {
    [HANDLE] = "",
    [NAME] = "NAME",
    [DEPLOYMENT] = "DEPLOYMENT",
    [FROM] = "FROM",
    [WHY] = "WHY",
    [GRADE] = "GRADE",
    [WHEN] = "WHEN",
    [WHEN_FOR_PEOPLE] = "WHEN",
    [ETCD] = "ETCD",
    [REVISION] = "REVISION",
    [SIZE] = "SIZE",
    [EXCLUSIVE] = "EXCLUSIVE",
    [SHARED] = "SHARED",
    [MARKS] = "MARKS",
    [DESCRIPTION] = "DESCRIPTION",
};
/* On a terminal, and elsewhere. The columns about shared bytes are only for --exclusive. */
static const Column short_columns[] = {HANDLE, WHEN_FOR_PEOPLE, FROM,  WHY,	   GRADE,
				       SIZE,   SHARED,		MARKS, DESCRIPTION};
static const Column full_columns[] = {NAME, DEPLOYMENT, GRADE, WHEN, ETCD,	 REVISION,
				      SIZE, EXCLUSIVE,	MARKS, WHY,  DESCRIPTION};

/* NULL: not known, or nothing. Newly allocated. */
static char *
cell_text(const GbeListEntry *entry, guint place, Column column)
{
	const GbeManifest *m = &entry->backup;
	bool unreadable = g_str_equal(entry->grade, "unreadable");

	switch (column) {
	case HANDLE:
		return g_strdup_printf("@%u", place);
	case NAME:
		return g_strdup(m->name);
	case DEPLOYMENT: {
		const char *present = entry->present != NULL ? entry->present : "unknown";
		const char *id = m->deployment.id;

		return id != NULL ? g_strdup_printf("%s (%s)", id, present)
				  : g_strdup(entry->present);
	}
	case FROM:
		return g_strdup(m->deployment.id);
	case WHY:
		return g_strdup(entry->why);
	case GRADE:
		return g_strdup(entry->grade);
	case WHEN:
		return gbe_text_time(m->created);
	case WHEN_FOR_PEOPLE:
		return gbe_text_when(m->created);
	case ETCD:
		return etcd_text(m->etcd_version);
	case REVISION:
		return m->revision >= 0 ? g_strdup_printf("%" G_GINT64_FORMAT, m->revision) : NULL;
	case SIZE:
		return unreadable ? NULL : gbe_size_to_text(m->size);
	case EXCLUSIVE:
		return entry->exclusive >= 0 ? gbe_size_to_text((guint64)entry->exclusive) : NULL;
	case SHARED:
		return shared_text(entry);
	case MARKS: {
		g_autofree char *marks =
		    g_strconcat(m->pinned ? ", pinned" : "", m->set_aside ? ", set aside" : "",
				m->consumed ? ", consumed" : "", NULL);

		return *marks != '\0' ? g_strdup(marks + strlen(", ")) : NULL;
	}
	case DESCRIPTION:
	default:
		return g_strdup(m->description);
	}
}

/* @all: every backup, whose order gives the handles. */
static void
print_text(const GPtrArray *list, GPtrArray *all, bool fits)
{
	const Column *columns = fits ? short_columns : full_columns;
	guint count = fits ? G_N_ELEMENTS(short_columns) : G_N_ELEMENTS(full_columns);
	g_autoptr(GPtrArray) used = g_ptr_array_new(), heads = g_ptr_array_new();
	g_autoptr(GbeTable) table = NULL;

	for (guint i = 0; i < count; i++) {
		if ((columns[i] == EXCLUSIVE || columns[i] == SHARED) && !arg_exclusive)
			continue;
		g_ptr_array_add(used, GUINT_TO_POINTER(columns[i]));
		g_ptr_array_add(heads, (gpointer)titles[columns[i]]);
	}
	g_ptr_array_add(heads, NULL);
	table = gbe_table_new((const char *const *)heads->pdata);
	for (guint i = 0; i < list->len; i++) {
		const GbeListEntry *entry = list->pdata[i];
		g_autoptr(GPtrArray) cells = g_ptr_array_new_with_free_func(g_free);
		guint place = 0;

		(void)g_ptr_array_find(all, entry, &place);
		for (guint k = 0; k < used->len; k++)
			g_ptr_array_add(cells, cell_text(entry, place + 1,
							 (Column)GPOINTER_TO_UINT(used->pdata[k])));
		gbe_table_add(table, (const char *const *)cells->pdata);
		if (g_str_equal(entry->grade, "unreadable") || g_str_equal(entry->grade, "bad"))
			gbe_table_paint(table, GBE_RED);
	}
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
		print_text(list, all, fits);
	} else if (!cli->quiet) {
		gbe_print("no backups%s\n", all->len > 0 ? " of that kind" : "");
	}
	return true;
}

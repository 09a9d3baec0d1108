/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cli/verb.h"

#define MANY G_MAXUINT

const GbeVerb gbe_verbs[] = {
    {"status", NULL, "Show who has the data, how it is, and what the next boot will do", 0, 0,
     gbe_options_status, gbe_verb_status},
    {"list", NULL, "List the backups, newest first", 0, 0, gbe_options_list, gbe_verb_list},
    {"show", "NAME", "Show a backup's manifest", 1, 1, NULL, gbe_verb_show},
    {"backup", "[NAME]", "Back the data up now", 0, 1, gbe_options_backup, gbe_verb_backup},
    {"restore", "NAME|--last-good", "Put a backup in the place of the data", 0, 1,
     gbe_options_restore, gbe_verb_restore},
    {"undo", NULL, "Put back what the last restore displaced", 0, 0, gbe_options_undo,
     gbe_verb_undo},
    {"mark", "good|bad [NAME]", "Judge the present run, or grade a backup", 1, 2, gbe_options_mark,
     gbe_verb_mark},
    {"explain", NULL, "Show what the next start will decide, and why", 0, 0, gbe_options_explain,
     gbe_verb_explain},
    {"prune", NULL, "Remove what retention does not keep", 0, 0, gbe_options_change,
     gbe_verb_prune},
    {"pin", "NAME...", "Keep backups until they are unpinned", 1, MANY, gbe_options_change,
     gbe_verb_pin},
    {"unpin", "NAME...", "Leave backups to retention again", 1, MANY, gbe_options_change,
     gbe_verb_unpin},
    {"delete", "NAME...", "Remove backups", 1, MANY, gbe_options_delete, gbe_verb_delete},
    {"config", NULL, "Show the effective configuration and where it comes from", 0, 0,
     gbe_options_config, gbe_verb_config, .own_config = TRUE},
    {"verify", "[NAME...|PATH]", "Look into backups, the stopped data, or a snapshot file", 0, MANY,
     gbe_options_verify, gbe_verb_verify},
    {"health", NULL, "Ask etcd whether it is healthy", 0, 0, gbe_options_health, gbe_verb_health},
    {"preflight", NULL, "Check whether the next upgrade would go well", 0, 0, NULL,
     gbe_verb_preflight, .own_config = TRUE},
    {"snapshot", "save|status FILE", "Save etcd's own snapshot, or say what one holds", 2, 2,
     gbe_options_snapshot, gbe_verb_snapshot},
    {"etcdctl", "ARGUMENT...|--print-env", "Start the real etcdctl for the configured etcd", 1,
     MANY, NULL, gbe_verb_etcdctl, .passes_on = TRUE},
    {"diagnose", .later = TRUE},
    {"ls", .alias = "list"},
    {"rm", .alias = "delete"},
    {"save", .alias = "backup"},
    {"create", .alias = "backup"},
    {NULL},
};

const GbeVerb *
gbe_verb_find(const char *name)
{
	for (const GbeVerb *verb = gbe_verbs; verb->name != NULL; verb++)
		if (g_str_equal(verb->name, name))
			return verb->alias != NULL ? gbe_verb_find(verb->alias) : verb;
	return NULL;
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The command in the initramfs: verbs for the emergency shell, and the unit's verb. */
#include "cli/verb.h"
#include "initramfs/boot.h"

#define MANY G_MAXUINT

static const GbeVerb verbs[] = {
    {"list", NULL, "List the backups, newest first", 0, 0, gbe_options_list, gbe_verb_list, "list"},
    {"show", "NAME", "Show a backup's manifest", 1, 1, NULL, gbe_verb_show, "show @1", .backup = 1},
    {"verify", "[NAME...|PATH]", "Look into backups, the data, or a snapshot file", 0, MANY,
     gbe_options_verify, gbe_verb_verify, "verify @1", .backup = 1},
    {"restore", "NAME|--last-good", "Put a backup in the place of the data", 0, 1,
     gbe_options_restore, gbe_verb_restore, "restore --last-good", .backup = 1},
    {"undo", NULL, "Put back what the last restore displaced", 0, 0, gbe_options_undo,
     gbe_verb_undo, "undo"},
    {"boot", NULL, "Do what rd.greenboot-etcd.restore= asks for, once", 0, 0, NULL, gbe_verb_boot,
     "boot", .own_config = true},
    {NULL},
};

int
main(int argc, char **argv)
{
	return gbe_cli_main(verbs, NULL, argc, argv);
}

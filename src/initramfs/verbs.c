/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The command in the initramfs: verbs for the emergency shell, and the unit's verb. */
#include "cli/verb.h"
#include "initramfs/boot.h"

static const GbeVerb verbs[] = {
    {"list", "List the backups, newest first", "list", gbe_verb_list, gbe_options_list},
    {"show", "Show a backup's manifest", "show @1", gbe_verb_show, NULL,
     GBE_TAKES({"NAME", GBE_A_BACKUP})},
    {"verify", "Look into backups, the data, or a snapshot file", "verify @1", gbe_verb_verify,
     gbe_options_verify, GBE_TAKES({"[NAME...|PATH]", GBE_A_BACKUP})},
    {"restore", "Put a backup in the place of the data", "restore --last-good", gbe_verb_restore,
     gbe_options_restore, GBE_TAKES({"NAME|--last-good|--cancel", GBE_A_BACKUP, .optional = true})},
    {"undo", "Put back what the last restore displaced", "undo", gbe_verb_undo, gbe_options_undo},
    {"boot", "Do what rd.greenboot-etcd.restore= asks for, once", "boot", gbe_verb_boot,
     .own_config = true},
    {NULL},
};

int
main(int argc, char **argv)
{
	return gbe_cli_main(verbs, NULL, argc, argv);
}

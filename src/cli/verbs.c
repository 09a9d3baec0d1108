/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/sha256.h"
#include "cli/verb.h"

#define MANY G_MAXUINT

/* In the order of greenboot-etcd(8). */
static const GbeVerb verbs[] = {
    {"status", NULL, "Show who has the data, how it is, and what the next boot will do", 0, 0,
     gbe_options_status, gbe_verb_status, "status --check", .group = "Looking"},
    {"list", NULL, "List the backups, newest first", 0, 0, gbe_options_list, gbe_verb_list,
     "list --grade=good"},
    {"show", "NAME", "Show a backup's manifest", 1, 1, NULL, gbe_verb_show, "show @1", .backup = 1},
    {"verify", "[NAME...|PATH...]", "Look into backups, the stopped data, or a snapshot file", 0,
     MANY, gbe_options_verify, gbe_verb_verify, "verify --full @1", .backup = 1},
    {"explain", NULL, "Show what the next start will decide, and why", 0, 0, gbe_options_explain,
     gbe_verb_explain, "explain --booted=rollback"},
    {"log", NULL, "Show what happened to the data, and when", 0, 0, gbe_options_log, gbe_verb_log,
     "log --since=7d"},
    {"config", NULL, "Show the effective configuration and where it comes from", 0, 0,
     gbe_options_config, gbe_verb_config, "config --check", .own_config = true},
    {"health", NULL, "Ask etcd whether it is healthy", 0, 0, gbe_options_health, gbe_verb_health,
     "health --wait=5min"},
    {"preflight", NULL, "Check whether the next upgrade would go well", 0, 0, NULL,
     gbe_verb_preflight, "preflight --json", .own_config = true},
    {"rehearse", NULL, "Start the staged update's etcd on a clone of today's data", 0, 0,
     gbe_options_rehearse, gbe_verb_rehearse, "rehearse --timeout=5min"},
    {"etcdctl", "ARGUMENT...|--print-env", "Start the real etcdctl for the configured etcd", 1,
     MANY, NULL, gbe_verb_etcdctl, "etcdctl get --prefix /registry --keys-only", .passes_on = true},
    {"endpoint", "status", "Show what etcd says of itself; health says more", 1, 1, NULL,
     gbe_verb_endpoint, "endpoint status", .words = GBE_WORDS("status")},
    {"diagnose", "[FILE]", "Collect information for support in one archive", 0, 1,
     gbe_options_diagnose, gbe_verb_diagnose, "diagnose /tmp/for-support.tar.gz",
     .own_config = true},
    {"backup", "[NAME]", "Back the data up now", 0, 1, gbe_options_backup, gbe_verb_backup,
     "backup before-experiment --stop -d 'new operator'", .group = "Backing up and restoring"},
    {"restore", "NAME|--last-good", "Put a backup in the place of the data", 0, 1,
     gbe_options_restore, gbe_verb_restore, "restore before-experiment --stop", .backup = 1},
    {"undo", NULL, "Put back what the last restore displaced", 0, 0, gbe_options_undo,
     gbe_verb_undo, "undo --stop"},
    {"snapshot", "save|status FILE", "Save etcd's own snapshot, or say what one holds", 2, 2,
     gbe_options_snapshot, gbe_verb_snapshot, "snapshot save /mnt/usb/etcd.db",
     .group = "Snapshots", .words = GBE_WORDS("save", "status")},
    {"export", "NAME FILE", "Make etcd's own snapshot of a backup", 2, 2, gbe_options_export,
     gbe_verb_export, "export @1 /mnt/usb/etcd.db", .backup = 1},
    {"import", "FILE|DIR [NAME]",
     "Make a backup of etcd's own snapshot, or of a copied data directory", 1, 2,
     gbe_options_import, gbe_verb_import, "import /mnt/usb/etcd.db from-the-old-device"},
    {"run", "-- etcd [ARGUMENT...]", "Start etcd for the unit that needs it", 0, MANY,
     gbe_options_run, gbe_verb_run, "run -- etcd --data-dir=/var/lib/app/etcd",
     .group = "Running etcd", .own_config = true},
    {"defrag", "[BACKUP [NAME]]", "Give free space of etcd's database back to the disk", 0, 2,
     gbe_options_defrag, gbe_verb_defrag, "defrag --if-needed", .backup = 1,
     .group = "Keeping etcd small"},
    {"alarm", "list|clear", "List etcd's alarms, or clear NOSPACE", 1, 1, gbe_options_alarm,
     gbe_verb_alarm, "alarm clear -n", .words = GBE_WORDS("list", "clear")},
    {"certs", "list|reset|export FILE", "List etcd's certificates, reset them, pack a client's", 1,
     2, gbe_options_certs, gbe_verb_certs, "certs export /mnt/usb/client.tar", .optional = true,
     .group = "Certificates", .words = GBE_WORDS("list", "reset", "export")},
    {"mark", "good|bad [NAME]", "Judge the present run, or grade a backup", 1, 2, gbe_options_mark,
     gbe_verb_mark, "mark bad @1 --reason='half of the keys are gone'", .backup = 2,
     .group = "Judging and keeping", .words = GBE_WORDS("good", "bad")},
    {"pin", "NAME...", "Keep backups until they are unpinned", 1, MANY, gbe_options_change,
     gbe_verb_pin, "pin @1", .backup = 1},
    {"unpin", "NAME...", "Leave backups to retention again", 1, MANY, gbe_options_change,
     gbe_verb_unpin, "unpin before-experiment", .backup = 1},
    {"delete", "NAME...", "Remove backups", 1, MANY, gbe_options_delete, gbe_verb_delete,
     "delete before-experiment", .backup = 1},
    {"prune", NULL, "Remove what retention does not keep", 0, 0, gbe_options_change, gbe_verb_prune,
     "prune -n"},
    {"help", "[VERB]", "Show help, of a verb where one is given", 0, 1, NULL, NULL, "help restore",
     .group = "This command"},
    {"version", NULL, "Show the version", 0, 0, NULL, NULL, "version"},
    {"ls", .alias = "list"},
    {"rm", .alias = "delete"},
    {"save", .alias = "backup"},
    {"create", .alias = "backup"},
    {NULL},
};

static const GbeOptionalVerb optional[] = {
    {"store", "greenboot-etcd-store"},
    {"cluster", "greenboot-etcd-cluster"},
    {"member", "greenboot-etcd-cluster"},
    {NULL},
};

int
main(int argc, char **argv)
{
	gbe_sha256_use(&gbe_sha256_libcrypto);
	return gbe_cli_main(verbs, optional, argc, argv);
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/sha256.h"
#include "cli/verb.h"

static const GbeVerb endpoint_words[] = {
    {"status", "Show the answer of etcd", "endpoint status", gbe_verb_endpoint, .looks = true},
    {NULL},
};

static const GbeVerb snapshot_words[] = {
    {"save", "Save etcd's own snapshot to a file", "snapshot save /mnt/usb/etcd.db",
     gbe_verb_snapshot_save, NULL, GBE_TAKES({"FILE", GBE_A_FILE})},
    {"status", "Show the contents of a snapshot file", "snapshot status /mnt/usb/etcd.db",
     gbe_verb_snapshot_status, NULL, GBE_TAKES({"FILE", GBE_A_FILE}), .looks = true},
    {NULL},
};

static const GbeVerb alarm_words[] = {
    {"list", "List etcd's alarms", "alarm list", gbe_verb_alarm_list, .looks = true},
    {"clear", "Make room in etcd's database, and clear NOSPACE", "alarm clear -n",
     gbe_verb_alarm_clear},
    {NULL},
};

static const GbeVerb certs_words[] = {
    {"list", "List etcd's certificates and keys", "certs list", gbe_verb_certs_list, .looks = true},
    {"reset", "Remove the certificates that are made again at the next start", "certs reset -n",
     gbe_verb_certs_reset},
    {"export", "Pack a client's files for another machine", "certs export /mnt/usb/client.tar",
     gbe_verb_certs_export, NULL, GBE_TAKES({"FILE", GBE_A_FILE})},
    {NULL},
};

static const GbeVerb mark_words[] = {
    {"good", "Judge the present run, or grade a backup, as good", "mark good @1", gbe_verb_mark,
     NULL, GBE_TAKES({"[NAME]", GBE_A_BACKUP})},
    {"bad", "Judge the present run, or grade a backup, as bad",
     "mark bad @1 --reason='half of the keys are gone'", gbe_verb_mark, NULL,
     GBE_TAKES({"[NAME]", GBE_A_BACKUP})},
    {NULL},
};

/* In the order of greenboot-etcd(8). */
static const GbeVerb verbs[] = {
    {"status", "Show the state of the data, and what the next boot will do", "status --check",
     gbe_verb_status, gbe_options_status, .group = "Looking", .looks = true},
    {"list", "List the backups, newest first", "list --grade=good", gbe_verb_list, gbe_options_list,
     .looks = true},
    {"show", "Show a backup's manifest", "show @1", gbe_verb_show, NULL,
     GBE_TAKES({"NAME", GBE_A_BACKUP}), .looks = true},
    {"verify", "Check backups, the stopped data, or a snapshot file", "verify --full @1",
     gbe_verb_verify, gbe_options_verify,
     GBE_TAKES({"[NAME...|PATH...]", GBE_A_BACKUP "," GBE_A_FILE}), .looks = true},
    {"explain", "Show the decision of the next start, with its reason", "explain --booted=rollback",
     gbe_verb_explain, gbe_options_explain, .looks = true},
    {"log", "Show the events of the data, with their times", "log --since=7d", gbe_verb_log,
     gbe_options_log, .looks = true},
    {"config", "Show the effective configuration with its origins", "config --check",
     gbe_verb_config, gbe_options_config, .own_config = true},
    {"health", "Ask etcd whether it is healthy", "health --wait=5min", gbe_verb_health,
     gbe_options_health, .looks = true},
    {"preflight", "Check whether the next upgrade would succeed", "preflight --json",
     gbe_verb_preflight, .own_config = true},
    {"rehearse", "Start the staged update's etcd on a clone of today's data",
     "rehearse --timeout=5min", gbe_verb_rehearse, gbe_options_rehearse},
    {"etcdctl", "Start the real etcdctl for the configured etcd",
     "etcdctl get --prefix /registry --keys-only", gbe_verb_etcdctl, NULL,
     GBE_TAKES({"ARGUMENT...|--print-env"}), .passes_on = true},
    {"endpoint", "Show the answer of etcd; health checks more", "endpoint status",
     .words = endpoint_words},
    {"diagnose", "Collect information for support in one archive",
     "diagnose /tmp/for-support.tar.gz", gbe_verb_diagnose, gbe_options_diagnose,
     GBE_TAKES({"[FILE]", GBE_A_FILE}), .own_config = true},
    {"backup", "Back the data up now", "backup before-experiment --stop -d 'new operator'",
     gbe_verb_backup, gbe_options_backup, GBE_TAKES({"[NAME]"}),
     .group = "Backing up and restoring"},
    {"restore", "Replace the data with a backup", "restore before-experiment --stop",
     gbe_verb_restore, gbe_options_restore,
     GBE_TAKES({"NAME|--last-good|--cancel", GBE_A_BACKUP, .optional = true})},
    {"undo", "Put back the data that the last restore replaced", "undo --stop", gbe_verb_undo,
     gbe_options_undo},
    {"snapshot", "Save etcd's own snapshot, or show what one holds",
     "snapshot save /mnt/usb/etcd.db", NULL, gbe_options_snapshot, .words = snapshot_words,
     .group = "Snapshots"},
    {"export", "Make etcd's own snapshot of a backup", "export @1 /mnt/usb/etcd.db",
     gbe_verb_export, gbe_options_export, GBE_TAKES({"NAME", GBE_A_BACKUP}, {"FILE", GBE_A_FILE})},
    {"import", "Make a backup of etcd's own snapshot, or of a copied data directory",
     "import /mnt/usb/etcd.db from-the-old-device", gbe_verb_import, gbe_options_import,
     GBE_TAKES({"FILE|DIR", GBE_A_FILE}, {"[NAME]"})},
    {"run", "Start etcd for the unit that needs it", "run -- etcd --data-dir=/var/lib/app/etcd",
     gbe_verb_run, gbe_options_run,
     GBE_TAKES({"-- etcd [ARGUMENT...]", GBE_A_COMMAND, .optional = true}), .group = "Running etcd",
     .own_config = true},
    {"defrag", "Give free space of etcd's database back to the disk", "defrag --if-needed",
     gbe_verb_defrag, gbe_options_defrag, GBE_TAKES({"[BACKUP", GBE_A_BACKUP}, {"[NAME]]"}),
     .group = "Keeping etcd small"},
    {"alarm", "List etcd's alarms, or clear NOSPACE", "alarm clear -n", NULL, gbe_options_alarm,
     .words = alarm_words},
    {"certs", "List etcd's certificates, reset them, pack a client's",
     "certs export /mnt/usb/client.tar", NULL, gbe_options_certs, .words = certs_words,
     .group = "Certificates", .optional = true},
    {"mark", "Judge the present run, or grade a backup",
     "mark bad @1 --reason='half of the keys are gone'", NULL, gbe_options_mark,
     .words = mark_words, .group = "Judging and keeping"},
    {"pin", "Keep backups until they are unpinned", "pin @1", gbe_verb_pin, gbe_options_change,
     GBE_TAKES({"NAME...", GBE_A_BACKUP})},
    {"unpin", "Leave backups to retention again", "unpin before-experiment", gbe_verb_unpin,
     gbe_options_change, GBE_TAKES({"NAME...", GBE_A_BACKUP})},
    {"delete", "Remove backups", "delete before-experiment", gbe_verb_delete, gbe_options_delete,
     GBE_TAKES({"NAME...", GBE_A_BACKUP})},
    {"prune", "Remove backups that retention does not keep", "prune -n", gbe_verb_prune,
     gbe_options_change},
    {"help", "Show help, also of a verb", "help restore", NULL, NULL,
     GBE_TAKES({"[VERB [WORD...]]"}), .group = "This command"},
    {"version", "Show the version", "version"},
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

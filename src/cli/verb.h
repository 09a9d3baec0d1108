/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The verbs: the name, arguments and function of each. A program passes its table to gbe_cli_main(). Implemented in
 * command.c, verb.c, verbs/verb-*.c. */
#pragma once

#include "app/device/context.h"
#include "app/health/look.h"
#include "base/error.h"

#include <json-glib/json-glib.h>

typedef struct {
	GbeApp *app;	   /* the configuration is loaded, unless the verb says otherwise */
	const char *words; /* that follow the verb, and led to what runs: "requests delete" */
	bool json, quiet, verbose;
	bool separated;	      /* a "--" is among the arguments */
	GbeExitStatus status; /* the exit status of a verb that succeeded */
	bool changed;	      /* set by gbe_cli_changed() */
} GbeCli;

/* @arguments: those after the words, NULL-terminated. */
typedef bool GbeVerbRun(GbeCli *cli, char **arguments, GError **error);

/* A shell offers these for an argument or for the value of an option, or words; with commas between them. Of an
 * argument, GBE_A_BACKUP comes first, and then a person may shorten the name (core/backup-name.h). */
#define GBE_A_BACKUP "@backup"
#define GBE_A_FILE "@file"
#define GBE_A_DIRECTORY "@directory"
#define GBE_A_COMMAND "@command"
#define GBE_A_UNIT "@unit"

/* @data: a gboolean; with @shown a char *, or a value of @type. @description NULL: the help leaves the option out.
 * @shown: the value in the help; NULL: the option takes none. @offered NULL: nothing. @words: of the verb, those that
 * take the option, with ", " between them; NULL: all. @type 0: the name of a file, as it was typed. */
typedef struct {
	const char *name;
	char letter; /* 0: none */
	gpointer data;
	const char *description, *shown, *offered, *words;
	GOptionArg type;
} GbeOption;

/* The option of all verbs that change something. @flag: a gboolean. */
#define GBE_DRY_RUN(flag) "dry-run", 'n', &(flag), "Print the changes, but make none"

/* @shown: in the usage. An argument that begins with "[" may be missing, as well as an @optional one; "..." may be
 * repeated. */
typedef struct {
	const char *shown, *offered;
	bool optional;
} GbeArgument;

#define GBE_TAKES(...)                                                                             \
	{                                                                                          \
		__VA_ARGS__                                                                        \
	}

/* A verb, or a word that a verb takes as its first argument. A table ends with a NULL name. */
typedef struct GbeVerb {
	const char *name, *summary, *example; /* the example lacks "greenboot-etcd " */
	/* NULL: help and version. A verb with words may have one for their common part, which runs before theirs. */
	GbeVerbRun *run;
	const GbeOption *options; /* of a verb, with those of its words; end with a NULL name */
	GbeArgument arguments[2]; /* of GBE_TAKES() */
	const struct GbeVerb *words;
	/* The rest is of verbs alone. */
	const char *group; /* the heading of the help before this verb; NULL: the same group */
	const char *page;  /* the man page, with its section; NULL: greenboot-etcd(8) */
	const char *alias; /* of this verb: not shown */
	bool own_config;   /* the verb loads the configuration itself */
	bool looks; /* of a word, also: it changes nothing, and works with a wrong configuration */
	bool passes_on; /* all arguments and options after it are for another program */
	bool optional;	/* a program of this name runs instead, if it is installed */
} GbeVerb;

/* A verb of an optional program, which lies next to this library as greenboot-etcd-VERB. The package of that name has
 * it. */
typedef struct {
	const char *verb, *package;
} GbeOptionalVerb;

/* The whole command. @verbs and @optional end with a NULL name. @optional NULL: no other program is looked for.
 * Returns the exit status. */
int gbe_cli_main(const GbeVerb *verbs, const GbeOptionalVerb *optional, int argc, char **argv);

/* Prints one line to stderr, whatever @message holds. */
void gbe_cli_say(const char *message);

/* Says that the configuration has an error, and what is used instead. @complaint NULL: it has none. */
void gbe_cli_complain_of_configuration(const char *complaint);

/* The JSON of config, health and preflight, for other verbs that include it. @look: the last one's result. @findings: of
 * GbeNotice. The caller frees it. */
JsonObject *gbe_cli_config_json(const GbeConfig *config);
JsonObject *gbe_cli_health_json(const GbeHealthLook *look);
JsonObject *gbe_cli_preflight_json(const GPtrArray *findings);

/* In a table of verbs or of words. Resolves aliases. NULL: not found. */
const GbeVerb *gbe_verb_find(const GbeVerb *verbs, const char *name);

/* The arguments or words as the usage shows them, "list|pull NAME FILE"; newly allocated. */
char *gbe_verb_usage(const GbeVerb *verb);

/* Does @option go with @words of its verb, "requests delete", or with one that begins so? "" is the verb itself. */
bool gbe_option_goes_with(const GbeOption *option, const char *words);

/* Prints what the completions need (data/completion/generate): "KEY|TOKEN...", a line for each verb and word, and "-"
 * for @global; "=KEY|TOKEN|DESCRIPTION", a line for each word and option. An optional program's keys begin with @mark. */
void gbe_verb_print_table(const GbeVerb *verbs, const GbeOption *global, const char *mark);

/* " (did you mean X?)", or "" where none of @words (NULL-terminated) is near @word. Newly allocated. */
char *gbe_verb_nearest(const char *word, const char *const *words);

/* The work is done, and only the result remains to be printed. From now on output that is not read is no failure, and
 * does not end the process. With @dry_run nothing was done. */
void gbe_cli_changed(GbeCli *cli, bool dry_run);

/* Parses an option in seconds, at most @most. @text NULL: the option was not given, and *seconds stays. GBE_ERROR_USAGE
 * names @option. */
bool gbe_verb_duration(const char *option, const char *text, guint64 most, guint64 *seconds,
		       GError **error) GBE_CHECKED;

GbeVerbRun gbe_verb_status, gbe_verb_list, gbe_verb_show, gbe_verb_backup, gbe_verb_restore,
    gbe_verb_undo, gbe_verb_mark, gbe_verb_explain, gbe_verb_log, gbe_verb_prune, gbe_verb_pin,
    gbe_verb_unpin, gbe_verb_delete, gbe_verb_config, gbe_verb_verify, gbe_verb_health,
    gbe_verb_preflight, gbe_verb_rehearse, gbe_verb_snapshot_save, gbe_verb_snapshot_status,
    gbe_verb_etcdctl, gbe_verb_diagnose, gbe_verb_export, gbe_verb_import, gbe_verb_run,
    gbe_verb_defrag, gbe_verb_alarm_list, gbe_verb_alarm_clear, gbe_verb_certs_list,
    gbe_verb_certs_reset, gbe_verb_certs_export, gbe_verb_endpoint;

extern const GbeOption gbe_options_status[], gbe_options_list[], gbe_options_backup[],
    gbe_options_restore[], gbe_options_undo[], gbe_options_mark[], gbe_options_explain[],
    gbe_options_change[], gbe_options_delete[], gbe_options_config[], gbe_options_verify[],
    gbe_options_health[], gbe_options_snapshot[], gbe_options_diagnose[], gbe_options_export[],
    gbe_options_import[], gbe_options_run[], gbe_options_defrag[], gbe_options_alarm[],
    gbe_options_certs[], gbe_options_log[], gbe_options_rehearse[];

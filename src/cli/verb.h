/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The verbs: the name, arguments and function of each. A program passes its table to gbe_cli_main(). Implemented in
 * command.c, verb.c, verbs/verb-*.c. */
#pragma once

#include "app/device/context.h"
#include "app/health/look.h"
#include "base/error.h"

#include <json-glib/json-glib.h>

typedef struct {
	GbeApp *app; /* the configuration is loaded, unless the verb says otherwise */
	bool json, quiet, verbose;
	bool separated;	      /* a "--" is among the arguments */
	GbeExitStatus status; /* the exit status of a verb that succeeded */
	bool changed;	      /* set by gbe_cli_changed() */
} GbeCli;

typedef struct {
	const char *name;
	const char *arguments; /* for the usage line; NULL: none */
	const char *summary;
	guint min, max; /* number of arguments */
	const GOptionEntry *options;
	/* @arguments: NULL-terminated. */
	bool (*run)(GbeCli *cli, char **arguments, GError **error); /* NULL: help and version */
	const char *example;					    /* behind "greenboot-etcd " */
	const char *group; /* the heading of the help before this verb; NULL: the same group */
	const char *const *words; /* the first argument is one of them; NULL: anything */
	guint backup;		  /* the 1st, 2nd argument names a backup, as do all behind it
				    * where there can be more; 0: none */
	bool own_config;	  /* the verb loads the configuration itself */
	bool passes_on;		  /* everything behind it, options too, is for another program */
	bool optional; /* an optional program of this name is started instead, if it is installed */
	const char *page;  /* the man page, with its section; NULL: greenboot-etcd(8) */
	const char *alias; /* of this verb: not shown */
} GbeVerb;

/* A verb of an optional program, which lies beside this library as greenboot-etcd-VERB. The package of that name has
 * it. */
typedef struct {
	const char *verb, *package;
} GbeOptionalVerb;

/* The whole command. @verbs and @optional end with a NULL name. @optional NULL: no other program is looked for.
 * Returns the exit status. */
int gbe_cli_main(const GbeVerb *verbs, const GbeOptionalVerb *optional, int argc, char **argv);

/* Prints one line to stderr, whatever @message holds. */
void gbe_cli_say(const char *message);

/* The JSON of config, health and preflight, for other verbs that include it. @look: the last one's result. @findings: of
 * GbeNotice. The caller frees it. */
JsonObject *gbe_cli_config_json(const GbeConfig *config);
JsonObject *gbe_cli_health_json(const GbeHealthLook *look);
JsonObject *gbe_cli_preflight_json(const GPtrArray *findings);

/* Resolves aliases. NULL: no such verb. */
const GbeVerb *gbe_verb_find(const GbeVerb *verbs, const char *name);

/* " (did you mean X?)", or "" where none of @words (NULL-terminated) is near @word. Newly allocated. */
char *gbe_verb_nearest(const char *word, const char *const *words);

/* The work is done, and only the result remains to be printed. From now on output that is not read is no failure, and
 * does not end the process. With @dry_run nothing was done. */
void gbe_cli_changed(GbeCli *cli, bool dry_run);

/* Parses an option in seconds, at most @most. @text NULL: the option was not given, and *seconds stays. GBE_ERROR_USAGE
 * names @option. */
bool gbe_verb_duration(const char *option, const char *text, guint64 most, guint64 *seconds,
		       GError **error) GBE_CHECKED;

/* Of all options of the verb @verb, only those in @allowed (each with a blank on both sides) go with its word @word.
 * GBE_ERROR_USAGE names the first other one that was given. */
bool gbe_verb_check_options(const GOptionEntry *options, const char *verb, const char *word,
			    const char *allowed, GError **error) GBE_CHECKED;

/* A word that a verb takes as its first argument. */
typedef struct {
	const char *name, *argument; /* NULL: takes none */
	bool (*run)(GbeCli *cli, const char *argument, GError **error);
	const char *options; /* of this word: each with a blank on both sides */
} GbeWord;

/* Runs the word @arguments[0] of @words, which ends with a NULL name, if the argument behind it and the options fit. */
bool gbe_verb_run_word(GbeCli *cli, const char *verb, const GOptionEntry *options,
		       const GbeWord *words, char **arguments, GError **error) GBE_CHECKED;

#define GBE_WORDS(...) ((const char *const[]){__VA_ARGS__, NULL})
#define GBE_VERB(name) bool gbe_verb_##name(GbeCli *cli, char **arguments, GError **error)

GBE_VERB(status);
GBE_VERB(list);
GBE_VERB(show);
GBE_VERB(backup);
GBE_VERB(restore);
GBE_VERB(undo);
GBE_VERB(mark);
GBE_VERB(explain);
GBE_VERB(log);
GBE_VERB(prune);
GBE_VERB(pin);
GBE_VERB(unpin);
GBE_VERB(delete);
GBE_VERB(config);
GBE_VERB(verify);
GBE_VERB(health);
GBE_VERB(preflight);
GBE_VERB(rehearse);
GBE_VERB(snapshot);
GBE_VERB(etcdctl);
GBE_VERB(diagnose);
GBE_VERB(export);
GBE_VERB(import);
GBE_VERB(run);
GBE_VERB(defrag);
GBE_VERB(alarm);
GBE_VERB(certs);
GBE_VERB(endpoint);

extern const GOptionEntry gbe_options_status[], gbe_options_list[], gbe_options_backup[],
    gbe_options_restore[], gbe_options_undo[], gbe_options_mark[], gbe_options_explain[],
    gbe_options_change[], gbe_options_delete[], gbe_options_config[], gbe_options_verify[],
    gbe_options_health[], gbe_options_snapshot[], gbe_options_diagnose[], gbe_options_export[],
    gbe_options_import[], gbe_options_run[], gbe_options_defrag[], gbe_options_alarm[],
    gbe_options_certs[], gbe_options_log[], gbe_options_rehearse[];

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cli/verb.h"

#include "core/words.h"

#include <signal.h>
#include <string.h>

const GbeVerb *
gbe_verb_find(const GbeVerb *verbs, const char *name)
{
	for (const GbeVerb *verb = verbs; verb->name != NULL; verb++)
		if (g_str_equal(verb->name, name))
			return verb->alias != NULL ? gbe_verb_find(verbs, verb->alias) : verb;
	return NULL;
}

char *
gbe_verb_nearest(const char *word, const char *const *words)
{
	const char *nearest = gbe_nearest_word(word, words);

	return nearest != NULL ? g_strdup_printf(" (did you mean %s?)", nearest) : g_strdup("");
}

bool
gbe_verb_duration(const char *option, const char *text, guint64 most, guint64 *seconds,
		  GError **error)
{
	g_autoptr(GError) local = NULL;
	guint64 given = 0;

	if (text == NULL)
		return true;
	if (!gbe_duration_parse(text, &given, &local))
		return gbe_throw(error, GBE_ERROR_USAGE, "%s: %s", option, local->message);
	*seconds = MIN(given, most);
	return true;
}

static bool
is_given(const GOptionEntry *option)
{
	return option->arg == G_OPTION_ARG_NONE ? *(gboolean *)option->arg_data
						: *(gpointer *)option->arg_data != NULL;
}

bool
gbe_verb_check_options(const GOptionEntry *options, const char *verb, const char *word,
		       const char *allowed, GError **error)
{
	for (const GOptionEntry *option = options; option->long_name != NULL; option++) {
		g_autofree char *name = g_strconcat(" ", option->long_name, " ", NULL);

		if (is_given(option) && strstr(allowed, name) == NULL)
			return gbe_throw(error, GBE_ERROR_USAGE, "--%s does not go with %s %s",
					 option->long_name, verb, word);
	}
	return true;
}

bool
gbe_verb_run_word(GbeCli *cli, const char *verb, const GOptionEntry *options, const GbeWord *words,
		  char **arguments, GError **error)
{
	const GbeWord *word = words;

	while (!g_str_equal(word->name, arguments[0]))
		word++;
	if (word->argument != NULL && arguments[1] == NULL)
		return gbe_throw(error, GBE_ERROR_USAGE, "%s %s needs its argument, %s", verb,
				 word->name, word->argument);
	if (word->argument == NULL && arguments[1] != NULL)
		return gbe_throw(error, GBE_ERROR_USAGE,
				 "%s %s takes no argument: \"%s\" is too much", verb, word->name,
				 arguments[1]);
	return gbe_verb_check_options(options, verb, word->name, word->options, error) &&
	       word->run(cli, arguments[1], error);
}

void
gbe_cli_changed(GbeCli *cli, bool dry_run)
{
	if (dry_run)
		return;
	cli->changed = true;
	(void)signal(SIGPIPE, SIG_IGN);
}

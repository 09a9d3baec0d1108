/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cli/verb.h"

#include "cli/print.h"
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

char *
gbe_verb_usage(const GbeVerb *verb)
{
	g_autoptr(GString) usage = g_string_new(NULL);
	g_autofree char *shared = NULL;
	bool same = true;

	for (guint i = 0; i < G_N_ELEMENTS(verb->arguments) && verb->arguments[i].shown != NULL;
	     i++)
		g_string_append_printf(usage, "%s%s", i > 0 ? " " : "", verb->arguments[i].shown);
	if (verb->words == NULL)
		return g_strdup(usage->str);
	/* The arguments that all words have are shown once: "save|status FILE". */
	shared = gbe_verb_usage(verb->words);
	for (const GbeVerb *word = verb->words; word->name != NULL; word++) {
		g_autofree char *own = gbe_verb_usage(word);

		same = same && g_str_equal(own, shared);
	}
	for (const GbeVerb *word = verb->words; word->name != NULL; word++) {
		g_autofree char *own = gbe_verb_usage(word);

		g_string_append_printf(usage, "%s%s", word != verb->words ? "|" : "", word->name);
		if (!same && *own != '\0')
			g_string_append_printf(usage, word->words != NULL ? " (%s)" : " %s", own);
	}
	if (same && *shared != '\0')
		g_string_append_printf(usage, " %s", shared);
	return g_strdup(usage->str);
}

/* Is @word the beginning of @words? */
static bool
begins_with(const char *words, const char *word)
{
	gsize length = strlen(word);

	return strncmp(words, word, length) == 0 && (words[length] == ' ' || words[length] == '\0');
}

bool
gbe_option_goes_with(const GbeOption *option, const char *words)
{
	g_auto(GStrv) all = g_strsplit(option->words != NULL ? option->words : words, ", ", -1);
	bool goes = *words == '\0';

	for (guint i = 0; all[i] != NULL; i++)
		goes = goes || begins_with(words, all[i]) || begins_with(all[i], words);
	return goes;
}

/* ---- the table for the completions ---- */

static void
print_option(const GbeOption *option)
{
	const char *sign = option->shown != NULL ? "=" : "";
	const char *offered = option->offered != NULL ? option->offered : "";

	if (option->description == NULL)
		return;
	gbe_print(" --%s%s%s", option->name, sign, offered);
	if (option->letter != 0)
		gbe_print(" -%c%s%s", option->letter, sign, offered);
}

/* @verb is what @words of the verb lead to, which has @options. */
static void
print_row(const char *key, const char *words, const GbeVerb *verb, const GbeOption *options)
{
	gbe_print("%s%s%s|", key, *words != '\0' ? " " : "", words);
	for (const GbeVerb *word = verb->words; word != NULL && word->name != NULL; word++)
		gbe_print(" %s", word->name);
	for (guint i = 0; i < G_N_ELEMENTS(verb->arguments) && verb->arguments[i].shown != NULL;
	     i++) {
		const GbeArgument *argument = &verb->arguments[i];

		gbe_print(" :%s%s", argument->offered != NULL ? argument->offered : "",
			  strstr(argument->shown, "...") != NULL ? " ..." : "");
	}
	for (const GbeOption *option = options; option != NULL && option->name != NULL; option++)
		if (gbe_option_goes_with(option, words))
			print_option(option);
	gbe_print("\n");
	for (const GbeVerb *word = verb->words; word != NULL && word->name != NULL; word++) {
		g_autofree char *longer =
		    g_strconcat(words, *words != '\0' ? " " : "", word->name, NULL);

		print_row(key, longer, word, options);
	}
}

/* "=KEY|TOKEN|DESCRIPTION" of the words of @verb and of its @options, each once. */
static void
print_descriptions(const char *key, const GbeVerb *verb, const GbeOption *options)
{
	for (const GbeVerb *word = verb->words; word != NULL && word->name != NULL; word++) {
		g_autofree char *longer = g_strconcat(key, " ", word->name, NULL);

		if (word->summary != NULL)
			gbe_print("=%s|%s|%s\n", key, word->name, word->summary);
		print_descriptions(longer, word, NULL);
	}
	for (const GbeOption *option = options; option != NULL && option->name != NULL; option++)
		if (option->description != NULL)
			gbe_print("=%s|--%s|%s\n", key, option->name, option->description);
}

void
gbe_verb_print_table(const GbeVerb *verbs, const GbeOption *global, const char *mark)
{
	static const GbeVerb none;

	print_row("-", "", &none, global);
	print_descriptions("-", &none, global);
	for (const GbeVerb *verb = verbs; verb->name != NULL; verb++) {
		g_autofree char *key = g_strconcat(mark, verb->name, NULL);
		const GbeVerb *meant = gbe_verb_find(verbs, verb->name);

		if (verb->alias == NULL)
			gbe_print("| %s\n=verbs|%s|%s\n", key, key, verb->summary);
		print_row(key, "", meant, meant->options);
		print_descriptions(key, meant, meant->options);
	}
}

void
gbe_cli_changed(GbeCli *cli, bool dry_run)
{
	if (dry_run)
		return;
	cli->changed = true;
	(void)signal(SIGPIPE, SIG_IGN);
}

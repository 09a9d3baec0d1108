/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "core/config/told.h"

#include "core/config/run-words.h"

#include <string.h>

static bool
is_comment(const char *line)
{
	return *line == '#' || *line == ';';
}

/* The line at *at with those that are joined to it; *at becomes that of the next one. */
static char *
next_line(char *const *lines, guint *at)
{
	GString *whole = g_string_new(NULL);

	while (lines[*at] != NULL) {
		const char *line = g_strstrip(lines[(*at)++]);
		gsize length = strlen(line);
		bool joined = length > 0 && line[length - 1] == '\\';

		/* A comment does not end what it stands in. */
		if (is_comment(line) && whole->len > 0)
			continue;
		g_string_append_len(whole, line, (gssize)(joined ? length - 1 : length));
		if (!joined || is_comment(line))
			break;
		g_string_append_c(whole, ' ');
	}
	return g_string_free(whole, false);
}

char **
gbe_unit_values(const char *text, const char *key)
{
	g_autoptr(GPtrArray) values = g_ptr_array_new_with_free_func(g_free);
	g_auto(GStrv) lines = g_strsplit(text, "\n", -1);
	gsize length = strlen(key);

	for (guint at = 0; lines[at] != NULL;) {
		g_autofree char *line = next_line(lines, &at);
		const char *value = line + length;

		if (strncmp(line, key, length) != 0)
			continue;
		value += strspn(value, " \t");
		if (*value != '=')
			continue;
		value += 1 + strspn(value + 1, " \t");
		if (*value == '\0')
			g_ptr_array_set_size(values, 0);
		else
			g_ptr_array_add(values, g_strdup(value));
	}
	g_ptr_array_add(values, NULL);
	return (char **)g_ptr_array_free(g_steal_pointer(&values), false);
}

/* Words that no shell would take are separated at blanks. */
static char **
split(const char *text)
{
	char **words = NULL;

	if (!gbe_words("", text, &words, NULL))
		words = g_strsplit_set(text, " \t", -1);
	return words;
}

/* Adds @word, with variables: "$NAME" alone stands for several words. */
static void
add_word(GPtrArray *words, const char *word, char **environment)
{
	g_autofree char *name = NULL;
	const char *value;
	g_auto(GStrv) parts = NULL;

	if (*word != '$' || word[1] == '$') {
		g_ptr_array_add(words, g_strdup(word));
		return;
	}
	name = g_strcanon(g_strdup(word + 1), G_CSET_A_2_Z G_CSET_a_2_z G_CSET_DIGITS "_", ' ');
	value = g_environ_getenv(environment, g_strstrip(name));
	parts = split(value != NULL ? value : "");
	for (guint i = 0; parts[i] != NULL; i++)
		g_ptr_array_add(words, g_strdup(parts[i]));
}

static bool
is_program(const char *word, const char *program)
{
	g_autofree char *name = g_path_get_basename(word + strspn(word, "@-:+!|"));

	return g_str_equal(name, program);
}

/* The arguments of @program in the command @line. NULL: the line does not start it. */
static GPtrArray *
arguments_of(const char *line, const char *program, char **environment)
{
	g_autoptr(GPtrArray) found = NULL;
	g_auto(GStrv) words = split(line);
	const char *before = "";

	for (guint i = 0; words[i] != NULL; i++) {
		if (found != NULL)
			add_word(found, words[i], environment);
		else if (is_program(words[i], program))
			found = g_ptr_array_new_with_free_func(g_free);
		else if (g_str_equal(before, "-c"))
			found = arguments_of(words[i], program, environment);
		before = words[i];
	}
	return g_steal_pointer(&found);
}

void
gbe_told_read(const char *unit, const char *variables, const char *program, GbeTold *ret_told)
{
	g_auto(GStrv) set = gbe_unit_values(unit, "Environment");
	g_auto(GStrv) commands = gbe_unit_values(unit, "ExecStart");
	GbeTold told = {NULL, NULL};

	for (guint i = 0; set[i] != NULL; i++) {
		g_auto(GStrv) words = split(set[i]);
		g_autofree char *lines = g_strjoinv("\n", words);

		told.environment = gbe_run_environment(told.environment, lines);
	}
	/* As in systemd, what files say is above what the unit says. */
	told.environment = gbe_run_environment(told.environment, variables);
	for (guint i = 0; commands[i] != NULL; i++) {
		GPtrArray *found = arguments_of(commands[i], program, told.environment);

		if (found == NULL)
			continue;
		g_clear_pointer(&told.arguments, g_ptr_array_unref);
		told.arguments = found;
	}
	*ret_told = told;
}

void
gbe_told_clear(GbeTold *told)
{
	g_clear_pointer(&told->arguments, g_ptr_array_unref);
	g_clear_pointer(&told->environment, g_strfreev);
}

/* The text after the flag's name: "=value", or "". NULL: it is another word. */
static const char *
behind_flag(const char *word, const char *flag, char letter)
{
	gsize length = strlen(flag);
	const char *name = word + (g_str_has_prefix(word, "--") ? 2 : 1);

	if (*word != '-')
		return NULL;
	if (strncmp(name, flag, length) == 0 && strchr("=", name[length]) != NULL)
		return name + length;
	return letter != 0 && name == word + 1 && *name == letter && strchr("=", name[1]) != NULL
		   ? name + 1
		   : NULL;
}

/* @alone: the value of a flag without one; NULL: the next word. */
static const char *
find(const GbeTold *told, const char *flag, char letter, const char *variable, const char *alone)
{
	const char *value = NULL;

	for (guint i = 0; told->arguments != NULL && i < told->arguments->len; i++) {
		const char *behind = behind_flag(told->arguments->pdata[i], flag, letter);

		if (behind == NULL)
			continue;
		if (*behind == '=')
			value = behind + 1;
		else if (alone != NULL)
			value = alone;
		else if (i + 1 < told->arguments->len)
			value = told->arguments->pdata[++i];
	}
	if (value == NULL && variable != NULL)
		value = g_environ_getenv(told->environment, variable);
	return value != NULL && *value != '\0' ? value : NULL;
}

const char *
gbe_told_value(const GbeTold *told, const char *flag, char letter, const char *variable)
{
	return find(told, flag, letter, variable, NULL);
}

GbeTri
gbe_told_switch(const GbeTold *told, const char *flag, const char *variable)
{
	static const char *const on[] = {"1", "t", "T", "true", "TRUE", "True", NULL};
	static const char *const off[] = {"0", "f", "F", "false", "FALSE", "False", NULL};
	const char *value = find(told, flag, 0, variable, "true");

	if (value == NULL || g_strv_contains(off, value))
		return GBE_NO;
	return g_strv_contains(on, value) ? GBE_YES : GBE_UNKNOWN;
}

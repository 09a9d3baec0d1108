/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cli/fail.h"

#include "cli/print.h"
#include "core/json/parse.h"
#include "core/shown.h"

#include <stdio.h>
#include <string.h>

#define NEXT "; "

void
gbe_cli_say(const char *message)
{
	g_autofree char *line = gbe_shown_line(message);

	(void)fprintf(stderr, "greenboot-etcd: %s\n", line);
}

/* Has @text a path that begins at "/"? */
static bool
has_path(const char *text)
{
	for (const char *at = strchr(text, '/'); at != NULL; at = strchr(at + 1, '/'))
		if ((at == text || strchr(" \"(=:", at[-1]) != NULL) && at[1] != ' ')
			return true;
	return false;
}

/* The hint is the part of a message after its last semicolon; without one, the hint is the verb's help. */
static void
take_apart(const GbeVerb *verb, const GError *error, char **ret_message, char **ret_hint)
{
	bool usage = g_error_matches(error, GBE_ERROR, GBE_ERROR_USAGE);
	const char *next = usage ? NULL : g_strrstr(error->message, NEXT);

	*ret_message = next != NULL ? g_strndup(error->message, (gsize)(next - error->message))
				    : g_strdup(error->message);
	if (next != NULL)
		*ret_hint = g_strdup(next + strlen(NEXT));
	else if (usage || g_error_matches(error, GBE_ERROR, GBE_ERROR_NOT_FOUND))
		*ret_hint =
		    g_strdup_printf("see `greenboot-etcd %s%s--help`",
				    verb != NULL ? verb->name : "", verb != NULL ? " " : "");
	else if (g_error_matches(error, GBE_ERROR, GBE_ERROR_INVALID_CONFIG))
		*ret_hint = g_strdup("see greenboot-etcd.conf(5)");
}

static void
print_json(const GError *error, const char *message, const char *hint)
{
	g_autoptr(JsonObject) object = gbe_json_answer();
	JsonObject *inner = json_object_new();

	json_object_set_int_member(inner, "code", (gint64)gbe_exit_status_of(error));
	gbe_json_set_string(inner, "message", message);
	gbe_json_set_string(inner, "hint", hint);
	json_object_set_object_member(object, "error", inner);
	gbe_print_object(object);
}

void
gbe_cli_fail(const GbeVerb *verb, bool json, const char *root, const GError *error)
{
	g_autofree char *message = NULL, *hint = NULL, *sentence = NULL;

	take_apart(verb, error, &message, &hint);
	if (root != NULL && has_path(message) && strstr(message, root) == NULL) {
		g_autofree char *above = g_steal_pointer(&message);

		message = g_strdup_printf("%s (below %s)", above, root);
	}
	sentence = g_strconcat(message, hint != NULL ? NEXT : NULL, hint, NULL);
	gbe_cli_say(sentence);
	if (!json || gbe_print_has_json())
		return;
	print_json(error, message, hint);
	(void)fflush(stdout);
}

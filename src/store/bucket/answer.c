/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "store/bucket/answer.h"

#include <string.h>

#include "fs/open.h"

#define DEPTH_MAX 8
/* A key has at most 1,024 bytes, each of which may be three characters, or five in XML. */
#define TEXT_MAX 8192
/* A list has at most 1,000 keys in a page. */
#define ANSWER_MAX ((gsize)4 << 20)

struct GbeAnswer {
	GMarkupParseContext *context;
	const char *root;
	GbeAnswerElement element;
	gpointer data;
	GString *text;
	guint depth;
	gsize size;
	bool ended; /* the root has */
	GError *error;
};

static bool
refuse(GError **error, const char *what)
{
	g_set_error(error, G_MARKUP_ERROR, G_MARKUP_ERROR_PARSE, "%s", what);
	return false;
}

static void
start_element(GMarkupParseContext *context G_GNUC_UNUSED, const char *name,
	      const char **names G_GNUC_UNUSED, const char **values G_GNUC_UNUSED, gpointer data,
	      GError **error)
{
	GbeAnswer *answer = data;

	g_string_truncate(answer->text, 0);
	/* GLib's parser takes one document after the other. */
	if (answer->ended) {
		(void)refuse(error, "it is more than one");
	} else if (answer->depth == 0 && !g_str_equal(name, answer->root) &&
		   !g_str_equal(name, GBE_ANSWER_ERROR)) {
		/* Names of another root are a stranger's: shown short, and without control characters. */
		g_autofree char *shown = gbe_path_to_text(name);

		g_set_error(error, G_MARKUP_ERROR, G_MARKUP_ERROR_PARSE,
			    "its root element is <%.32s> instead of <%s>", shown, answer->root);
	} else if (answer->depth++ >= DEPTH_MAX) {
		(void)refuse(error, "its elements are too deep");
	}
}

static void
end_element(GMarkupParseContext *context G_GNUC_UNUSED, const char *name, gpointer data,
	    GError **error G_GNUC_UNUSED)
{
	GbeAnswer *answer = data;

	answer->depth--;
	answer->ended = answer->depth == 0;
	answer->element(name, answer->depth, answer->text->str, answer->data);
	g_string_truncate(answer->text, 0);
}

static void
take_text(GMarkupParseContext *context G_GNUC_UNUSED, const char *text, gsize size, gpointer data,
	  GError **error)
{
	GbeAnswer *answer = data;

	if (answer->text->len + size > TEXT_MAX)
		(void)refuse(error, "a text in it is too long");
	else
		g_string_append_len(answer->text, text, (gssize)size);
}

static void
pass_through(GMarkupParseContext *context G_GNUC_UNUSED, const char *text, gsize size G_GNUC_UNUSED,
	     gpointer data G_GNUC_UNUSED, GError **error)
{
	if (g_str_has_prefix(text, "<!DOCTYPE"))
		(void)refuse(error, "it has a document type");
}

GbeAnswer *
gbe_answer_new(const char *root, GbeAnswerElement element, gpointer data)
{
	static const GMarkupParser parser = {start_element, end_element, take_text, pass_through,
					     NULL};
	GbeAnswer *answer = g_new0(GbeAnswer, 1);

	answer->context =
	    g_markup_parse_context_new(&parser, G_MARKUP_TREAT_CDATA_AS_TEXT, answer, NULL);
	answer->root = root;
	answer->element = element;
	answer->data = data;
	answer->text = g_string_new(NULL);
	return answer;
}

void
gbe_answer_free(GbeAnswer *answer)
{
	if (answer == NULL)
		return;
	g_markup_parse_context_free(answer->context);
	g_string_free(answer->text, true);
	g_clear_error(&answer->error);
	g_free(answer);
}

bool
gbe_answer_push(GbeAnswer *answer, const void *bytes, gsize size)
{
	if (answer->error != NULL)
		return false;
	answer->size += size;
	if (answer->size > ANSWER_MAX)
		return refuse(&answer->error, "it is too long");
	/* GLib's parser ends a text there. */
	if (size > 0 && memchr(bytes, '\0', size) != NULL)
		return refuse(&answer->error, "it has a NUL byte");
	return g_markup_parse_context_parse(answer->context, bytes, (gssize)size, &answer->error);
}

bool
gbe_answer_end(GbeAnswer *answer, GError **error)
{
	if (answer->error == NULL && !answer->ended)
		(void)refuse(&answer->error, "it is cut off");
	if (answer->error == NULL)
		(void)g_markup_parse_context_end_parse(answer->context, &answer->error);
	return answer->error == NULL ||
	       gbe_throw(error, GBE_ERROR_CANNOT_TELL, GBE_ANSWER_FOREIGN ": %s",
			 answer->error->message);
}

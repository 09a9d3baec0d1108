/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "sys/yaml.h"

#include <string.h>
#include <yaml.h>

#include "base/dlopen.h"

#define SONAME "libyaml-0.so.2"
#define FUNCTIONS(X)                                                                               \
	X(yaml_document_delete)                                                                    \
	X(yaml_document_get_node)                                                                  \
	X(yaml_document_get_root_node)                                                             \
	X(yaml_event_delete)                                                                       \
	X(yaml_parser_delete)                                                                      \
	X(yaml_parser_initialize)                                                                  \
	X(yaml_parser_load)                                                                        \
	X(yaml_parser_parse)                                                                       \
	X(yaml_parser_set_input_string)
GBE_DLOPEN_FUNCTIONS(FUNCTIONS);

#define DEPTH_MAX 32
#define NODES_MAX 20000

static bool
refuse(const char *what, GError **error)
{
	return gbe_throw(error, GBE_ERROR_REFUSED,
			 "%s: larger or deeper than a configuration is (%d KiB, %d levels, %d "
			 "values)",
			 what, GBE_YAML_MAX / 1024, DEPTH_MAX, NODES_MAX);
}

static bool
begin(yaml_parser_t *parser, const char *text, gsize size, const char *what, GError **error)
{
	if (!lib.yaml_parser_initialize(parser))
		return gbe_throw(error, GBE_ERROR_FAILED, "%s: no memory for a YAML parser", what);
	lib.yaml_parser_set_input_string(parser, (const unsigned char *)text, size);
	return true;
}

static bool
wrong(const yaml_parser_t *parser, const char *what, GError **error)
{
	return gbe_throw(error, GBE_ERROR_INVALID_CONFIG, "%s:%zu: %s", what,
			 parser->problem_mark.line + 1,
			 parser->problem != NULL ? parser->problem : "it is no YAML");
}

/* Before the document is built, which older versions of the library do with a stack frame a level. */
static bool
check_limits(const char *text, gsize size, const char *what, GError **error)
{
	yaml_parser_t parser;
	guint depth = 0, nodes = 0;
	bool ok, end = false;

	if (size > GBE_YAML_MAX)
		return refuse(what, error);
	if (!begin(&parser, text, size, what, error))
		return false;
	do {
		yaml_event_t event;
		yaml_event_type_t type;

		ok = lib.yaml_parser_parse(&parser, &event) || wrong(&parser, what, error);
		if (!ok)
			break;
		type = event.type;
		lib.yaml_event_delete(&event);
		if (type == YAML_MAPPING_START_EVENT || type == YAML_SEQUENCE_START_EVENT)
			depth++;
		else if (type == YAML_MAPPING_END_EVENT || type == YAML_SEQUENCE_END_EVENT)
			depth--;
		end = type == YAML_DOCUMENT_END_EVENT || type == YAML_STREAM_END_EVENT;
		ok = (depth <= DEPTH_MAX && ++nodes <= NODES_MAX) || refuse(what, error);
	} while (ok && !end);
	lib.yaml_parser_delete(&parser);
	return ok;
}

typedef struct {
	yaml_document_t *document;
	const char *what;
	GbeYamlPut put;
	gpointer data;
	GString *path;
	guint nodes; /* visited: aliases let the same one be visited often */
} Walk;

/* The words of YAML 1.1, as Go's programs read them. Text in quotes is text. */
static const char *
meaning(const yaml_node_t *node)
{
	static const char *const on[] = {"y",	 "Y",	 "yes", "Yes", "YES", "true",
					 "True", "TRUE", "on",	"On",  "ON",  NULL};
	static const char *const off[] = {"n",	   "N",	    "no",  "No",  "NO",	 "false",
					  "False", "FALSE", "off", "Off", "OFF", NULL};
	static const char *const nothing[] = {"~", "null", "Null", "NULL", NULL};
	const char *text = (const char *)node->data.scalar.value;

	if (node->data.scalar.style != YAML_PLAIN_SCALAR_STYLE)
		return text;
	if (g_strv_contains(on, text))
		return "true";
	if (g_strv_contains(off, text))
		return "false";
	return g_strv_contains(nothing, text) ? "" : text;
}

static bool visit(Walk *walk, int index, guint depth, GError **error);

static bool
visit_pair(Walk *walk, const yaml_node_pair_t *pair, guint depth, GError **error)
{
	const yaml_node_t *key = lib.yaml_document_get_node(walk->document, pair->key);
	gsize length = walk->path->len;
	bool ok;

	if (key == NULL || key->type != YAML_SCALAR_NODE)
		return true;
	if (key->data.scalar.style != YAML_PLAIN_SCALAR_STYLE ||
	    strcmp((const char *)key->data.scalar.value, "<<") != 0)
		g_string_append_printf(walk->path, "%s%s", length > 0 ? "." : "",
				       (const char *)key->data.scalar.value);
	ok = visit(walk, pair->value, depth, error);
	g_string_truncate(walk->path, length);
	return ok;
}

static bool
visit(Walk *walk, int index, guint depth, GError **error)
{
	const yaml_node_t *node = lib.yaml_document_get_node(walk->document, index);

	/* An anchor may stand within itself. */
	if (depth > DEPTH_MAX || ++walk->nodes > NODES_MAX)
		return refuse(walk->what, error);
	if (node == NULL)
		return true;
	if (node->type == YAML_SCALAR_NODE)
		walk->put(walk->path->str, meaning(node), walk->data);
	if (node->type == YAML_SEQUENCE_NODE)
		for (const yaml_node_item_t *item = node->data.sequence.items.start;
		     item < node->data.sequence.items.top; item++)
			if (!visit(walk, *item, depth + 1, error))
				return false;
	if (node->type == YAML_MAPPING_NODE)
		for (const yaml_node_pair_t *pair = node->data.mapping.pairs.start;
		     pair < node->data.mapping.pairs.top; pair++)
			if (!visit_pair(walk, pair, depth + 1, error))
				return false;
	return true;
}

bool
gbe_yaml_read(const char *text, gsize size, const char *what, GbeYamlPut put, gpointer data,
	      GError **error)
{
	g_autoptr(GString) path = g_string_new(NULL);
	yaml_parser_t parser;
	yaml_document_t document;
	Walk walk = {.document = &document, .what = what, .put = put, .data = data, .path = path};
	bool ok;

	if (!gbe_dlopen(SONAME, lib_symbols, G_N_ELEMENTS(lib_symbols), error) ||
	    !check_limits(text, size, what, error) || !begin(&parser, text, size, what, error))
		return false;
	ok = lib.yaml_parser_load(&parser, &document) || wrong(&parser, what, error);
	if (ok) {
		/* The root is the first node; an empty document has none. */
		ok =
		    lib.yaml_document_get_root_node(&document) == NULL || visit(&walk, 1, 0, error);
		lib.yaml_document_delete(&document);
	}
	lib.yaml_parser_delete(&parser);
	return ok;
}

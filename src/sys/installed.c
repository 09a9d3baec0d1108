/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "sys/installed.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>
#include <yaml.h>

#include "base/dlopen.h"
#include "fs/list.h"
#include "fs/open.h"
#include "sys/enabled.h"

/* ---- YAML ---- */

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
refuse_yaml(const char *what, GError **error)
{
	return gbe_throw(error, GBE_ERROR_REFUSED,
			 "%s: larger or deeper than a configuration is (%d KiB, %d levels, %d "
			 "values)",
			 what, GBE_YAML_MAX / 1024, DEPTH_MAX, NODES_MAX);
}

static bool
begin_yaml(yaml_parser_t *parser, const char *text, gsize size, const char *what, GError **error)
{
	if (!lib.yaml_parser_initialize(parser))
		return gbe_throw(error, GBE_ERROR_FAILED, "%s: no memory for a YAML parser", what);
	lib.yaml_parser_set_input_string(parser, (const unsigned char *)text, size);
	return true;
}

static bool
throw_yaml(const yaml_parser_t *parser, const char *what, GError **error)
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
		return refuse_yaml(what, error);
	if (!begin_yaml(&parser, text, size, what, error))
		return false;
	do {
		yaml_event_t event;
		yaml_event_type_t type;

		ok = lib.yaml_parser_parse(&parser, &event) || throw_yaml(&parser, what, error);
		if (!ok)
			break;
		type = event.type;
		lib.yaml_event_delete(&event);
		if (type == YAML_MAPPING_START_EVENT || type == YAML_SEQUENCE_START_EVENT)
			depth++;
		else if (type == YAML_MAPPING_END_EVENT || type == YAML_SEQUENCE_END_EVENT)
			depth--;
		end = type == YAML_DOCUMENT_END_EVENT || type == YAML_STREAM_END_EVENT;
		ok = (depth <= DEPTH_MAX && ++nodes <= NODES_MAX) || refuse_yaml(what, error);
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
yaml_meaning(const yaml_node_t *node)
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

static bool
visit_node(Walk *walk, int index, guint depth, GError **error)
{
	const yaml_node_t *node = lib.yaml_document_get_node(walk->document, index);

	/* An anchor may stand within itself. */
	if (depth > DEPTH_MAX || ++walk->nodes > NODES_MAX)
		return refuse_yaml(walk->what, error);
	if (node == NULL)
		return true;
	if (node->type == YAML_SCALAR_NODE)
		walk->put(walk->path->str, yaml_meaning(node), walk->data);
	if (node->type == YAML_SEQUENCE_NODE)
		for (const yaml_node_item_t *item = node->data.sequence.items.start;
		     item < node->data.sequence.items.top; item++)
			if (!visit_node(walk, *item, depth + 1, error))
				return false;
	if (node->type != YAML_MAPPING_NODE)
		return true;
	for (const yaml_node_pair_t *pair = node->data.mapping.pairs.start;
	     pair < node->data.mapping.pairs.top; pair++) {
		const yaml_node_t *key = lib.yaml_document_get_node(walk->document, pair->key);
		gsize length = walk->path->len;
		const char *name;

		if (key == NULL || key->type != YAML_SCALAR_NODE)
			continue;
		name = (const char *)key->data.scalar.value;
		if (key->data.scalar.style != YAML_PLAIN_SCALAR_STYLE || strcmp(name, "<<") != 0)
			g_string_append_printf(walk->path, "%s%s", length > 0 ? "." : "", name);
		if (!visit_node(walk, pair->value, depth + 1, error))
			return false;
		g_string_truncate(walk->path, length);
	}
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
	    !check_limits(text, size, what, error) || !begin_yaml(&parser, text, size, what, error))
		return false;
	ok = lib.yaml_parser_load(&parser, &document) || throw_yaml(&parser, what, error);
	if (ok) {
		/* The root is the first node; an empty document has none. */
		ok = lib.yaml_document_get_root_node(&document) == NULL ||
		     visit_node(&walk, 1, 0, error);
		lib.yaml_document_delete(&document);
	}
	lib.yaml_parser_delete(&parser);
	return ok;
}

/* ---- systems ---- */

/* Adds a value as the argument that the program makes of it. k3s: "key+" adds to a list. */
static void
add_argument(const char *path, const char *value, gpointer data)
{
	gsize length = strlen(path);

	if (g_str_has_suffix(path, "+"))
		length--;
	g_ptr_array_add(
	    data, g_strdup_printf("%s%.*s=%s", length == 1 ? "-" : "--", (int)length, path, value));
}

/* A file that is not there says nothing. */
static bool
read_yaml(int root_fd, const char *path, GPtrArray *arguments, GError **error)
{
	g_autofree char *bytes = NULL;
	g_autoptr(GError) local = NULL;
	gsize size;

	if (!gbe_read_in_root(root_fd, path, GBE_YAML_MAX, &bytes, &size, &local))
		return gbe_pass_unless(error, &local, GBE_ERROR_NOT_FOUND);
	return gbe_yaml_read(bytes, size, path, add_argument, arguments, error);
}

/* Puts what the configuration file says before the arguments of the command line, as the programs do. The files of
 * FILE.d come after the file; each has the last word on what it sets. */
static bool
read_configuration(int root_fd, const GbeSystemFile *file, GbeTold *told, GError **error)
{
	g_autoptr(GPtrArray) arguments = g_ptr_array_new_with_free_func(g_free);
	const char *named = gbe_told_value(told, file->flag, file->letter, file->variable);
	const char *path = named != NULL ? named : file->path;
	g_autofree char *dir = NULL;
	g_autoptr(GPtrArray) names = NULL;
	gbe_autofd int fd = -1;

	if (path == NULL)
		return true;
	if (*path != '/')
		return gbe_throw(error, GBE_ERROR_INVALID_CONFIG,
				 "its configuration %s is not an absolute path", path);
	if (!read_yaml(root_fd, path, arguments, error))
		return false;
	dir = g_strconcat(path, ".d", NULL);
	if (gbe_open_in_root(root_fd, dir, O_RDONLY | O_DIRECTORY, &fd, NULL) &&
	    !gbe_list_at(fd, dir, &names, error))
		return false;
	for (guint i = 0; names != NULL && i < names->len; i++) {
		g_autofree char *lower = g_ascii_strdown(names->pdata[i], -1);
		g_autofree char *below = g_build_filename(dir, names->pdata[i], NULL);

		if ((g_str_has_suffix(lower, ".yaml") || g_str_has_suffix(lower, ".yml")) &&
		    !read_yaml(root_fd, below, arguments, error))
			return false;
	}
	if (file->alone)
		gbe_told_clear(told);
	for (guint i = 0; told->arguments != NULL && i < told->arguments->len; i++)
		g_ptr_array_add(arguments, g_strdup(told->arguments->pdata[i]));
	g_clear_pointer(&told->arguments, g_ptr_array_unref);
	told->arguments = g_steal_pointer(&arguments);
	return true;
}

/* Reads the unit, its files of variables and the configuration. *ret_starts: the unit starts the program itself. */
static bool
read_told(int root_fd, const GbeSystem *system, GbeTold *told, bool *ret_starts, GError **error)
{
	g_autoptr(GString) unit = g_string_new(NULL), variables = g_string_new(NULL);

	gbe_unit_append_text(root_fd, system->service, unit);
	for (guint i = 0; system->variables != NULL && system->variables[i] != NULL; i++)
		gbe_text_append(root_fd, system->variables[i], variables);
	gbe_told_read(unit->str, variables->str, system->program, told);
	*ret_starts = told->arguments != NULL;
	return read_configuration(root_fd, &system->file, told, error);
}

/* @ret_why: as in GbeInstalled. */
static bool
is_system(int root_fd, const GbeSystem *system, char **ret_why)
{
	g_auto(GbeTold) told = {NULL, NULL};
	g_autoptr(GError) error = NULL;
	bool starts, is;

	if (system->program == NULL)
		return true;
	if (!read_told(root_fd, system, &told, &starts, &error)) {
		if (system->application)
			*ret_why = g_strdup(error->message);
		return system->application;
	}
	is = system->is_it(&told, ret_why);
	/* A script in between may say more. */
	if (!is && !starts && system->application && system->unsupported == NULL)
		*ret_why = g_strdup_printf("its unit does not start %s itself", system->program);
	return is || *ret_why != NULL;
}

/* The generator of a container's unit has its own links to the unit, or none. */
static bool
is_enabled(int root_fd, const char *service)
{
	g_autofree char *why = NULL;

	return gbe_unit_file(root_fd, service) == GBE_UNIT_ABSENT ||
	       gbe_unit_enabled(root_fd, service, &why) == GBE_YES;
}

guint
gbe_installed_look(int root_fd, GbeInstalled ret_installed[GBE_SYSTEMS_MAX])
{
	guint count = 0;

	for (const GbeSystem *system = gbe_systems; system->name != NULL; system++) {
		GbeInstalled found = {.system = system};
		GbeUnitFile file;

		if (count > 0 &&
		    g_str_equal(ret_installed[count - 1].system->service, system->service))
			continue;
		file = gbe_unit_file(root_fd, system->service);
		if (file == GBE_UNIT_MASKED ||
		    (file == GBE_UNIT_ABSENT && !gbe_unit_is_generated(root_fd, system->service)) ||
		    (system->marker != NULL && gbe_is_in_root(root_fd, system->marker) != GBE_YES))
			continue;
		/* A package may bring the unit of a server to a machine that is not a server. */
		if (system->unsupported != NULL && !is_enabled(root_fd, system->service))
			continue;
		if (!is_system(root_fd, system, &found.why))
			continue;
		if (system->unsupported != NULL && found.why == NULL)
			found.why = g_strdup_printf("not supported: %s", system->unsupported);
		ret_installed[count++] = found;
	}
	for (guint i = 0; count > 1 && i < count; i++)
		ret_installed[i].enabled = is_enabled(root_fd, ret_installed[i].system->service);
	return count;
}

void
gbe_installed_clear(GbeInstalled *installed, guint count)
{
	for (guint i = 0; i < count; i++)
		g_clear_pointer(&installed[i].why, g_free);
}

/* Does the system's default directory of the member exist? */
static bool
has_member(int root_fd, const GbeSystem *system)
{
	const char *data = "", *member = "";
	g_autofree char *path = NULL;

	for (const GbeSystemSetting *s = system->settings; s->group != NULL; s++) {
		if (g_str_equal(s->key, "data-dir"))
			data = s->value;
		else if (g_str_equal(s->key, "member-dir"))
			member = s->value;
	}
	path = g_build_filename(data, member, "member", NULL);
	return gbe_is_in_root(root_fd, path) == GBE_YES;
}

bool
gbe_installed_without_etcd(int root_fd, const char **ret_text, const char **ret_hint)
{
	for (const GbeSystem *system = gbe_systems; system->name != NULL; system++) {
		g_auto(GbeTold) told = {NULL, NULL};
		bool starts;

		if (system->without_etcd != NULL &&
		    gbe_unit_file(root_fd, system->service) == GBE_UNIT_PRESENT &&
		    read_told(root_fd, system, &told, &starts, NULL) && starts &&
		    system->without_etcd(&told, has_member(root_fd, system), ret_text, ret_hint))
			return true;
	}
	return false;
}

/* ---- the optional programs ---- */

char *
gbe_programs_directory(void)
{
	g_autofree char *path = NULL;
	Dl_info info;
	const char *name;

	if (dladdr((const void *)&gbe_programs_directory, &info) == 0 || info.dli_fname == NULL)
		return NULL;
	name = strrchr(info.dli_fname, '/');
	if (name == NULL || !g_str_equal(name + 1, GBE_PROGRAM_LIBRARY GBE_VERSION ".so"))
		return NULL;
	/* The loader's path has ".." in it. */
	path = g_canonicalize_filename(info.dli_fname, "/");
	return g_path_get_dirname(path);
}

bool
gbe_program_is_verb(const char *word)
{
	return g_ascii_islower(*word) && word[strspn(word, "abcdefghijklmnopqrstuvwxyz-")] == '\0';
}

GbeTri
gbe_program_find(const char *verb, char **ret_path)
{
	g_autofree char *directory = gbe_programs_directory();
	g_autofree char *path = NULL;

	if (ret_path != NULL)
		*ret_path = NULL;
	if (directory == NULL)
		return GBE_UNKNOWN;
	if (!gbe_program_is_verb(verb))
		return GBE_NO;
	path = g_strconcat(directory, "/" GBE_PROGRAM_PREFIX, verb, NULL);
	if (access(path, F_OK) < 0)
		return GBE_NO;
	if (ret_path != NULL)
		*ret_path = g_steal_pointer(&path);
	return GBE_YES;
}

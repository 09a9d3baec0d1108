/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Reads the kernel command line, for sys/deployment/run.h. The generator links this file without run.c, which asks
 * systemd. */
#include <string.h>

#include "fs/open.h"
#include "sys/deployment/run.h"

/* The kernel's own limit is a few KiB, on every architecture. */
#define MAX_CMDLINE (64 * 1024)

void
gbe_cmdline_clear(GbeCmdline *cmdline)
{
	g_clear_pointer(&cmdline->ostree, g_free);
	g_clear_pointer(&cmdline->restore, g_free);
	g_clear_pointer(&cmdline->rd_restore, g_free);
	g_clear_pointer(&cmdline->masked, g_ptr_array_unref);
	cmdline->skip = false;
	cmdline->rd_skip = false;
}

/* Takes the next word from *@at as the kernel does: a blank outside of double quotes ends it; quotes round the
 * whole word or round the value are removed. *ret_value is NULL without a '='. */
static char *
next_word(char **at, char **ret_value)
{
	char *word = *at + strspn(*at, " \t\n\v\f\r");
	char *equals = NULL;
	bool quoted = false;
	bool whole = false;
	char *end;

	if (*word == '\0')
		return NULL;
	if (*word == '"') {
		whole = true;
		quoted = true;
		word++;
	}
	for (end = word; *end != '\0' && (quoted || !g_ascii_isspace(*end)); end++) {
		if (*end == '=' && equals == NULL && end > word)
			equals = end;
		if (*end == '"')
			quoted = !quoted;
	}
	*at = *end == '\0' ? end : end + 1;
	*end = '\0';
	if (whole && end > word && end[-1] == '"')
		end[-1] = '\0';
	*ret_value = NULL;
	if (equals != NULL) {
		*equals = '\0';
		*ret_value = equals + 1;
		if (equals[1] == '"') {
			(*ret_value)++;
			if (end > *ret_value && end[-1] == '"')
				end[-1] = '\0';
		}
	}
	return word;
}

/* '-' and '_' are equal in names, for the kernel and for systemd. */
static bool
is_key(const char *word, const char *key)
{
	for (; *word != '\0' && *key != '\0'; word++, key++) {
		char a = *word == '_' ? '-' : *word;
		char b = *key == '_' ? '-' : *key;

		if (a != b)
			return false;
	}
	return *word == *key;
}

/* A switch without a value is on. */
static bool
switched_on(const char *value)
{
	static const char *const off[] = {"0", "no", "n", "off", "false", "f"};

	if (value == NULL)
		return true;
	for (gsize i = 0; i < G_N_ELEMENTS(off); i++)
		if (g_ascii_strcasecmp(value, off[i]) == 0)
			return false;
	return true;
}

/* The last value wins. An empty value drops those before it. */
static void
replace_value(char **where, const char *value)
{
	g_free(*where);
	*where = value == NULL || *value == '\0' ? NULL : g_strdup(value);
}

static void
add_masked(GbeCmdline *cmdline, const char *unit)
{
	if (unit == NULL || *unit == '\0')
		return;
	if (cmdline->masked == NULL)
		cmdline->masked = g_ptr_array_new_with_free_func(g_free);
	g_ptr_array_add(cmdline->masked, g_strdup(unit));
}

void
gbe_cmdline_parse(const char *text, GbeCmdline *ret_cmdline)
{
	g_autofree char *copy = g_strdup(text);
	GbeCmdline cmdline = {NULL};
	char *at = copy;
	char *value = NULL;
	char *word;

	while ((word = next_word(&at, &value)) != NULL) {
		if (strcmp(word, "ostree") == 0)
			replace_value(&cmdline.ostree, value);
		else if (is_key(word, "greenboot-etcd.restore"))
			replace_value(&cmdline.restore, value);
		else if (is_key(word, "greenboot-etcd.skip"))
			cmdline.skip = switched_on(value);
		else if (is_key(word, "rd.greenboot-etcd.restore"))
			replace_value(&cmdline.rd_restore, value);
		else if (is_key(word, "rd.greenboot-etcd.skip"))
			cmdline.rd_skip = switched_on(value);
		else if (is_key(word, "systemd.mask"))
			add_masked(&cmdline, value);
	}
	*ret_cmdline = cmdline;
}

bool
gbe_cmdline_read(int root_fd, GbeCmdline *ret_cmdline, GError **error)
{
	g_autofree char *text = NULL;
	gsize size = 0;

	if (!gbe_read_in_root(root_fd, "/proc/cmdline", MAX_CMDLINE, &text, &size, error))
		return false;
	gbe_cmdline_parse(text, ret_cmdline);
	return true;
}

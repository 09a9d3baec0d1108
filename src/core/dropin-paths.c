/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "core/dropin-paths.h"

#include <string.h>

#include "core/certs.h"
#include "core/dropin.h"

void
gbe_dropin_add_word(GString *text, const char *setting, const char *word)
{
	g_autofree char *quoted = gbe_unit_quote(word);

	g_string_append_printf(text, "%s=%s\n", setting, quoted);
}

/* "/srv" of "/srv/backups/etcd"; a directory directly below "/" is reached through "/" alone. */
static char *
granted(const char *directory)
{
	const char *name = directory + strspn(directory, "/");
	const char *end = strchr(name, '/');

	if (end == NULL || end[strspn(end, "/")] == '\0')
		return g_strdup("/");
	return g_strdup_printf("/%.*s", (int)(end - name), name);
}

/* What the units' own sandbox would hide or put something else in place of. */
void
gbe_dropin_add_visible(GString *text, const char *directory)
{
	static const struct {
		const char *below, *setting;
	} hidden[] = {
	    {"/home/", "ProtectHome=no"},     {"/root/", "ProtectHome=no"},
	    {"/var/home/", "ProtectHome=no"}, {"/var/roothome/", "ProtectHome=no"},
	    {"/run/user/", "ProtectHome=no"}, {"/tmp/", "PrivateTmp=no"},
	    {"/var/tmp/", "PrivateTmp=no"},
	};

	for (gsize i = 0; i < G_N_ELEMENTS(hidden); i++)
		if (g_str_has_prefix(directory, hidden[i].below))
			g_string_append_printf(text, "%s\n", hidden[i].setting);
}

/* What is not there yet is no reason not to start. */
void
gbe_dropin_add_path(GString *text, const char *path)
{
	g_autofree char *entry = g_strconcat("-", path, NULL);

	gbe_dropin_add_word(text, "ReadWritePaths", entry);
}

void
gbe_dropin_add_writable(GString *text, const char *directory)
{
	g_autofree char *path = NULL;

	if (directory == NULL || *directory == '\0')
		return;
	path = granted(directory);
	gbe_dropin_add_path(text, path);
	gbe_dropin_add_visible(text, directory);
}

/* For who renames nothing between data and store: the store alone. Where none is configured, it may be at the top of
 * the data's file system, which any directory on the way may be. */
void
gbe_dropin_add_store(GString *text, const GbeConfig *config)
{
	g_autofree char *path = g_strdup(config->etcd.data_dir);

	gbe_dropin_add_visible(text, config->etcd.data_dir);
	if (config->etcd.wal_dir != NULL)
		gbe_dropin_add_visible(text, config->etcd.wal_dir);
	if (config->backup.directory != NULL && *config->backup.directory != '\0') {
		gbe_dropin_add_path(text, config->backup.directory);
		gbe_dropin_add_visible(text, config->backup.directory);
		return;
	}
	for (char *slash = path + strlen(path); slash != NULL; slash = strrchr(path, '/')) {
		g_autofree char *store = NULL;

		*slash = '\0';
		store = g_strconcat(path, "/.greenboot-etcd", NULL);
		gbe_dropin_add_path(text, store);
	}
}

/* Read, wherever they lie. */
void
gbe_dropin_add_certs(GString *text, const char *directories)
{
	g_auto(GStrv) paths = NULL;

	if (!gbe_certs_directories(directories, &paths, NULL))
		return;
	for (guint i = 0; paths[i] != NULL; i++)
		gbe_dropin_add_visible(text, paths[i]);
}

void
gbe_dropin_add_sandbox(GString *text, const GbeConfig *config)
{
	g_string_append(text, "[Service]\n");
	gbe_dropin_add_writable(text, config->etcd.data_dir);
	gbe_dropin_add_writable(text, config->etcd.wal_dir);
	gbe_dropin_add_writable(text, config->backup.directory);
}

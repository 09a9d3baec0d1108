/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "sys/unit-owner.h"

#include "core/config/systems.h"
#include "sys/enabled.h"

#include <string.h>

static bool
is_id(const char *text, guint32 *ret_id)
{
	guint64 id;

	if (text == NULL || !g_ascii_string_to_unsigned(text, 10, 0, G_MAXUINT32 - 1, &id, NULL))
		return false;
	*ret_id = (guint32)id;
	return true;
}

/* The fields of @name's line in passwd(5) or group(5). An image may have its own below /usr/lib (nss-altfiles). */
static char **
look_up(int root_fd, const char *file, const char *name)
{
	static const char *const dirs[] = {"/etc/", "/usr/lib/"};

	for (gsize i = 0; i < G_N_ELEMENTS(dirs); i++) {
		g_autoptr(GString) text = g_string_new(NULL);
		g_autofree char *path = g_strconcat(dirs[i], file, NULL);
		g_auto(GStrv) lines = NULL;

		gbe_text_append(root_fd, path, text);
		lines = g_strsplit(text->str, "\n", -1);
		for (guint n = 0; lines[n] != NULL; n++) {
			g_auto(GStrv) fields = g_strsplit(lines[n], ":", -1);

			if (g_strcmp0(fields[0], name) == 0 && g_strv_length(fields) >= 4)
				return g_steal_pointer(&fields);
		}
	}
	return NULL;
}

/* The last value of @key; NULL: there is none. */
static char *
last_value(const char *text, const char *key)
{
	g_auto(GStrv) values = gbe_unit_values(text, key);
	guint count = g_strv_length(values);

	return count > 0 ? g_strdup(values[count - 1]) : NULL;
}

bool
gbe_unit_owner(int root_fd, const char *unit, uid_t *ret_uid, gid_t *ret_gid)
{
	g_autoptr(GString) text = g_string_new(NULL);
	g_autofree char *user = NULL;
	g_autofree char *group = NULL;
	g_auto(GStrv) of_user = NULL;
	g_auto(GStrv) of_group = NULL;
	guint32 uid, gid;

	gbe_unit_append_text(root_fd, unit, text);
	user = last_value(text->str, "User");
	group = last_value(text->str, "Group");
	if (user == NULL)
		return false;
	of_user = look_up(root_fd, "passwd", user);
	of_group = group != NULL ? look_up(root_fd, "group", group) : NULL;
	if (!is_id(of_user != NULL ? of_user[2] : user, &uid))
		return false;
	if (group != NULL ? !is_id(of_group != NULL ? of_group[2] : group, &gid)
			  : !is_id(of_user != NULL ? of_user[3] : NULL, &gid))
		gid = uid;
	*ret_uid = uid;
	*ret_gid = gid;
	return true;
}

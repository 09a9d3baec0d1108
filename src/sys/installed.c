/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "sys/installed.h"

#include "sys/enabled.h"

static bool
is_there(int root_fd, const char *service)
{
	GbeUnitFile file = gbe_unit_file(root_fd, service);

	return file == GBE_UNIT_PRESENT ||
	       (file == GBE_UNIT_ABSENT && gbe_unit_is_generated(root_fd, service));
}

static bool
is_it(int root_fd, const GbeSystem *system)
{
	g_autoptr(GString) text = g_string_new(NULL);
	g_auto(GStrv) words = NULL;

	if (system->is_it == NULL)
		return true;
	gbe_unit_append_text(root_fd, system->service, text);
	for (guint i = 0; system->sources[i] != NULL; i++)
		gbe_text_append(root_fd, system->sources[i], text);
	words = gbe_system_words(text->str);
	return system->is_it(words);
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
		if (count > 0 &&
		    g_str_equal(ret_installed[count - 1].system->service, system->service))
			continue;
		if (is_there(root_fd, system->service) && is_it(root_fd, system))
			ret_installed[count++] = (GbeInstalled){.system = system};
	}
	for (guint i = 0; count > 1 && i < count; i++)
		ret_installed[i].enabled = is_enabled(root_fd, ret_installed[i].system->service);
	return count;
}

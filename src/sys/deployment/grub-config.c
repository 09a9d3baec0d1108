/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "sys/deployment/grub-config.h"

#include <fcntl.h>
#include <string.h>

#include "fs/open.h"

#define MAX_CONFIG ((gsize)1024 * 1024)

/* Every version of the snippet counts with COUNTER. A configuration with a menu is no mere pointer to another file. */
#define COUNTER "boot_counter"
static const char *const menus[] = {"blscfg", "menuentry"};

static bool
says(const char *bytes, gsize size, const char *word)
{
	return memmem(bytes, size, word, strlen(word)) != NULL;
}

GbeTri
gbe_grub_counts(int root_fd)
{
	/* The generated file, and the files that it reads for people. */
	static const char *const paths[] = {
	    "/boot/grub2/grub.cfg", "/boot/grub2/custom.cfg", "/boot/grub2/user.cfg",
	    "/boot/grub/grub.cfg",  "/boot/grub/custom.cfg",
	};
	GbeTri counts = GBE_UNKNOWN;

	for (gsize i = 0; i < G_N_ELEMENTS(paths); i++) {
		g_autofree char *bytes = NULL;
		gsize size = 0;

		if (!gbe_read_in_root(root_fd, paths[i], MAX_CONFIG, &bytes, &size, NULL))
			continue;
		if (says(bytes, size, COUNTER))
			return GBE_YES;
		for (gsize j = 0; j < G_N_ELEMENTS(menus); j++)
			if (says(bytes, size, menus[j]))
				counts = GBE_NO;
	}
	return counts;
}

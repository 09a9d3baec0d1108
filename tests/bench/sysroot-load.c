/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * sysroot-load ROOT: prints the microseconds that libostree itself needs to load the sysroot. Each reader of the
 * deployments pays this. Each run is a process of its own, like the programs.
 */
#include <ostree.h>
#include <stdio.h>

int
main(int argc, char **argv)
{
	g_autoptr(GError) error = NULL;
	g_autoptr(OstreeSysroot) sysroot = NULL;
	g_autoptr(GFile) file = NULL;
	gint64 began = g_get_monotonic_time();

	if (argc != 2) {
		fprintf(stderr, "usage: %s ROOT\n", argv[0]);
		return 2;
	}
	file = g_file_new_for_path(argv[1]);
	sysroot = ostree_sysroot_new(file);
	if (!ostree_sysroot_load(sysroot, NULL, &error)) {
		fprintf(stderr, "sysroot-load: %s: %s\n", argv[1], error->message);
		return 1;
	}
	printf("%" G_GINT64_FORMAT "\n", g_get_monotonic_time() - began);
	return 0;
}

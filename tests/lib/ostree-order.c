/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * ostree-order SYSROOT INDEX: makes the deployment at INDEX the default entry, all others keep their
 * order. rpm-ostree and bootc do this for their `rollback`; ostree's own command cannot.
 */
#include <ostree.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

static bool
reorder(const char *path, guint index, GError **error)
{
	g_autoptr(GFile) file = g_file_new_for_path(path);
	g_autoptr(OstreeSysroot) sysroot = ostree_sysroot_new(file);
	g_autoptr(GPtrArray) deployments = NULL;
	g_autoptr(OstreeDeployment) first = NULL;

	if (!ostree_sysroot_load(sysroot, NULL, error))
		return false;
	deployments = ostree_sysroot_get_deployments(sysroot);
	if (index >= deployments->len) {
		g_set_error(error, G_IO_ERROR, G_IO_ERROR_NOT_FOUND, "%s has no deployment %u",
			    path, index);
		return false;
	}
	first = g_object_ref(g_ptr_array_index(deployments, index));
	g_ptr_array_remove_index(deployments, index);
	g_ptr_array_insert(deployments, 0, g_object_ref(first));
	return ostree_sysroot_write_deployments(sysroot, deployments, NULL, error);
}

int
main(int argc, char **argv)
{
	g_autoptr(GError) error = NULL;

	if (argc != 3) {
		fprintf(stderr, "usage: %s SYSROOT INDEX\n", argv[0]);
		return 2;
	}
	if (!reorder(argv[1], (guint)strtoul(argv[2], NULL, 10), &error)) {
		fprintf(stderr, "%s\n", error->message);
		return 1;
	}
	return 0;
}

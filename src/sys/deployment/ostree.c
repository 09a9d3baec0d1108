/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "sys/deployment/ostree.h"

#include <ostree.h>

#include "base/dlopen.h"

#define SONAME "libostree-1.so.1"
#define FUNCTIONS(X)                                                                               \
	X(ostree_commit_get_timestamp)                                                             \
	X(ostree_deployment_get_csum)                                                              \
	X(ostree_deployment_get_deployserial)                                                      \
	X(ostree_deployment_get_osname)                                                            \
	X(ostree_deployment_get_unlocked)                                                          \
	X(ostree_deployment_is_pinned)                                                             \
	X(ostree_deployment_is_staged)                                                             \
	X(ostree_deployment_unlocked_state_to_string)                                              \
	X(ostree_repo_load_commit)                                                                 \
	X(ostree_sysroot_get_booted_deployment)                                                    \
	X(ostree_sysroot_get_deployments)                                                          \
	X(ostree_sysroot_get_repo)                                                                 \
	X(ostree_sysroot_load)                                                                     \
	X(ostree_sysroot_new)
GBE_DLOPEN_FUNCTIONS(FUNCTIONS);

struct GbeOstree {
	OstreeSysroot *sysroot;
};

static GThread *ahead; /* loads libostree; NULL: no such thread, or joined */

/* A failure is ignored here: gbe_ostree_open() tries again and reports it. */
static gpointer
load_in_thread(gpointer unused)
{
	bool is_there = gbe_dlopen(SONAME, lib_symbols, G_N_ELEMENTS(lib_symbols), NULL);

	return GINT_TO_POINTER(is_there);
}

void
gbe_ostree_load_ahead(void)
{
	if (ahead == NULL && lib.ostree_sysroot_new == NULL)
		ahead = g_thread_try_new("libostree", load_in_thread, NULL, NULL);
}

/* libostree needs the path "/" for the running system. Any other sysroot is given by its fd, so that a symlink on
 * the way cannot lead out of the root. */
bool
gbe_ostree_open(int sysroot_fd, bool is_root, GbeOstree **ret_ostree, GError **error)
{
	g_autofree char *path =
	    is_root ? g_strdup("/") : g_strdup_printf("/proc/self/fd/%d", sysroot_fd);
	g_autoptr(GFile) file = g_file_new_for_path(path);
	g_autoptr(OstreeSysroot) sysroot = NULL;
	g_autoptr(GError) local = NULL;

	if (ahead != NULL)
		(void)g_thread_join(g_steal_pointer(&ahead));
	if (!gbe_dlopen(SONAME, lib_symbols, G_N_ELEMENTS(lib_symbols), &local))
		return gbe_throw(error, GBE_ERROR_CANNOT_TELL, "%s", local->message);
	sysroot = lib.ostree_sysroot_new(file);
	if (!lib.ostree_sysroot_load(sysroot, NULL, error)) {
		(void)gbe_convert(error, GBE_ERROR_CANNOT_TELL);
		return gbe_prefix(error, "cannot load ostree's deployments");
	}
	*ret_ostree = g_new0(GbeOstree, 1);
	(*ret_ostree)->sysroot = g_steal_pointer(&sysroot);
	return true;
}

void
gbe_ostree_free(GbeOstree *ostree)
{
	g_object_unref(ostree->sysroot);
	g_free(ostree);
}

static void
dir_of(OstreeDeployment *deployment, GbeDeployDir *ret_dir)
{
	ret_dir->stateroot = g_strdup(lib.ostree_deployment_get_osname(deployment));
	ret_dir->checksum = g_strdup(lib.ostree_deployment_get_csum(deployment));
	ret_dir->serial = (guint)lib.ostree_deployment_get_deployserial(deployment);
}

static void
deployment_free(gpointer data)
{
	GbeOstreeDeployment *deployment = data;

	gbe_deploy_dir_clear(&deployment->dir);
	g_free(deployment);
}

GPtrArray *
gbe_ostree_list(const GbeOstree *ostree)
{
	g_autoptr(GPtrArray) all = lib.ostree_sysroot_get_deployments(ostree->sysroot);
	GPtrArray *list = g_ptr_array_new_with_free_func(deployment_free);

	for (guint i = 0; i < all->len; i++) {
		GbeOstreeDeployment *deployment = g_new0(GbeOstreeDeployment, 1);
		OstreeDeploymentUnlockedState state =
		    lib.ostree_deployment_get_unlocked(all->pdata[i]);

		dir_of(all->pdata[i], &deployment->dir);
		deployment->staged = lib.ostree_deployment_is_staged(all->pdata[i]);
		deployment->pinned = lib.ostree_deployment_is_pinned(all->pdata[i]);
		if (state != OSTREE_DEPLOYMENT_UNLOCKED_NONE)
			deployment->unlocked =
			    lib.ostree_deployment_unlocked_state_to_string(state);
		g_ptr_array_add(list, deployment);
	}
	return list;
}

bool
gbe_ostree_booted(const GbeOstree *ostree, GbeDeployDir *ret_dir)
{
	OstreeDeployment *booted = lib.ostree_sysroot_get_booted_deployment(ostree->sysroot);

	if (booted == NULL)
		return false;
	dir_of(booted, ret_dir);
	return true;
}

void
gbe_ostree_commit_labels(const GbeOstree *ostree, const char *checksum, gint64 *ret_time,
			 char **ret_version)
{
	g_autoptr(OstreeRepo) repo = NULL;
	g_autoptr(GVariant) commit = NULL, metadata = NULL;

	if (!lib.ostree_sysroot_get_repo(ostree->sysroot, &repo, NULL, NULL) ||
	    !lib.ostree_repo_load_commit(repo, checksum, &commit, NULL, NULL))
		return;
	*ret_time = (gint64)lib.ostree_commit_get_timestamp(commit);
	metadata = g_variant_get_child_value(commit, 0);
	(void)g_variant_lookup(metadata, "version", "s", ret_version);
}

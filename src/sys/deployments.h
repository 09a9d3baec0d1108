/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * ostree's deployments through libostree: no rpm-ostree, no bootc. On the system itself the booted one
 * is libostree's; below --root it is the one that `ostree=` in proc/cmdline points to, if
 * run/ostree-booted exists there. The sysroot is looked for at /sysroot below a booted deployment, or
 * at the root itself where it has /ostree/repo.
 */
#pragma once

#include "base/auto.h"
#include "base/error.h"
#include "core/deployment.h"
#include "core/listed.h"
#include "core/tri.h"
#include "sys/run.h"

typedef struct {
	GbeTri ostree;	      /* an ostree system: /run/ostree-booted */
	GPtrArray *listed;    /* of GbeListed, boot order; NULL: the list is not known */
	char *list_why;	      /* why not */
	GbeDeployment booted; /* id NULL: not known */
	char *booted_why;
} GbeDeployments;

void gbe_deployments_free(GbeDeployments *deployments);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(GbeDeployments, gbe_deployments_free)

/* Begins what gbe_deployments_load() takes longest for, loading libostree, where that is going to be wanted: what
 * is done until then is done beside it. */
void gbe_deployments_load_ahead(int root_fd, const char *root_path);
/* Never fails: what could not be read is unknown with its reason. @root_path: "/" or DIR. */
GbeDeployments *gbe_deployments_load(int root_fd, const char *root_path, const GbeCmdline *cmdline);
/* "booted", "rollback", "staged", "pinned" or "gone" (the contract's words). */
const char *gbe_deployments_presence(const GbeDeployments *deployments, const GbeDeployment *ref);
/* How the booted one is unlocked (core/listed.h); NULL: it is not, or that is not known. */
const char *gbe_deployments_unlocked(const GbeDeployments *deployments);
/* Another stateroot than the booted one's that has deployments: its /var is another one. Newly allocated;
 * NULL: there is none. */
char *gbe_deployments_neighbour(const GbeDeployments *deployments);
const GbeListed *gbe_deployments_find(const GbeDeployments *deployments, const GbeDeployment *ref);

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Identifies this run, and lists ostree's deployments through libostree, without rpm-ostree or bootc. On the system itself libostree tells
 * the booted one; below --root it is the one that `ostree=` in proc/cmdline points to, if run/ostree-booted exists
 * there. The sysroot is /sysroot below a booted deployment, or the root itself where it has /ostree/repo.
 */
#pragma once

#include "base/auto.h"
#include "base/error.h"
#include "core/deployment.h"
#include "core/tri.h"
#include "sys/deployment/booted.h"

/* Identifies this run by the kernel's boot id and systemd's SoftRebootsCount; below --root the count of soft reboots is
 * in run/greenboot-etcd/soft-reboots (absent: 0). *ret_run is newly allocated. GBE_ERROR_CANNOT_TELL when the boot id,
 * or a count that should exist, cannot be read: the run is then unknown, never "the same". @is_root: this is the
 * running system, so that systemd is asked over D-Bus. */
bool gbe_run_read(int root_fd, bool is_root, char **ret_run, GError **error) GBE_CHECKED;

typedef struct {
	GbeTri ostree;	      /* an ostree system: /run/ostree-booted */
	GPtrArray *listed;    /* of GbeListed, boot order; NULL: unknown */
	char *list_why;	      /* why the list is unknown */
	GbeDeployment booted; /* id NULL: unknown */
	char *booted_why;
	int sysroot_fd; /* for gbe_deployments_read_versions(); -1: no sysroot, or they are read */
} GbeDeployments;

void gbe_deployments_free(GbeDeployments *deployments);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(GbeDeployments, gbe_deployments_free)

/* Starts to load libostree, which takes most of the time of gbe_deployments_load(), where that will be needed. The
 * caller's work until then runs in parallel. */
void gbe_deployments_load_ahead(int root_fd, const char *root_path);
/* Never fails: what could not be read is unknown, with its reason. @root_path: "/" or DIR. */
GbeDeployments *gbe_deployments_load(int root_fd, const char *root_path, const GbeCmdline *cmdline);
/* "booted", "rollback", "staged", "pinned" or "gone" (the contract's words). NULL: the list is unknown, or
 * the booted deployment is not in it. */
const char *gbe_deployments_presence(const GbeDeployments *deployments, const GbeDeployment *ref);
/* How the booted deployment is unlocked (core/deployment.h). NULL: it is locked, or unknown. */
const char *gbe_deployments_unlocked(const GbeDeployments *deployments);
/* Another stateroot than the booted one's that has deployments; it has a /var of its own. Newly allocated. NULL:
 * none. */
char *gbe_deployments_neighbour(const GbeDeployments *deployments);
/* The listed deployments as people know them (core/deployment-name.h): of GbeDeploymentName, newly allocated, in boot
 * order. Empty if the list is unknown. Reads the versions. */
GPtrArray *gbe_deployments_names(GbeDeployments *deployments);
/* Reads the os-release of each listed deployment whose commit has no version, once. Not for a start
 * that makes no backup and shows no names. An unreadable version stays unknown. */
void gbe_deployments_read_versions(GbeDeployments *deployments);
const GbeListed *gbe_deployments_find(const GbeDeployments *deployments, const GbeDeployment *ref);
/* Opens the tree of a deployment. *ret_path: absolute, without --root; newly allocated. */
bool gbe_deployments_open_tree(int root_fd, const char *id, char **ret_path, int *ret_fd,
			       GError **error) GBE_CHECKED;

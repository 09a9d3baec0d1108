/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Reads what files alone tell: the kernel command line, ostree's booted deployment (ostree=) and the staged one
 * (run/ostree/staged-deployment). Needed below --root, where libostree would look at the machine's own /run and /, and
 * in the generator, which links this file without systemd and libostree.
 */
#pragma once

#include "base/auto.h"
#include "base/error.h"

/* A deployment by its directory: /ostree/deploy/<stateroot>/deploy/<checksum>.<serial>. */
typedef struct {
	char *stateroot;
	char *checksum;
	guint serial;
} GbeDeployDir;

void gbe_deploy_dir_clear(GbeDeployDir *dir);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(GbeDeployDir, gbe_deploy_dir_clear)

/* Reads the end of @path; anything may come before "deploy/<stateroot>/deploy/". */
bool gbe_deploy_dir_parse(const char *path, GbeDeployDir *ret_dir);
/* Relative to the sysroot, newly allocated. */
char *gbe_deploy_dir_path(const GbeDeployDir *dir);
/* Follows @ostree_arg (the value of ostree=, a link below the sysroot) to a deployment's directory. */
bool gbe_booted_resolve(int sysroot_fd, const char *ostree_arg, GbeDeployDir *ret_dir,
			GError **error) GBE_CHECKED;
/* GBE_ERROR_NOT_FOUND when nothing is staged. *ret_locked: the next shutdown does not finalize it. */
bool gbe_staged_read(int root_fd, GbeDeployDir *ret_dir, bool *ret_locked,
		     GError **error) GBE_CHECKED;
/* Parses ostree's a{sv} from memory. Any bytes are allowed. */
bool gbe_staged_parse(const char *bytes, gsize size, GbeDeployDir *ret_dir, bool *ret_locked,
		      GError **error) GBE_CHECKED;
/* Sets ostree's lock, with which a shutdown does not finalize the staged deployment, or removes it. In /run: a power
 * cut removes both the lock and the staged deployment. */
bool gbe_staged_lock(int root_fd, bool locked, GError **error) GBE_CHECKED;

/* The kernel command line. */
typedef struct {
	char *ostree;	  /* value of ostree=, or NULL */
	char *restore;	  /* greenboot-etcd.restore=, the last one; NULL: absent */
	bool skip;	  /* greenboot-etcd.skip */
	char *rd_restore; /* rd.greenboot-etcd.restore= */
	bool rd_skip;
	GPtrArray *masked; /* of char *: systemd.mask=, as written; NULL: none */
} GbeCmdline;

void gbe_cmdline_clear(GbeCmdline *cmdline);
/* Parses @text; double quotes work as in the kernel. */
void gbe_cmdline_parse(const char *text, GbeCmdline *ret_cmdline);
bool gbe_cmdline_read(int root_fd, GbeCmdline *ret_cmdline, GError **error) GBE_CHECKED;

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The transient unit for a program that works on a copy. The program sees one deployment's tree or this system, and
 * writes only its working directory. It has no network, device, capability or socket of this system. Its user has no
 * other process and no other file. Pure; src/sys/systemd/units.h starts it.
 */
#pragma once

#include <glib.h>
#include <stdbool.h>

/* One at a time: the caller holds this program's lock. */
#define GBE_WALLED_UNIT "greenboot-etcd-copy.service"
/* The working directory as the program sees it. */
#define GBE_WALLED_PLACE "/run/greenboot-etcd-copy"

#define GBE_WALLED_UNSHARE "/usr/bin/unshare"
#define GBE_WALLED_SETPRIV "/usr/bin/setpriv"

typedef struct {
	const char *tree;     /* becomes "/"; NULL: this system */
	const char *hidden;   /* of this system: a directory that the program must not see; NULL */
	const char *bound_to; /* a unit with which this one ends; NULL */
	const char *work;     /* the working directory, with all symlinks resolved */
	int output_fd;	      /* an open file, for what the program prints */
	const char *const *argv; /* the absolute path, and its arguments */
	guint user;		 /* its uid and gid, which need no account */
	bool own_users;		 /* this kernel has user namespaces */
	bool own_pids; /* this systemd has PrivatePIDs= and BindLogSockets=, as of version 257 */
	/* The tree has the two programs of util-linux below. With ->own_users and without ->own_pids, they give the
	 * program a namespace of process ids. */
	bool util_linux;
	guint64 seconds; /* then it is killed */
	guint64 memory;	 /* bytes */
	guint64 largest; /* bytes of a file */
} GbeWalledUnit;

/* The properties as StartTransientUnit takes them, "a(sv)", floating. */
GVariant *gbe_walled_unit_properties(const GbeWalledUnit *unit);

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Identifies this run by the kernel's boot id and systemd's SoftRebootsCount, and reads the kernel command line.
 * Below --root the number of soft reboots is in run/greenboot-etcd/soft-reboots (absent: 0). Implemented in run.c,
 * cmdline.c.
 */
#pragma once

#include "base/auto.h"
#include "base/error.h"

/* *ret_run is newly allocated. GBE_ERROR_CANNOT_TELL when the boot id, or a count that should exist, cannot be
 * read: the run is then unknown, never "the same". @is_root: this is the running system, so that systemd is asked
 * over D-Bus. */
bool gbe_run_read(int root_fd, bool is_root, char **ret_run, GError **error) GBE_CHECKED;

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

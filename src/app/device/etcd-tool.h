/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Finds etcd's own command-line tool, which is installed with etcd, and waits for a run of the tool to end. */
#pragma once

#include "app/device/context.h"
#include "sys/child.h"

/* Opens etcdutl (etcd 3.5 and later) beside [etcd] binary, else etcdctl of 3.5 and before. @for_what: "restores a
 * snapshot". *ret_tool is static. GBE_ERROR_REFUSED: no tool can do this. */
bool gbe_etcd_tool_open(GbeApp *app, const char *for_what, const char **ret_tool, int *ret_fd,
			GError **error) GBE_CHECKED;
/* Waits until @child has ended. GBE_ERROR_FAILED after @seconds; the caller then ends the child. */
bool gbe_etcd_tool_wait(GbeChild *child, guint64 seconds, GError **error) GBE_CHECKED;

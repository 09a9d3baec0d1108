/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* etcd's own tool for its files, which comes with it: started, and waited for. */
#pragma once

#include "app/context.h"
#include "sys/child.h"

/* etcdutl, which etcd 3.5 and later have, beside [etcd] binary; else etcdctl of 3.5 and before. @for_what: "restores
 * a snapshot". *ret_tool is static. GBE_ERROR_REFUSED: there is none that can. */
bool gbe_etcd_tool_open(GbeApp *app, const char *for_what, const char **ret_tool, int *ret_fd,
			GError **error) GBE_CHECKED;
/* Until it has ended. After @seconds, and when @progress (may be NULL) says false: GBE_ERROR_FAILED, and the caller
 * ends it. */
bool gbe_etcd_tool_wait(GbeChild *child, guint64 seconds,
			bool (*progress)(guint64 done, guint64 total, gpointer data), gpointer data,
			GError **error) GBE_CHECKED;

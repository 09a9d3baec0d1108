/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Etcd as it is installed: its service, and its command-line tool.
 *
 * Stops etcd's service for a while and starts it again. A guardian process, forked before the service is stopped,
 * holds the reading end of a pipe. When the writing end closes without a message, the worker is gone and the
 * guardian starts the service. The guardian has closed all other files, so it holds no lock.
 */
#pragma once

#include "app/device/context.h"

#include <sys/types.h>

/* etcd may replay a long WAL after a start, and prerun runs before etcd. */
#define GBE_SERVICE_START_MS (300 * 1000)

typedef struct {
	char *unit; /* NULL: nothing was stopped */
	pid_t guardian;
	int pipe_fd;
} GbeService;

/* Stops [etcd] service when it is active. The unit in *ret_service is NULL when it was not active.
 * GBE_ERROR_REFUSED when no service is configured, and below --root. */
bool gbe_service_stop(const GbeApp *app, GbeService *ret_service, GError **error) GBE_CHECKED;
/* Starts the service that was stopped, and dismisses the guardian. */
bool gbe_service_start(GbeService *service, GError **error) GBE_CHECKED;

/* Opens etcdutl (etcd 3.5 and later) next to [etcd] binary, else etcdctl of 3.5 and before. @for_what: "restores a
 * snapshot". *ret_tool is static. GBE_ERROR_REFUSED: no tool can do this. */
bool gbe_etcd_tool_open(GbeApp *app, const char *for_what, const char **ret_tool, int *ret_fd,
			GError **error) GBE_CHECKED;

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * etcd's service out of the way for a while. A guardian, forked before the service is stopped, holds the
 * reading end of a pipe: when the writing end closes without a word, whoever worked is gone, and it
 * starts the service itself. It has closed everything else, so that it holds no lock.
 */
#pragma once

#include "app/context.h"

#include <sys/types.h>

typedef struct {
	char *unit; /* NULL: nothing was stopped */
	pid_t guardian;
	int pipe_fd;
} GbeService;

/* Stops [etcd] service where it is active. *ret_service with unit NULL: it was not. GBE_ERROR_REFUSED
 * where none is configured, and below --root. */
bool gbe_service_stop(const GbeApp *app, GbeService *ret_service, GError **error) GBE_CHECKED;
/* Starts what was stopped, and dismisses the guardian. */
bool gbe_service_start(GbeService *service, GError **error) GBE_CHECKED;

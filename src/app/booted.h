/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The booted deployment by files alone, without libostree: for what has to be small, or must work where
 * libostree does not. */
#pragma once

#include "app/context.h"
#include "core/deployment.h"

/* Follows ostree= of the kernel command line. After a soft reboot that still names the deployment before
 * it: the caller knows. GBE_ERROR_CANNOT_TELL without ostree=. */
bool gbe_booted_from_cmdline(GbeApp *app, GbeDeployment *ret_booted, GError **error) GBE_CHECKED;

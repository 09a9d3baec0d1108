/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Finds the booted deployment from files alone, without libostree: for a program that must stay small, or must
 * work where libostree does not. */
#pragma once

#include "app/device/context.h"
#include "core/deployment.h"

/* Follows ostree= of the kernel command line. After a soft reboot, ostree= still names the deployment before it;
 * the caller has to know that. GBE_ERROR_CANNOT_TELL without ostree=. */
bool gbe_booted_from_cmdline(GbeApp *app, GbeDeployment *ret_booted, GError **error) GBE_CHECKED;

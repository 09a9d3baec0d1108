/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Passes the configuration to systemd, at boot and at each reload of its units, before any unit runs: writes
 * drop-ins (core/units/dropin.h), only in the generator's output directory, which is in memory.
 */
#pragma once

#include "app/device/context.h"

/* Writes nothing when the configured service is empty or does not exist, or when prerun is masked or does not
 * exist: etcd then starts on the present data. @output: the directory that systemd passes, not below the root.
 * *ret_complaint: NULL, or what is wrong with the configuration and what is used instead. On error, what was
 * written so far stays.
 *
 * A link in /etc, instead, would be merged into a deployment without this package, and would keep etcd from
 * starting there. */
bool gbe_generate(GbeApp *app, const char *output, char **ret_complaint,
		  GError **error) GBE_CHECKED;

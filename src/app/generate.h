/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What systemd is told of the configuration, at boot and at each reload of its units, before any unit
 * runs: drop-ins (core/dropin.h) in the generator's output directory, in memory, and nowhere else. A link
 * in /etc would be merged into a deployment without this package, and keep etcd down there.
 *
 * Nothing is written where the configured service is empty or not there, and where prerun is masked or not
 * there: etcd starts then on what is there.
 */
#pragma once

#include "app/context.h"

/* @output: the directory, as systemd gives it; not below the root. *ret_complaint: NULL, or what is wrong
 * with the configuration and what is used instead. On error, what was written so far stays. */
bool gbe_generate(GbeApp *app, const char *output, char **ret_complaint,
		  GError **error) GBE_CHECKED;

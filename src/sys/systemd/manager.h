/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Asks process 1 of the running system over D-Bus for what only it knows. */
#pragma once

#include "base/auto.h"
#include "base/error.h"
#include "core/tri.h"

/* Of systemd: 252. 0: unknown. */
guint64 gbe_manager_version(void);
/* 0 where this systemd has no soft reboots. GBE_ERROR_CANNOT_TELL where it does not answer. */
bool gbe_manager_soft_reboots(guint *ret_count, GError **error) GBE_CHECKED;
/* Does the system shut down (or soft-reboot)? Unknown without D-Bus. */
GbeTri gbe_system_stopping(void);

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What only process 1 of the running system says, over D-Bus. */
#pragma once

#include "base/auto.h"
#include "base/error.h"
#include "core/tri.h"

/* 0 with a systemd that has none. GBE_ERROR_CANNOT_TELL where it does not answer. */
bool gbe_manager_soft_reboots(guint *ret_count, GError **error) GBE_CHECKED;
/* Is it going down (or soft-rebooting)? Unknown without D-Bus. */
GbeTri gbe_system_stopping(void);

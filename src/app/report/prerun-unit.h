/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The state of prerun's unit, as systemd will see it. */
#pragma once

#include "app/device/context.h"
#include "sys/enabled.h"

#define GBE_PRERUN_UNIT "greenboot-etcd-prerun.service"

/* MASKED: masked by a file, for this boot (`systemctl mask --runtime`), or by the kernel command line. */
GbeUnitFile gbe_prerun_unit(const GbeApp *app);

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* prerun's unit, as systemd will take it. */
#pragma once

#include "app/context.h"
#include "sys/enabled.h"

#define GBE_PRERUN_UNIT "greenboot-etcd-prerun.service"

/* Masked by a file, for this boot (`systemctl mask --runtime`), or by the kernel command line: MASKED. */
GbeUnitFile gbe_prerun_unit(const GbeApp *app);

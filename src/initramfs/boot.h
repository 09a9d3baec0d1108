/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The verb of the initramfs unit: carries out a request of the kernel command line. */
#pragma once
#include "cli/verb.h"

/* Carries out rd.greenboot-etcd.restore= once. The boot goes on whatever the result: always true. */
GbeVerbRun gbe_verb_boot;

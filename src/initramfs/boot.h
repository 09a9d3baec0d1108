/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The verb of the initramfs unit: does what the kernel command line asks for. */
#pragma once
#include "cli/verb.h"

/* Does what rd.greenboot-etcd.restore= asks for, once. Always true: the boot continues after a failure also. */
GbeVerbRun gbe_verb_boot;

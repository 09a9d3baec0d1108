/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Does GRUB count boots down? Only where its configuration has greenboot's snippet (08_greenboot.cfg of bootupd,
 * 08_fallback_counting of grub2-tools). A grub.cfg that was made once, before greenboot was installed, does not get
 * the snippet by itself: there an update that fails is booted again and again (greenboot's issue 135).
 */
#pragma once

#include "base/auto.h"
#include "core/tri.h"

/* YES: a configuration below /boot has boot_counter. NO: there is a grub.cfg with a menu, and none has it. UNKNOWN:
 * no grub.cfg tells. The EFI system partition is not read: that may take a mount. */
GbeTri gbe_grub_counts(int root_fd);

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Does GRUB count boots down? Only where its configuration has greenboot's snippet (08_greenboot.cfg of
 * bootupd, 08_fallback_counting of grub2-tools), which a grub.cfg that was made once, before greenboot came,
 * does not get by itself: there an update that fails is booted again and again (greenboot's issue 135).
 */
#pragma once

#include "base/auto.h"
#include "core/tri.h"

/* YES: a configuration below /boot knows boot_counter. NO: there is a grub.cfg with a menu, and none does.
 * UNKNOWN: there is no grub.cfg that says. The EFI system partition is not asked: to look there may have to
 * mount it. */
GbeTri gbe_grub_counts(int root_fd);

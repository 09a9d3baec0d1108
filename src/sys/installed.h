/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Looks for the systems of core/config/systems.h in unit files on the disk, and asks nobody: the answer is the same
 * below --root, in an image, for a generator, and while the system runs. */
#pragma once

#include "core/config/systems.h"

/* Fills in @ret_installed, to be cleared, and returns how many there are. A masked unit is not there. */
guint gbe_installed_look(int root_fd, GbeInstalled ret_installed[GBE_SYSTEMS_MAX]);
void gbe_installed_clear(GbeInstalled *installed, guint count);

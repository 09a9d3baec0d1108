/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* restore --skip-backup --stop: removes the displaced backup once etcd is healthy again (app/by-hand/by-hand.h). */
#pragma once

#include "app/device/context.h"

/* Waits @seconds at most until etcd, which was started again, is healthy; then removes the backup @name that the
 * restore of @restored displaced. GBE_ERROR_VERIFY_FAILED: etcd is not healthy; _CANNOT_TELL: its health is
 * unknown; _REFUSED: the backup must stay. Not linked into the initramfs, where no etcd runs. */
bool gbe_displaced_discard(GbeApp *app, const char *name, const char *restored, guint seconds,
			   GError **error) GBE_CHECKED;

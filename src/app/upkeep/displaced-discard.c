/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "app/upkeep/displaced-discard.h"

#include "app/by-hand/by-hand.h"
#include "app/upkeep/live-etcd.h"
#include "base/fault.h"

/* Without the program's lock: the service's prerun needs it. */
static bool
wait_until_healthy(GbeApp *app, guint seconds, GError **error)
{
	g_auto(GbeLiveEtcd) live = {.app = app, .operation = "restore --skip-backup"};

	live.look = gbe_health_look_new(app);
	gbe_health_look_expect_own(live.look);
	gbe_live_etcd_look(&live, seconds);
	return gbe_live_etcd_check_healthy(&live, error);
}

bool
gbe_displaced_discard(GbeApp *app, const char *name, const char *restored, guint seconds,
		      GError **error)
{
	return wait_until_healthy(app, seconds, error) && !GBE_FAULT("displaced-healthy", error) &&
	       gbe_by_hand_discard(app, name, restored, error);
}

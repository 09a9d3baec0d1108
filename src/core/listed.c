/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "core/listed.h"

void
gbe_listed_free(GbeListed *listed)
{
	if (listed == NULL)
		return;
	gbe_deployment_clear(&listed->ref);
	g_free(listed->unlocked);
	g_free(listed);
}

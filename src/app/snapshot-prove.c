/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "app/snapshot.h"

bool
gbe_snapshot_prove(GbeApp *app, const GbePart *part, GbeVerification **ret_verification,
		   GError **error)
{
	const GbeVerifyOptions options = {.level = GBE_VERIFY_FULL, .summed = TRUE};
	g_autoptr(GbeVerification) verification = NULL;
	g_autofree char *what = NULL;

	if (!gbe_verify_snapshot(app, part->fd, part->name, &options, &verification, error))
		return false;
	if (gbe_findings_worst(&verification->findings) == GBE_FINDING_DAMAGE) {
		what = gbe_finding_to_text(gbe_findings_first(&verification->findings));
		return gbe_throw(error, GBE_ERROR_VERIFY_FAILED, "the database is damaged: %s",
				 what);
	}
	*ret_verification = g_steal_pointer(&verification);
	return true;
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "certs/change.h"

static bool
renew(GbePkiChange *change, GError **error)
{
	GbePkiResult *result = change->result;
	char *reason;

	if (!gbe_pki_change_begin(change, error))
		return false;
	if (result->pki == NULL)
		return gbe_throw(error, GBE_ERROR_NOT_FOUND,
				 "there are no certificates in " GBE_PKI_LIVE
				 ": `greenboot-etcd certs init` makes them");
	reason = gbe_pki_due(change->app, result->pki, NULL);
	if (reason == NULL && !change->options->force)
		return gbe_pki_check_clock(result->pki, error);
	g_free(result->reason);
	result->reason = reason != NULL ? reason : g_strdup("asked for");
	return gbe_pki_issue_leaves(change->app, result->pki, error) &&
	       gbe_pki_change_commit(change, false, error);
}

bool
gbe_pki_renew(GbeApp *app, const GbePkiOptions *options, GbePkiResult *result, GError **error)
{
	return gbe_pki_change_run(app, "certs renew", renew, options, result, error);
}

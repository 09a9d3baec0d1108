/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "certs/change.h"
#include "certs/token.h"

#include "sys/systemd/units.h"

#define RENEW_TIMER "greenboot-etcd-renew.timer"
#define TIMER_TIMEOUT_MS 30000

/* Its condition was not met when the system booted. */
static void
start_timer(GbePkiChange *change)
{
	g_autoptr(GError) local = NULL;

	if (!change->app->below_root && !gbe_unit_start(RENEW_TIMER, TIMER_TIMEOUT_MS, &local))
		g_ptr_array_add(change->result->notes,
				g_strdup_printf("certificates are renewed by itself only after the "
						"next boot: %s",
						local->message));
}

static bool
find_authority(GbePkiChange *change, GbePki *pki, GError **error)
{
	const char *token = change->options->token;

	if (token == NULL)
		return gbe_pki_make_authority(change, &pki->signer, error);
	return gbe_token_read(change->app, token, pki, error) &&
	       gbe_pki_seal(change, &pki->signer, error) &&
	       gbe_pki_seal(change, &pki->other, error);
}

static bool
init(GbePkiChange *change, GError **error)
{
	g_autoptr(GbePki) pki = gbe_pki_new();

	if (!gbe_pki_change_begin(change, error))
		return false;
	if (change->result->pki != NULL)
		return gbe_throw(error, GBE_ERROR_REFUSED,
				 "there are certificates in " GBE_PKI_LIVE
				 " already: `greenboot-etcd certs renew` replaces them, `certs "
				 "rotate-ca` makes a new authority");
	if (!find_authority(change, pki, error) || !gbe_pki_issue_leaves(change->app, pki, error))
		return false;
	change->result->pki = g_steal_pointer(&pki);
	change->result->reason = g_strdup(
	    "an authority, and certificates of a server, a peer and a client, in " GBE_PKI_LIVE);
	if (!gbe_pki_change_commit(change, false, error))
		return false;
	if (!change->options->dry_run)
		start_timer(change);
	return true;
}

bool
gbe_pki_init(GbeApp *app, const GbePkiOptions *options, GbePkiResult *result, GError **error)
{
	return gbe_pki_change_run(app, "certs init", init, options, result, error);
}

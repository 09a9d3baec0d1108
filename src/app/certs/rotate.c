/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A new authority in three steps, of which each can be undone: trust both, issue the certificates by the new one, trust
 * the new one alone. Between two steps every client and member can get what it needs. etcd reads the authorities only
 * when it starts, and its own certificates at each handshake.
 */
#include "app/by-hand/by-hand.h"
#include "app/certs/change.h"
#include "app/device/endpoint.h"
#include "etcd/api/client.h"

typedef struct {
	GbeRotation from, to;
	bool exchange;	   /* signer and other change places */
	bool reissue;	   /* by the signer of then */
	bool restart;	   /* the authorities that are trusted are others */
	bool others_first; /* safe only where all members have come to ->from, or further */
	const char *words; /* what was done */
} Step;

static const Step forward[] = {
    {GBE_ROTATION_NONE, GBE_ROTATION_TRUSTED, false, false, true, false,
     "step 1 of 3: the next authority is trusted, too"},
    {GBE_ROTATION_TRUSTED, GBE_ROTATION_REISSUED, true, true, false, true,
     "step 2 of 3: the next authority has issued the certificates"},
    {GBE_ROTATION_REISSUED, GBE_ROTATION_NONE, false, false, true, true,
     "step 3 of 3: the former authority is no longer trusted"},
};

static const Step back[] = {
    {GBE_ROTATION_NONE, GBE_ROTATION_REISSUED, false, false, true, false,
     "step 3 undone: the former authority is trusted again"},
    {GBE_ROTATION_TRUSTED, GBE_ROTATION_NONE, false, false, true, true,
     "step 1 undone: the next authority is forgotten"},
    {GBE_ROTATION_REISSUED, GBE_ROTATION_TRUSTED, true, true, false, true,
     "step 2 undone: the former authority has issued the certificates again"},
};

static const Step *
step_from(const GbePkiChange *change)
{
	const Step *steps = change->options->undo ? back : forward;

	for (guint i = 0; i < G_N_ELEMENTS(forward); i++)
		if (steps[i].from == change->result->pki->record.rotation)
			return &steps[i];
	g_assert_not_reached();
}

/* Has the cluster this member only? False where neither etcd nor the data tells. */
static bool
is_alone(const GbePkiChange *change)
{
	g_auto(GbeAppEndpoint) at = {{0}};
	g_auto(GbeCallFailure) failure = {0};
	g_autoptr(GbeClient) client = NULL;
	GbeEtcdMembers members = {0};
	bool alone = false;

	if (!change->running)
		return gbe_by_hand_is_alone(change->app, change->operation, &alone, NULL) && alone;
	gbe_app_endpoint(change->app, &at);
	alone = gbe_client_open(&at.endpoint, &client, &failure) &&
		gbe_client_members(client, gbe_app_deadline(change->app), &members, &failure) &&
		members.list != NULL && members.list->len == 1;
	gbe_message_clear(GBE_MESSAGE_MEMBERS, &members);
	return alone;
}

/* A member that does not trust another one's authority is cut off from it. */
static bool
check_members(const GbePkiChange *change, const Step *step, GError **error)
{
	return !step->others_first || change->options->force || is_alone(change) ||
	       gbe_throw(
		   error, GBE_ERROR_REFUSED,
		   "the cluster has other members, or whether it has cannot be told: a member "
		   "that has not come as far would be cut off. Look with `greenboot-etcd "
		   "certs list` on each of them, then add --force");
}

static void
exchange(GbePki *pki)
{
	GbeAuthority signer = pki->signer;

	pki->signer = pki->other;
	pki->other = signer;
}

static bool
take(GbePkiChange *change, const Step *step, GError **error)
{
	GbePki *pki = change->result->pki;

	if (step->from == GBE_ROTATION_NONE && !change->options->undo) {
		gbe_authority_clear(&pki->other);
		if (!gbe_pki_make_authority(change, &pki->other, error))
			return false;
	} else if (change->options->ca_cert != NULL || change->options->ca_key != NULL ||
		   change->options->seal || change->options->validity != 0) {
		return gbe_throw(
		    error, GBE_ERROR_USAGE,
		    "--ca-cert, --ca-key, --for and --seal go with the first step, and "
		    "a new authority is there already");
	}
	if (!check_members(change, step, error))
		return false;
	if (step->exchange)
		exchange(pki);
	if (step->reissue && !gbe_pki_issue_leaves(change->app, pki, error))
		return false;
	if (step->to == GBE_ROTATION_NONE && change->options->undo)
		gbe_authority_clear(&pki->other);
	pki->record.rotation = step->to;
	g_free(change->result->reason);
	change->result->reason = g_strdup(step->words);
	return gbe_pki_change_commit(change, step->restart, error);
}

static bool
rotate(GbePkiChange *change, GError **error)
{
	const GbePki *pki;

	if (!gbe_pki_change_begin(change, error))
		return false;
	pki = change->result->pki;
	if (pki == NULL)
		return gbe_throw(error, GBE_ERROR_NOT_FOUND,
				 "there are no certificates in " GBE_PKI_LIVE
				 ": `greenboot-etcd certs init` makes them");
	if (change->options->undo && pki->other.certificate == NULL)
		return gbe_throw(error, GBE_ERROR_NOT_FOUND,
				 "no other authority is there: there is nothing to undo");
	return take(change, step_from(change), error);
}

bool
gbe_pki_rotate(GbeApp *app, const GbePkiOptions *options, GbePkiResult *result, GError **error)
{
	return gbe_pki_change_run(app, "certs rotate-ca", rotate, options, result, error);
}

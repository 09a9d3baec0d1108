/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A new authority in three steps, of which each can be undone: trust both, issue the certificates by the new one, trust
 * the new one alone. Between two steps every client and member can get what it needs. etcd reads the authorities only
 * when it starts, and its own certificates at each handshake.
 */
#include "app/by-hand/by-hand.h"
#include "certs/change.h"
#include "certs/trust.h"

typedef struct {
	GbeRotation from, to;
	bool exchange;	   /* signer and other change places */
	bool reissue;	   /* by the signer of then */
	bool restart;	   /* the authorities that are trusted are others */
	bool others_first; /* safe only if all members have come to ->from, or further */
	const char *words; /* what was done */
	const char *hint;  /* how another member comes to ->from */
} Step;

#define TAKE_IT                                                                                    \
	"give it the next authority: `greenboot-etcd cluster token FILE` here, `greenboot-etcd "   \
	"certs rotate-ca --token=FILE` there"

static const Step forward[] = {
    {GBE_ROTATION_NONE, GBE_ROTATION_TRUSTED, false, false, true, false,
     "step 1 of 3: the next authority is trusted, too", NULL},
    {GBE_ROTATION_TRUSTED, GBE_ROTATION_REISSUED, true, true, false, true,
     "step 2 of 3: the next authority has issued the certificates", TAKE_IT},
    {GBE_ROTATION_REISSUED, GBE_ROTATION_NONE, false, false, true, true,
     "step 3 of 3: the former authority is no longer trusted",
     "run `greenboot-etcd certs rotate-ca` there"},
};

static const Step back[] = {
    {GBE_ROTATION_NONE, GBE_ROTATION_REISSUED, false, false, true, false,
     "step 3 undone: the former authority is trusted again", NULL},
    {GBE_ROTATION_TRUSTED, GBE_ROTATION_NONE, false, false, true, true,
     "step 1 undone: the next authority is forgotten",
     "run `greenboot-etcd certs rotate-ca --undo` there"},
    {GBE_ROTATION_REISSUED, GBE_ROTATION_TRUSTED, true, true, false, true,
     "step 2 undone: the former authority has issued the certificates again",
     "run `greenboot-etcd certs rotate-ca --undo` there"},
};

/* A member is cut off if it does not take the certificates of @pki, which the step would make live, or shows one that
 * they do not trust. */
static bool
check_members(const GbePkiChange *change, const Step *step, GError **error)
{
	g_auto(GbeTrust) trust = {0};
	g_autoptr(GError) local = NULL;
	bool alone = false;

	if (!step->others_first || change->options->force)
		return true;
	if (!change->running)
		return (gbe_by_hand_is_alone(change->app, change->operation, &alone, NULL) &&
			alone) ||
		       gbe_throw(error, GBE_ERROR_REFUSED,
				 "etcd does not run, so the other members cannot be asked whether "
				 "they would be cut off; start it, or add --force");
	if (!gbe_trust_ask(change->app, change->result->pki,
			   change->app->config->health.request_timeout, &trust, &local))
		return gbe_throw(error, GBE_ERROR_REFUSED,
				 "%s; whether members would be cut off is unknown; --force takes "
				 "the step without this check",
				 local->message);
	return trust.refusal == NULL ||
	       gbe_throw(error, GBE_ERROR_REFUSED,
			 "%s: this step would cut it off, as far as is known; %s, or add --force",
			 trust.refusal, step->hint);
}

/* The members of a cluster need one next authority, not one each. */
static bool
find_next(const GbePkiChange *change, GbeAuthority *ret_next, GError **error)
{
	const GbePkiOptions *options = change->options;
	const GbeAuthority *own = &change->result->pki->signer;
	g_autoptr(GbePki) token = gbe_pki_new();
	GbeAuthority *next;

	if (options->token == NULL)
		return gbe_pki_make_authority(change, ret_next, error);
	if (options->ca_cert != NULL || options->ca_key != NULL || options->validity != 0)
		return gbe_throw(error, GBE_ERROR_USAGE,
				 "--token has the next authority: it takes no --ca-cert, --ca-key "
				 "or --for");
	if (!gbe_token_read(change->app, options->token, token, error))
		return false;
	next = gbe_authority_equal(&token->signer, own) ? &token->other : &token->signer;
	if (next == &token->signer && !gbe_authority_equal(&token->other, own))
		return gbe_throw(
		    error, GBE_ERROR_REFUSED,
		    "%s: the token does not have the authority of this device; write "
		    "it with `greenboot-etcd cluster token` on a member of its cluster "
		    "that has taken step 1",
		    options->token);
	if (next->certificate == NULL)
		return gbe_throw(error, GBE_ERROR_REFUSED,
				 "%s: the token has no next authority; write it with "
				 "`greenboot-etcd cluster token` on a member that has taken step 1",
				 options->token);
	*ret_next = *next;
	*next = (GbeAuthority){0};
	return gbe_pki_seal(change, ret_next, error);
}

static bool
take_step(GbePkiChange *change, const Step *step, GError **error)
{
	GbePki *pki = change->result->pki;
	const GbePkiOptions *options = change->options;
	bool is_first = step->from == GBE_ROTATION_NONE && !options->undo;

	if (is_first) {
		gbe_authority_clear(&pki->other);
		if (!find_next(change, &pki->other, error))
			return false;
	} else if (options->ca_cert != NULL || options->ca_key != NULL || options->token != NULL ||
		   options->seal || options->validity != 0) {
		return gbe_throw(
		    error, GBE_ERROR_USAGE,
		    "--ca-cert, --ca-key, --token, --for and --seal go with the first step, and "
		    "a new authority is there already");
	}
	if (step->exchange) {
		GbeAuthority signer = pki->signer;

		pki->signer = pki->other;
		pki->other = signer;
	}
	if (step->reissue && !gbe_pki_issue_leaves(change->app, pki, error))
		return false;
	pki->record.rotation = step->to;
	if (!check_members(change, step, error))
		return false;
	if (step->to == GBE_ROTATION_NONE && change->options->undo)
		gbe_authority_clear(&pki->other);
	g_free(change->result->reason);
	change->result->reason = g_strdup(step->words);
	if (!gbe_pki_change_commit(change, step->restart, error))
		return false;
	if (is_first && change->members > 1 && change->options->token == NULL &&
	    change->options->ca_cert == NULL)
		g_ptr_array_add(change->result->notes,
				g_strdup("each other member needs this authority before step 2: "
					 "`greenboot-etcd cluster token FILE` here, "
					 "`greenboot-etcd certs rotate-ca --token=FILE` there"));
	return true;
}

static bool
rotate_authority(GbePkiChange *change, GError **error)
{
	const Step *step = change->options->undo ? back : forward;
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
	while (step->from != pki->record.rotation)
		step++;
	return take_step(change, step, error);
}

bool
gbe_pki_rotate(GbeApp *app, const GbePkiOptions *options, GbePkiResult *result, GError **error)
{
	return gbe_pki_change_run(app, "certs rotate-ca", rotate_authority, options, result, error);
}

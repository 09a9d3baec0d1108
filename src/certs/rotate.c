/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A new authority in three steps. Each can be undone: trust both, issue the certificates by the new one, trust the new
 * one alone. Between two steps, every client and member can get its new files. etcd reads the authorities only when it
 * starts, and its own certificates at each handshake.
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
	const char *words; /* the name of the step */
	const char *hint;  /* how another member comes to ->from */
} Stage;

#define TAKE_IT                                                                                    \
	"give it the next authority: `greenboot-etcd cluster token FILE` here, `greenboot-etcd "   \
	"certs rotate-ca --token=FILE` there"

static const Stage forward[] = {
    {GBE_ROTATION_NONE, GBE_ROTATION_TRUSTED, false, false, true, false,
     "step 1 of 3: the next authority is also trusted", NULL},
    {GBE_ROTATION_TRUSTED, GBE_ROTATION_REISSUED, true, true, false, true,
     "step 2 of 3: the next authority has issued the certificates", TAKE_IT},
    {GBE_ROTATION_REISSUED, GBE_ROTATION_NONE, false, false, true, true,
     "step 3 of 3: the former authority is no longer trusted",
     "run `greenboot-etcd certs rotate-ca` there"},
};

static const Stage back[] = {
    {GBE_ROTATION_NONE, GBE_ROTATION_REISSUED, false, false, true, false,
     "step 3 undone: the former authority is trusted again", NULL},
    {GBE_ROTATION_TRUSTED, GBE_ROTATION_NONE, false, false, true, true,
     "step 1 undone: the next authority is forgotten",
     "run `greenboot-etcd certs rotate-ca --undo` there"},
    {GBE_ROTATION_REISSUED, GBE_ROTATION_TRUSTED, true, true, false, true,
     "step 2 undone: the former authority has issued the certificates again",
     "run `greenboot-etcd certs rotate-ca --undo` there"},
};

/* Would the step cut a member off? True if a member rejects the certificates of @pki, or shows one that @pki does not
 * trust. */
static bool
check_members(const GbePkiChange *change, const Stage *stage, GError **error)
{
	g_auto(GbeTrust) trust = {0};
	g_autoptr(GError) local = NULL;
	bool alone = false;

	if (!stage->others_first || change->options->force)
		return true;
	if (!change->running)
		return (gbe_by_hand_is_alone(change->change.app, change->change.name, &alone,
					     NULL) &&
			alone) ||
		       gbe_throw(error, GBE_ERROR_REFUSED,
				 "etcd does not run, so the other members cannot be asked whether "
				 "they would be cut off; start it, or add --force");
	if (!gbe_trust_ask(change->change.app, change->result->pki,
			   change->change.app->config->health.request_timeout, &trust, &local))
		return gbe_throw(error, GBE_ERROR_REFUSED,
				 "%s; whether members would be cut off is unknown; --force takes "
				 "the step without this check",
				 local->message);
	return trust.refusal == NULL ||
	       gbe_throw(error, GBE_ERROR_REFUSED,
			 "%s: this step would cut it off, as far as is known; %s, or add --force",
			 trust.refusal, stage->hint);
}

/* The members of a cluster need one next authority, not one each. */
static bool
find_next(const GbePkiChange *change, GbeAuthority *ret_next, GError **error)
{
	const GbePkiOptions *options = change->options;
	const GbeAuthority *own = &change->result->pki->signer;
	g_autoptr(GbePki) token = g_new0(GbePki, 1);
	GbeAuthority *next;

	if (options->token == NULL)
		return gbe_pki_make_authority(change, ret_next, error);
	if (options->ca_cert != NULL || options->ca_key != NULL || options->validity != 0)
		return gbe_throw(error, GBE_ERROR_USAGE,
				 "--token has the next authority: it takes no --ca-cert, --ca-key "
				 "or --for");
	if (!gbe_token_read(change->change.app, options->token, token, error))
		return false;
	next = gbe_authority_equal(&token->signer, own) ? &token->other : &token->signer;
	if (next == &token->signer && !gbe_authority_equal(&token->other, own))
		return gbe_throw(error, GBE_ERROR_REFUSED,
				 "%s: the token does not have the authority of this device; run "
				 "`greenboot-etcd cluster token FILE` on a member of its cluster "
				 "that has taken step 1",
				 options->token);
	if (next->certificate == NULL)
		return gbe_throw(error, GBE_ERROR_REFUSED,
				 "%s: the token has no next authority; run `greenboot-etcd "
				 "cluster token FILE` on a member that has taken step 1",
				 options->token);
	*ret_next = *next;
	*next = (GbeAuthority){0};
	return gbe_pki_seal(change, ret_next, error);
}

static bool
enter_stage(gpointer data, GError **error)
{
	GbePkiChange *change = data;
	GbePkiResult *result = change->result;
	GbePki *pki = result->pki;
	const GbePkiOptions *options = change->options;
	const Stage *stage = options->undo ? back : forward;
	GbeAuthority signer;

	if (pki == NULL)
		return gbe_throw(error, GBE_ERROR_NOT_FOUND, GBE_PKI_MISSING);
	if (options->undo && pki->other.certificate == NULL)
		return gbe_throw(error, GBE_ERROR_NOT_FOUND,
				 "no other authority is there: there is nothing to undo");
	while (stage->from != pki->record.rotation)
		stage++;
	if (stage == forward) {
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
	if (stage->exchange) {
		signer = pki->signer;
		pki->signer = pki->other;
		pki->other = signer;
	}
	if (stage->reissue && !gbe_pki_issue_leaves(change->change.app, pki, error))
		return false;
	pki->record.rotation = stage->to;
	if (!check_members(change, stage, error))
		return false;
	if (stage->to == GBE_ROTATION_NONE && options->undo)
		gbe_authority_clear(&pki->other);
	g_free(result->reason);
	result->reason = g_strdup(stage->words);
	change->restart = stage->restart;
	result->restarted = stage->restart && change->running;
	return true;
}

static bool
tell_of_token(gpointer data, GError **error)
{
	GbePkiChange *change = data;
	const GbePkiOptions *options = change->options;

	(void)error;
	if (change->result->pki->record.rotation == GBE_ROTATION_TRUSTED && !options->undo &&
	    change->members > 1 && options->token == NULL && options->ca_cert == NULL)
		g_ptr_array_add(change->result->notes,
				g_strdup("each other member needs this authority before step 2: "
					 "`greenboot-etcd cluster token FILE` here, "
					 "`greenboot-etcd certs rotate-ca --token=FILE` there"));
	return true;
}

const GbeStep gbe_pki_rotate_steps[] = {
    {"pki-looked", gbe_pki_look, NULL, GBE_STEP_LOOK, 0},
    {"pki-earlier-proved", gbe_pki_prove, gbe_pki_unprove, GBE_STEP_UNLOCKED, 0},
    {"pki-rotated", enter_stage, NULL, GBE_STEP_LOOK, 0},
    {"pki-replaced", gbe_pki_replace, NULL, 0, 0},
    {"pki-proved", gbe_pki_prove, gbe_pki_unprove, GBE_STEP_UNLOCKED, 0},
    {"pki-told", tell_of_token, NULL, 0, 0},
    {NULL, NULL, NULL, 0, 0},
};

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "core/decide/past.h"

#include "core/json/members.h"
#include "core/json/parse.h"

char *
gbe_nonce_print(const char *ledger_id, const GbeTakeOver *take_over)
{
	g_autoptr(JsonObject) object = json_object_new();
	g_autofree char *summary =
	    g_strdup_printf("%s has had this data since run %s",
			    take_over->deployment.id != NULL ? take_over->deployment.id : "nobody",
			    take_over->run != NULL ? take_over->run : "unknown");

	gbe_json_set_format(object, GBE_FORMAT, GBE_VERSION);
	gbe_json_set_string(object, "ledger", ledger_id);
	json_object_set_int_member(object, "sequence", (gint64)take_over->sequence);
	gbe_json_set_string(object, "nonce", take_over->nonce);
	gbe_json_set_string(object, "summary", summary);
	return gbe_json_print_object(object);
}

void
gbe_nonce_clear(GbeNonce *nonce)
{
	g_free(nonce->ledger);
	g_free(nonce->nonce);
	*nonce = (GbeNonce){NULL, 0, NULL};
}

void
gbe_nonce_parse(const char *bytes, gsize size, GbeNonce *nonce)
{
	g_autoptr(JsonObject) object = NULL;
	GbeMembers m = {NULL, "", NULL};
	GbeNonce read = {0};

	gbe_nonce_clear(nonce);
	if (!gbe_json_parse_object(bytes, size, GBE_NONCE_NAME, &object, NULL))
		return;
	m.object = object;
	gbe_members_need(&m, "ledger");
	gbe_members_need(&m, "nonce");
	read.ledger = gbe_members_string(&m, "ledger", &gbe_kind_hex64);
	read.sequence = gbe_members_sequence(&m, "sequence");
	read.nonce = gbe_members_string(&m, "nonce", &gbe_kind_hex64);
	if (gbe_members_end(&m, "nonce", NULL))
		*nonce = read;
	else
		gbe_nonce_clear(&read);
}

/* The take-over that the nonce was written for, or NULL. */
static const GbeTakeOver *
of_nonce(const GbeFacts *facts)
{
	const GbeNonce *nonce = &facts->nonce;

	if (nonce->ledger == NULL || g_strcmp0(nonce->ledger, facts->ledger_id) != 0)
		return NULL;
	for (guint i = 0; i < facts->take_overs->len; i++) {
		const GbeTakeOver *take_over = facts->take_overs->pdata[i];

		if (take_over->sequence == nonce->sequence &&
		    g_strcmp0(take_over->nonce, nonce->nonce) == 0)
			return take_over;
	}
	return NULL;
}

static void
set_no_owner(GbeFacts *facts, const char *why)
{
	g_clear_pointer(&facts->owner, gbe_take_over_free);
	g_free(facts->owner_why);
	facts->owner_why = g_strdup(why);
}

static void
set_owner(GbeFacts *facts, const GbeTakeOver *take_over)
{
	gbe_take_over_free(facts->owner);
	facts->owner = gbe_take_over_copy(take_over);
}

/* The closing record may be about another tree. The use that it measured stays known. */
static void
forget_closing(GbeFacts *facts)
{
	GbeTakeOver *owner = facts->owner;

	if (owner->closing.present && facts->config != NULL &&
	    owner->closing.used > (gint64)facts->config->restore.trial_limit)
		owner->used_beyond = true;
	gbe_closing_clear(&owner->closing);
}

void
gbe_identify(GbeFacts *facts)
{
	guint len = facts->take_overs->len;
	const GbeTakeOver *last = len > 0 ? facts->take_overs->pdata[len - 1] : NULL;
	const GbeTakeOver *meant = of_nonce(facts);
	const GbeNonce *nonce = &facts->nonce;
	/* /var went back to an older state, or a second /var has a ledger of its own. */
	bool older = nonce->ledger != NULL && (g_strcmp0(nonce->ledger, facts->ledger_id) != 0 ||
					       nonce->sequence > facts->ledger_last);

	facts->stranger = false;
	if (facts->ledger == GBE_UNKNOWN) {
		set_no_owner(facts, facts->ledger_why);
	} else if (last == NULL) {
		set_no_owner(facts, "the ledger names nobody who had it");
	} else if (facts->lost) {
		set_no_owner(facts, "what the ledger said last cannot be read");
	} else if (facts->tree == NULL && facts->data != GBE_YES) {
		if (facts->handed_back)
			set_no_owner(facts,
				     "it was handed back to a deployment without this program");
		else
			set_owner(facts, last);
	} else if (g_strcmp0(facts->tree, last->tree) == 0) {
		if (facts->handed_back)
			set_no_owner(facts,
				     "it was handed back to a deployment without this program");
		else if (older)
			set_no_owner(facts, "the ledger is older than the data");
		else
			set_owner(facts, last);
		/* Data that was put here by others has another nonce, or none. */
		facts->stranger = meant == NULL;
		if (facts->owner != NULL && meant != last)
			forget_closing(facts);
	} else if (last->tree == NULL && facts->nonce.ledger == NULL && !facts->handed_back) {
		/* The last take-over was a fresh start. etcd has made its data since, and the record of that data's
		 * tree failed. */
		set_owner(facts, last);
		facts->stranger = true;
	} else if (meant != NULL && !facts->handed_back) {
		/* Root moved the data, or put an older state of it back. */
		set_owner(facts, meant);
		forget_closing(facts);
	} else if (facts->data == GBE_NO && !facts->handed_back) {
		set_owner(facts, last);
	} else {
		set_no_owner(facts, "the ledger does not know this data directory");
	}
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "core/decide/past.h"

#include "core/json/parse.h"
#include "core/record/fields.h"

static const GbeField nonce_fields[] = {
    GBE_FIELD_OF(GbeNonce, ledger, "ledger", TEXT, &gbe_kind_hex64, GBE_FIELD_NEEDED),
    GBE_FIELD(GbeNonce, sequence, "sequence", SEQUENCE),
    GBE_FIELD_OF(GbeNonce, nonce, "nonce", TEXT, &gbe_kind_hex64, GBE_FIELD_NEEDED),
    {0},
};

char *
gbe_nonce_print(const char *ledger_id, const GbeTakeOver *take_over)
{
	const GbeNonce nonce = {(char *)ledger_id, take_over->sequence, take_over->nonce};
	g_autoptr(JsonObject) object = json_object_new();
	g_autofree char *summary =
	    g_strdup_printf("%s has had this data since run %s",
			    take_over->deployment.id != NULL ? take_over->deployment.id : "nobody",
			    take_over->run != NULL ? take_over->run : "unknown");

	gbe_json_set_format(object, GBE_FORMAT, GBE_VERSION);
	gbe_fields_print(nonce_fields, object, &nonce);
	gbe_json_set_string(object, "summary", summary);
	return gbe_json_print_object(object);
}

void
gbe_nonce_clear(GbeNonce *nonce)
{
	gbe_fields_clear(nonce_fields, nonce);
	*nonce = (GbeNonce){NULL, 0, NULL};
}

void
gbe_nonce_parse(const char *bytes, gsize size, GbeNonce *nonce)
{
	g_autoptr(JsonObject) object = NULL;
	GbeMembers m = {NULL, "", NULL};

	gbe_nonce_clear(nonce);
	if (!gbe_json_parse_object(bytes, size, GBE_NONCE_NAME, &object, NULL))
		return;
	m.object = object;
	gbe_fields_read(nonce_fields, &m, nonce);
	if (!gbe_members_end(&m, "nonce", NULL))
		gbe_nonce_clear(nonce);
}

static void
set_owner(GbeFacts *facts, const GbeTakeOver *take_over, const char *why)
{
	g_clear_pointer(&facts->owner, gbe_take_over_free);
	if (take_over != NULL) {
		facts->owner = gbe_take_over_copy(take_over);
		return;
	}
	g_free(facts->owner_why);
	facts->owner_why = g_strdup(why);
}

void
gbe_identify(GbeFacts *facts)
{
	static const char handed_back[] = "it was handed back to a deployment without this program";
	guint len = facts->take_overs->len;
	const GbeTakeOver *last = len > 0 ? facts->take_overs->pdata[len - 1] : NULL;
	const GbeTakeOver *meant = NULL; /* the take-over that the nonce was written for */
	const GbeNonce *nonce = &facts->nonce;
	bool ours = nonce->ledger != NULL && g_strcmp0(nonce->ledger, facts->ledger_id) == 0;
	/* /var was reset to an older state, or a second /var has its own ledger. */
	bool older = nonce->ledger != NULL && (!ours || nonce->sequence > facts->ledger_last);
	bool forget = false;

	GBE_EACH(const GbeTakeOver *, take_over, ours ? facts->take_overs : NULL)
		if (meant == NULL && take_over->sequence == nonce->sequence &&
		    g_strcmp0(take_over->nonce, nonce->nonce) == 0)
			meant = take_over;
	facts->stranger = false;
	if (facts->ledger == GBE_UNKNOWN) {
		set_owner(facts, NULL, facts->ledger_why);
	} else if (last == NULL) {
		set_owner(facts, NULL, "the ledger names no owner");
	} else if (facts->lost) {
		set_owner(facts, NULL, "what the ledger said last cannot be read");
	} else if (facts->tree == NULL && facts->data != GBE_YES) {
		set_owner(facts, facts->handed_back ? NULL : last, handed_back);
	} else if (g_strcmp0(facts->tree, last->tree) == 0) {
		set_owner(facts, facts->handed_back || older ? NULL : last,
			  facts->handed_back ? handed_back : "the ledger is older than the data");
		/* Data that another program put here has another nonce, or lacks a nonce. */
		facts->stranger = meant == NULL;
		forget = facts->owner != NULL && meant != last;
	} else if (last->tree == NULL && nonce->ledger == NULL && !facts->handed_back) {
		/* The last take-over was a fresh start. etcd has made its data since, and the record of that data's
		 * tree failed. */
		set_owner(facts, last, NULL);
		facts->stranger = true;
	} else if (meant != NULL && !facts->handed_back) {
		/* Root moved the data, or restored an older state of it. */
		set_owner(facts, meant, NULL);
		forget = true;
	} else if (facts->data == GBE_NO && !facts->handed_back) {
		set_owner(facts, last, NULL);
	} else {
		set_owner(facts, NULL, "the ledger does not know this data directory");
	}
	if (!forget)
		return;
	/* The closing record may describe another tree. Its measured use is still known. */
	if (facts->owner->closing.present && facts->config != NULL &&
	    facts->owner->closing.used > (gint64)facts->config->restore.trial_limit)
		facts->owner->used_beyond = true;
	gbe_closing_clear(&facts->owner->closing);
}

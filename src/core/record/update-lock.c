/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "core/record/update-lock.h"

#include "core/record/fields.h"

static const char *const states[] = {
    [GBE_UPDATE_LOCK_WANTED] = "wanted",
    [GBE_UPDATE_LOCK_HELD] = "held",
    [GBE_UPDATE_LOCK_FAILED] = "failed",
};
const GbeWords gbe_update_lock_words = {states, G_N_ELEMENTS(states), GBE_UPDATE_LOCK_HELD,
					GBE_UPDATE_LOCK_HELD};

static const GbeField fields[] = {
    GBE_FIELD_OF(GbeUpdateLock, id, "id", TEXT, &gbe_kind_hex64, 0),
    GBE_FIELD(GbeUpdateLock, member, "member", TEXT),
    GBE_FIELD(GbeUpdateLock, deployment.id, "deployment", TEXT),
    GBE_FIELD_OF(GbeUpdateLock, deployment.handle, "handle", TEXT, NULL, GBE_FIELD_LATER),
    GBE_FIELD_OF(GbeUpdateLock, state, "state", WORD, &gbe_update_lock_words, 0),
    GBE_FIELD(GbeUpdateLock, reason, "reason", TEXT),
    GBE_FIELD(GbeUpdateLock, since, "since", KNOWN),
    GBE_FIELD_OF(GbeUpdateLock, locked, "locked", FLAG, NULL, GBE_FIELD_LATER),
    {0},
};

void
gbe_update_lock_clear(GbeUpdateLock *lock)
{
	gbe_fields_clear(fields, lock);
}

void
gbe_update_lock_from_json(JsonObject *object, GbeUpdateLock *ret_lock)
{
	*ret_lock = (GbeUpdateLock){0};
	gbe_fields_init(fields, ret_lock);
	gbe_fields_read_known(fields, object, ret_lock);
}

JsonObject *
gbe_update_lock_to_json(const GbeUpdateLock *lock)
{
	JsonObject *object = json_object_new();

	gbe_fields_print(fields, object, lock);
	return object;
}

char *
gbe_update_lock_to_text(const GbeUpdateLock *lock)
{
	const char *member = lock->member != NULL ? lock->member : "a member without a name";
	g_autofree char *update =
	    lock->deployment.id != NULL ? gbe_deployment_id_short(lock->deployment.id) : NULL;

	if (lock->id == NULL)
		return g_strdup("held by another program: the key " GBE_UPDATE_LOCK_KEY
				" was not written by this program");
	if (lock->state == GBE_UPDATE_LOCK_FAILED)
		return g_strdup_printf("failed on %s: %s", member,
				       lock->reason != NULL ? lock->reason : "the update");
	if (update == NULL)
		return g_strdup_printf("held by %s, %s", member,
				       lock->reason != NULL ? lock->reason : "by hand");
	return g_strdup_printf("held by %s for the update %s", member, update);
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cluster/core/intent.h"

#include "core/record/fields.h"

#define LATER(member, key, kind)                                                                   \
	GBE_FIELD_OF(GbeClusterIntent, member, key, kind, NULL, GBE_FIELD_LATER)

static const GbeField fields[] = {
    LATER(operation, "operation", TEXT),
    LATER(command, "command", TEXT),
    LATER(empties, "empties", FLAG),
    LATER(cluster, "cluster", TEXT),
    LATER(id, "id", TEXT),
    LATER(former, "former", TEXT),
    LATER(name, "name", TEXT),
    LATER(urls, "urls", TEXT),
    LATER(peer_url, "peer_url", TEXT),
    LATER(backup, "backup", TEXT),
    LATER(seed, "seed", TEXT),
    LATER(bare, "bare", FLAG),
    LATER(removed, "removed", FLAG),
    LATER(aside, "aside", FLAG),
    LATER(voter, "voter", FLAG),
    LATER(back, "back", FLAG),
    LATER(left, "left", FLAG),
    {0},
};

void
gbe_cluster_intent_clear(GbeClusterIntent *intent)
{
	gbe_fields_clear(fields, intent);
	g_clear_pointer(&intent->found, json_object_unref);
}

void
gbe_cluster_intent_from_json(JsonObject *object, GbeClusterIntent *ret_intent)
{
	*ret_intent = (GbeClusterIntent){0};
	if (object == NULL)
		return;
	ret_intent->found = json_object_ref(object);
	gbe_fields_read_known(fields, object, ret_intent);
}

JsonObject *
gbe_cluster_intent_to_json(const GbeClusterIntent *intent)
{
	JsonObject *object = gbe_json_copy_object(intent->found);

	gbe_fields_print(fields, object, intent);
	return object;
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "app/report/rehearsal.h"

#include "app/state/state.h"

bool
gbe_rehearsal_load(GbeApp *app, const GbeDeployments *deployments, GbeRehearsal *ret_rehearsal)
{
	g_autoptr(JsonObject) object = NULL;
	g_auto(GbeRehearsal) rehearsal = {{0}};
	const GbeListed *listed;

	if (app->state_fd < 0 || !gbe_state_read(app, GBE_STATE_REHEARSAL, false, &object, NULL) ||
	    object == NULL)
		return false;
	gbe_rehearsal_read(object, &rehearsal);
	listed = gbe_deployments_find(deployments, &rehearsal.deployment);
	if (listed == NULL || listed->booted || rehearsal.result == GBE_REHEARSAL_NONE)
		return false;
	*ret_rehearsal = rehearsal;
	rehearsal = (GbeRehearsal){{0}};
	return true;
}

JsonObject *
gbe_rehearsal_to_json(const GbeRehearsal *rehearsal)
{
	JsonObject *object = gbe_rehearsal_print(rehearsal);

	json_object_remove_member(object, "handle");
	json_object_remove_member(object, "duration_usec");
	json_object_set_double_member(object, "duration",
				      (double)MAX(rehearsal->duration_usec, 0) / G_USEC_PER_SEC);
	return object;
}

JsonNode *
gbe_rehearsal_status(GbeApp *app, const GbeDeployments *deployments)
{
	JsonNode *node = json_node_new(JSON_NODE_NULL);
	g_auto(GbeRehearsal) rehearsal = {{0}};

	if (gbe_rehearsal_load(app, deployments, &rehearsal)) {
		json_node_init(node, JSON_NODE_OBJECT);
		json_node_take_object(node, gbe_rehearsal_to_json(&rehearsal));
	}
	return node;
}

char *
gbe_rehearsal_trouble(const GbeRehearsal *rehearsal)
{
	if (rehearsal->result != GBE_REHEARSAL_FAILED)
		return NULL;
	return g_strdup_printf("the etcd of the update %s does not work on today's data: %s%s",
			       rehearsal->deployment.id, rehearsal->reason,
			       rehearsal->locked
				   ? "; a reboot does not take it, `rm "
				     "/run/ostree/staged-deployment-locked` lifts that"
				   : "");
}

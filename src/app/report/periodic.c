/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "app/report/periodic.h"
#include "app/state/state.h"
#include "core/json/members.h"
#include "core/json/parse.h"
#include "sys/systemd/units.h"

#define TIMER "greenboot-etcd-backup.timer"

bool
gbe_periodic_load(GbeApp *app, GbePeriodic *ret_periodic)
{
	g_autoptr(JsonObject) object = NULL;

	if (app->config->backup.schedule == NULL || app->state_fd < 0 ||
	    !gbe_state_read(app, GBE_STATE_PERIODIC, false, &object, NULL))
		return false;
	gbe_periodic_read(object, ret_periodic);
	return true;
}

/* The timer starts and stops with etcd's service. A timer never elapses if systemd rejected it (an unknown time
 * zone), or if a person stopped it. */
static bool
timer_is_off(const GbeApp *app, const GbeHealthLook *look)
{
	GbeUnitState state = {0};
	bool off;

	if (app->below_root || look == NULL || look->facts->service != GBE_SERVICE_RUNNING ||
	    !gbe_unit_query(TIMER, &state, NULL))
		return false;
	off = g_strcmp0(state.active_state, "active") != 0;
	gbe_unit_state_clear(&state);
	return off;
}

char *
gbe_periodic_trouble(GbeApp *app, const GbeHealthLook *look)
{
	g_auto(GbePeriodic) periodic = {0};
	const char *never;

	if (!gbe_periodic_load(app, &periodic))
		return NULL;
	never = periodic.succeeded < 0 ? ", nor any before" : "";
	if (gbe_periodic_is_overdue(&periodic))
		return g_strdup_printf(
		    "the periodic backup of etcd that was due was not taken%s: %s", never,
		    periodic.reason != NULL ? periodic.reason : "no reason recorded");
	if (timer_is_off(app, look))
		return g_strdup("no periodic backup of etcd is taken: " TIMER
				" does not run (`systemctl status " TIMER
				"`; has [backup] schedule changed since "
				"`systemctl daemon-reload`?)");
	return NULL;
}

JsonNode *
gbe_periodic_status(GbeApp *app, const GbeHealthLook *look)
{
	gint64 now = g_get_real_time() / G_USEC_PER_SEC;
	JsonNode *node = json_node_new(JSON_NODE_NULL);
	g_auto(GbePeriodic) periodic = {0};
	g_autofree char *trouble = NULL;
	JsonObject *object;

	if (app->config->backup.schedule == NULL)
		return node;
	if (!gbe_periodic_load(app, &periodic))
		gbe_periodic_init(&periodic);
	trouble = gbe_periodic_trouble(app, look);
	object = json_object_new();
	gbe_json_set_string(object, "schedule", app->config->backup.schedule);
	gbe_json_set_string(object, "result", gbe_periodic_result_to_string(periodic.result));
	gbe_json_set_string(object, "reason", periodic.reason);
	gbe_json_set_known(object, "attempted", periodic.attempted);
	gbe_json_set_known(object, "succeeded", periodic.succeeded);
	gbe_json_set_known(
	    object, "age",
	    periodic.succeeded >= 0 && now >= periodic.succeeded ? now - periodic.succeeded : -1);
	gbe_json_set_string(object, "backup", periodic.backup);
	gbe_json_set_known(object, "taken", periodic.taken);
	json_object_set_boolean_member(object, "overdue", trouble != NULL);
	json_node_init_object(node, object);
	json_object_unref(object);
	return node;
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "app/report/status.h"

#include "app/report/offsite.h"
#include "app/report/periodic.h"
#include "app/report/protection.h"
#include "app/report/rehearsal.h"
#include "app/report/status-next.h"
#include "core/decide/situation.h"
#include "core/json/members.h"
#include "core/json/parse.h"
#include "fs/copy/extents.h"
#include "fs/tree.h"

/* Lists the backups for `list`. */
static void
set_u64(JsonObject *object, const char *key, guint64 value)
{
	json_object_set_int_member(object, key, (gint64)MIN(value, (guint64)G_MAXINT64));
}

JsonObject *
gbe_status_backup(const GbeObserved *observed, const GbeManifest *m, gint64 exclusive)
{
	JsonObject *object = gbe_json_answer();
	const GbeDeployments *deployments = observed->deployments;

	gbe_json_set_string(object, "name", m->name);
	gbe_json_set_string(object, "deployment", m->deployment.id);
	gbe_json_set_string(object, "run", m->run);
	set_u64(object, "sequence", m->sequence);
	gbe_json_set_string(object, "grade", gbe_grade_to_string(m->grade));
	gbe_json_set_string(object, "verdict", gbe_verdict_to_public(m->verdict));
	gbe_json_set_string(object, "health", gbe_health_to_string(m->health));
	gbe_json_set_known(object, "created", m->created > 0 ? m->created : -1);
	gbe_json_set_string(object, "etcd_version", m->etcd_version);
	gbe_json_set_known(object, "revision", m->revision);
	gbe_json_set_string(object, "cluster_id", m->cluster_id);
	gbe_json_set_string(object, "member_id", m->member_id);
	set_u64(object, "size", m->size);
	gbe_json_set_known(object, "db_size", gbe_manifest_db_size(m));
	gbe_json_set_known(object, "exclusive", exclusive);
	gbe_json_set_string(object, "method", gbe_method_to_string(m->method));
	json_object_set_boolean_member(object, "pinned", m->pinned);
	json_object_set_boolean_member(object, "set_aside", m->set_aside);
	json_object_set_boolean_member(object, "consumed", m->consumed);
	/* Null when the deployment, or ostree's list, is not known. */
	gbe_json_set_string(object, "present",
			    m->deployment.id != NULL && deployments->listed != NULL
				? gbe_deployments_presence(deployments, &m->deployment)
				: NULL);
	gbe_json_set_string(object, "description", m->description);
	gbe_json_set_string(object, "origin", gbe_origin_to_string(m->origin));
	/* As in `store list`. */
	gbe_json_set_string(object, "state", "complete");
	gbe_json_set_string(object, "why", NULL);
	return object;
}

static gint64
exclusive_bytes(const GbeObserved *observed, const GbeManifest *m)
{
	gbe_autofd int fd = -1;
	GbeExtents extents = {0};

	if (m->consumed || !gbe_store_open_data(observed->store, m->name, &fd, NULL) ||
	    !gbe_extents_of_tree(fd, true, &extents, NULL))
		return -1;
	return (gint64)extents.exclusive;
}

/* Nothing but the name of a backup is known whose manifest cannot be read. */
static JsonObject *
unreadable(const char *name)
{
	JsonObject *object = gbe_json_answer();

	gbe_json_set_string(object, "name", name);
	gbe_json_set_string(object, "grade", "unreadable");
	gbe_json_set_string(object, "state", "unreadable");
	gbe_json_set_string(object, "why", "the manifest cannot be read");
	return object;
}

JsonArray *
gbe_status_list(const GbeObserved *observed, bool exclusive)
{
	g_autoptr(GPtrArray) sorted = g_ptr_array_new();
	JsonArray *list = json_array_new();

	for (guint i = 0; i < observed->facts->backups->len; i++)
		g_ptr_array_add(sorted, observed->facts->backups->pdata[i]);
	g_ptr_array_sort(sorted, gbe_manifest_newest_first);
	for (guint i = 0; i < sorted->len; i++) {
		const GbeManifest *m = sorted->pdata[i];

		json_array_add_object_element(
		    list,
		    gbe_status_backup(observed, m, exclusive ? exclusive_bytes(observed, m) : -1));
	}
	for (guint i = 0; observed->damaged != NULL && i < observed->damaged->len; i++)
		if (gbe_status_is_damaged(observed, observed->damaged->pdata[i]))
			json_array_add_object_element(list,
						      unreadable(observed->damaged->pdata[i]));
	return list;
}

/* Bytes in the data directory, apparent; -1: could not be told. */
static gint64
data_size(const GbeObserved *observed)
{
	const GbeTreeLimits limits = gbe_tree_look_limits();
	g_auto(GbeTreeInfo) info = {0};

	if (observed->data == NULL || observed->data->fd < 0)
		return -1;
	if (!gbe_tree_scan_within(observed->data->fd, gbe_data_exclude, &limits, &info, NULL))
		return -1;
	return (gint64)info.bytes;
}

static JsonArray *
alarms_json(const GbeHealthFacts *facts)
{
	JsonArray *alarms = json_array_new();

	if (facts != NULL && facts->no_space)
		json_array_add_string_element(alarms, "NOSPACE");
	if (facts != NULL && facts->corrupt)
		json_array_add_string_element(alarms, "CORRUPT");
	if (facts != NULL && facts->other_alarm)
		json_array_add_string_element(alarms, "UNKNOWN");
	return alarms;
}

static JsonArray *
warnings_json(const GbeHealthLook *look)
{
	JsonArray *warnings = json_array_new();

	for (guint i = 0; look != NULL && i < GBE_N_CHECKS; i++) {
		const GbeCheck *check = &look->report->steps[i];
		g_autofree char *text = NULL;

		if (check->result != GBE_CHECK_WARNING)
			continue;
		text = g_strconcat(gbe_check_to_string((GbeCheckKind)i), ": ", check->detail, NULL);
		json_array_add_string_element(warnings, text);
	}
	return warnings;
}

JsonObject *
gbe_status_etcd(const GbeHealthLook *look)
{
	const GbeHealthFacts *facts = look != NULL ? look->facts : NULL;
	JsonObject *etcd = json_object_new();
	GbeHealth health = look != NULL ? look->report->health : GBE_HEALTH_NOT_ASKED;
	GbeTri healthy = GBE_UNKNOWN;

	if (health == GBE_HEALTH_HEALTHY || health == GBE_HEALTH_UNHEALTHY)
		healthy = gbe_tri(health == GBE_HEALTH_HEALTHY);
	gbe_json_set_tri(etcd, "healthy", healthy);
	gbe_json_set_string(etcd, "reason",
			    look != NULL ? look->report->reason : GBE_STATUS_NOT_ASKED);
	gbe_json_set_string(etcd, "version", facts != NULL ? facts->version : NULL);
	gbe_json_set_known(etcd, "revision", facts != NULL ? facts->revision : -1);
	gbe_json_set_known(etcd, "db_size", facts != NULL ? facts->db_size : -1);
	gbe_json_set_known(etcd, "db_in_use", facts != NULL ? facts->db_in_use : -1);
	json_object_set_array_member(etcd, "alarms", alarms_json(facts));
	json_object_set_array_member(etcd, "warnings", warnings_json(look));
	return etcd;
}

static JsonObject *
owner_json(const GbeView *view)
{
	JsonObject *owner = json_object_new();

	gbe_json_set_string(owner, "deployment", view->owner_known ? view->owner->id : NULL);
	gbe_json_set_string(owner, "run", view->owner_known ? view->run : NULL);
	return owner;
}

/* The verdict of the present run, when the data's owner is this run. */
static void
set_verdict(JsonObject *object, const GbeFacts *facts, const GbeView *view)
{
	bool own = gbe_situation_own(facts, NULL) != NULL;

	gbe_json_set_string(object, "verdict",
			    gbe_verdict_to_public(own ? view->verdict : GBE_VERDICT_NONE));
	gbe_json_set_string(object, "health",
			    gbe_health_to_string(own ? view->health : GBE_HEALTH_NOT_ASKED));
	gbe_json_set_tri(object, "trial", view->owner_known ? view->trial.on : GBE_UNKNOWN);
}

static JsonNode *
last_good_json(const GbeFacts *facts)
{
	const GbeManifest *good = gbe_situation_last_good(facts);
	JsonObject *object;
	JsonNode *node = json_node_new(JSON_NODE_NULL);

	if (good == NULL)
		return node;
	object = json_object_new();
	gbe_json_set_string(object, "name", good->name);
	gbe_json_set_known(object, "created", good->created > 0 ? good->created : -1);
	gbe_json_set_known(object, "age", good->created > 0 ? facts->now - good->created : -1);
	gbe_json_set_known(object, "revision", good->revision);
	json_node_init_object(node, object);
	json_object_unref(object);
	return node;
}

static JsonNode *
last_operation_json(const GbeLastOperation *last)
{
	JsonNode *node = json_node_new(JSON_NODE_NULL);
	JsonObject *object;

	if (last->operation != NULL) {
		object = json_object_new();
		gbe_json_set_string(object, "operation", last->operation);
		gbe_json_set_string(object, "result", last->result);
		gbe_json_set_string(object, "rule", last->rule);
		gbe_json_set_string(object, "reason", last->reason);
		gbe_json_set_string(object, "backup", last->backup);
		gbe_json_set_known(object, "started", last->started > 0 ? last->started : -1);
		json_object_set_double_member(object, "duration",
					      (double)last->duration_usec / G_USEC_PER_SEC);
		json_node_init_object(node, object);
		json_object_unref(object);
	}
	return node;
}

static JsonObject *
greenboot_json(const GbeGreenboot *greenboot)
{
	JsonObject *object = json_object_new();

	gbe_json_set_string(object, "flavour", gbe_greenboot_flavour_to_string(greenboot->flavour));
	gbe_json_set_tri(object, "enabled", greenboot->enabled);
	if (greenboot->has_counter)
		json_object_set_int_member(object, "boot_counter", greenboot->boot_counter);
	else
		json_object_set_null_member(object, "boot_counter");
	gbe_json_set_tri(object, "rollback_imminent", greenboot->rollback_imminent);
	gbe_json_set_tri(object, "can_count",
			 greenboot->count_why != NULL ? GBE_NO : greenboot->can_count);
	gbe_json_set_string(object, "reason",
			    greenboot->flavour != GBE_GREENBOOT_NONE ? greenboot->count_why : NULL);
	return object;
}

static JsonObject *
protection_json(GbeProtection *protection)
{
	JsonObject *object = json_object_new();

	gbe_json_set_string(object, "state", gbe_protection_to_string(protection->state));
	gbe_json_set_string(object, "reason", protection->reason);
	gbe_json_set_string(object, "hint", protection->hint);
	gbe_json_set_string(object, "covered", protection->covered);
	json_object_set_boolean_member(object, "certain", protection->certain);
	gbe_protection_clear(protection);
	return object;
}

/* Also sets `next{}`: without a prerun that runs, `next{}` claims nothing. */
static void
set_protection(JsonObject *status, GbeApp *app, GbeObserved *observed, const GbeHealthLook *look)
{
	JsonArray *warnings = gbe_json_array(status, "warnings");
	g_auto(GbeProtectionView) view = {.texts = NULL};
	GbeProtection protection = {.state = GBE_PROTECTED};
	JsonObject *next;

	gbe_protection_observe(app, observed, look, &view);
	if (json_array_get_length(warnings) > 0)
		view.facts.warning = json_array_get_string_element(warnings, 0);
	(void)gbe_protection_is_off(&view.facts, &protection);
	next = gbe_status_next(observed, protection.reason);
	gbe_protection_clear(&protection);
	view.facts.holds = g_strcmp0(gbe_json_string(next, "action", NULL), "hold") == 0;
	/* A restore that a person asked for needs no attention. */
	if (g_strcmp0(gbe_json_string(next, "action", NULL), "restore") == 0 &&
	    g_strcmp0(gbe_json_string(next, "rule", NULL), gbe_rule_to_string(GBE_RULE_2)) != 0)
		view.facts.rewinds = gbe_json_string(next, "backup", "?");
	gbe_protection_judge(&view.facts, &protection);
	json_object_set_object_member(status, "protection", protection_json(&protection));
	json_object_set_object_member(status, "next", next);
}

void
gbe_status_renew(GbeApp *app, const GbeHealthLook *look, JsonObject *status)
{
	GbeProtection protection = {.state = GBE_PROTECTED};
	GbeProtectionFacts facts;

	json_object_set_object_member(status, "etcd", gbe_status_etcd(look));
	gbe_protection_observe_units(app, look, &facts);
	if (gbe_protection_is_off(&facts, &protection)) {
		gbe_status_set_off(gbe_json_object(status, "next"), protection.reason);
		gbe_protection_clear(&protection);
	}
	if (gbe_json_object(status, "protection") == NULL)
		facts.warning = "only root can tell: sudo greenboot-etcd status";
	gbe_protection_judge(&facts, &protection);
	if (protection.state != GBE_PROTECTED)
		json_object_set_object_member(status, "protection", protection_json(&protection));
	else
		gbe_protection_clear(&protection);
}

JsonObject *
gbe_status_collect(GbeApp *app, GbeObserved *observed, const GbeHealthLook *look)
{
	GbeFacts *facts = observed->facts;
	JsonObject *status = gbe_json_answer();
	JsonObject *data = json_object_new();
	g_autofree char *neighbour = gbe_deployments_neighbour(observed->deployments);
	GbeView view;

	gbe_observe_live(observed, look != NULL ? look->facts : NULL);
	gbe_view_live(facts, &view);
	gbe_json_set_tri(status, "ostree", facts->ostree);
	gbe_json_set_string(status, "booted", facts->booted.id);
	gbe_json_set_string(status, "unlocked", gbe_deployments_unlocked(observed->deployments));
	gbe_json_set_string(status, "other_stateroot", neighbour);
	gbe_json_set_string(status, "run", facts->run);
	json_object_set_object_member(status, "owner", owner_json(&view));
	set_verdict(status, facts, &view);
	gbe_json_set_tri(status, "judged", facts->judges);
	json_object_set_object_member(status, "etcd", gbe_status_etcd(look));
	gbe_json_set_string(data, "path", observed->data->path);
	gbe_json_set_known(data, "size", data_size(observed));
	json_object_set_object_member(status, "data", data);
	json_object_set_int_member(status, "backups", facts->backups->len);
	json_object_set_member(status, "last_good", last_good_json(facts));
	json_object_set_member(status, "last_operation",
			       last_operation_json(&observed->facts->last));
	json_object_set_member(status, "periodic", gbe_periodic_status(app, look));
	json_object_set_member(status, "offsite", gbe_offsite_status(app));
	json_object_set_member(status, "rehearsal",
			       gbe_rehearsal_status(app, observed->deployments));
	json_object_set_object_member(status, "greenboot", greenboot_json(observed->greenboot));
	json_object_set_array_member(status, "warnings", gbe_status_warnings(app, observed, look));
	/* Last: this turns the facts into those of the next boot. */
	set_protection(status, app, observed, look);
	return status;
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "app/report/status.h"

#include "app/state/state.h"
#include "base/format.h"
#include "core/backup-name.h"
#include "core/decide/decide.h"
#include "core/decide/retention.h"
#include "core/decide/situation.h"
#include "core/json/parse.h"
#include "core/motd.h"
#include "core/shown.h"
#include "core/space.h"
#include "fs/copy/extents.h"
#include "fs/open.h"
#include "fs/probe.h"
#include "fs/tree.h"
#include "fs/write.h"
#include "sys/systemd/events.h"

#include <fcntl.h>
#include <sys/stat.h>

#define NEXT_HINT "see why (`greenboot-etcd explain`)"

/* ---- list ---- */

const GbeField gbe_list_fields[] = {
    GBE_FIELD_SET(GbeListEntry, backup.name, "name", TEXT),
    GBE_FIELD(GbeListEntry, backup.deployment.id, "deployment", TEXT),
    GBE_FIELD(GbeListEntry, backup.deployment_version, "deployment_version", TEXT),
    GBE_FIELD(GbeListEntry, backup.run, "run", TEXT),
    GBE_FIELD(GbeListEntry, backup.sequence, "sequence", NUMBER),
    GBE_FIELD_SET(GbeListEntry, grade, "grade", TEXT),
    GBE_FIELD_SET(GbeListEntry, verdict, "verdict", TEXT),
    GBE_FIELD_OF(GbeListEntry, backup.health, "health", WORD, &gbe_health_words, 0),
    GBE_FIELD(GbeListEntry, backup.created, "created", MOMENT),
    GBE_FIELD(GbeListEntry, backup.etcd_version, "etcd_version", TEXT),
    GBE_FIELD(GbeListEntry, backup.revision, "revision", KNOWN),
    GBE_FIELD(GbeListEntry, backup.cluster_id, "cluster_id", TEXT),
    GBE_FIELD(GbeListEntry, backup.member_id, "member_id", TEXT),
    GBE_FIELD(GbeListEntry, backup.size, "size", NUMBER),
    GBE_FIELD(GbeListEntry, db_size, "db_size", KNOWN),
    GBE_FIELD(GbeListEntry, exclusive, "exclusive", KNOWN),
    GBE_FIELD_OF(GbeListEntry, backup.method, "method", WORD, &gbe_method_words, 0),
    GBE_FIELD(GbeListEntry, backup.pinned, "pinned", FLAG),
    GBE_FIELD(GbeListEntry, backup.set_aside, "set_aside", FLAG),
    GBE_FIELD(GbeListEntry, backup.consumed, "consumed", FLAG),
    GBE_FIELD(GbeListEntry, present, "present", TEXT),
    GBE_FIELD(GbeListEntry, backup.description, "description", TEXT),
    GBE_FIELD_OF(GbeListEntry, backup.origin, "origin", WORD, &gbe_origin_words, 0),
    GBE_FIELD_SET(GbeListEntry, state, "state", TEXT),
    GBE_FIELD(GbeListEntry, why, "why", TEXT),
    GBE_FIELD(GbeListEntry, backup.before, "before", TEXT),
    {0},
};
static const GbeFieldItems entry_items = {gbe_list_fields, sizeof(GbeListEntry)};

const GbeField gbe_list_unreadable_fields[] = {
    GBE_FIELD_SET(GbeListEntry, backup.name, "name", TEXT),
    GBE_FIELD_SET(GbeListEntry, grade, "grade", TEXT),
    GBE_FIELD_SET(GbeListEntry, state, "state", TEXT),
    GBE_FIELD(GbeListEntry, why, "why", TEXT),
    {0},
};

void
gbe_list_entry_free(GbeListEntry *entry)
{
	gbe_fields_free(&entry_items, entry);
}

GbeListEntry *
gbe_list_entry(const GbeObserved *observed, const GbeManifest *manifest, gint64 exclusive)
{
	GbeDeployments *deployments = observed->deployments;
	const GbeListed *listed = gbe_deployments_find(deployments, &manifest->deployment);
	g_autoptr(GPtrArray) names = gbe_deployments_names(deployments);
	GbeListEntry *entry = gbe_fields_new(&entry_items);

	/* The pointers are the manifest's until gbe_fields_own() copies them. */
	entry->backup = *manifest;
	entry->grade = (char *)gbe_grade_to_string(manifest->grade);
	entry->verdict = (char *)gbe_verdict_to_public(manifest->verdict);
	entry->db_size = gbe_manifest_db_size(manifest);
	entry->exclusive = exclusive;
	if (manifest->deployment.id != NULL && deployments->listed != NULL)
		entry->present =
		    (char *)gbe_deployments_presence(deployments, &manifest->deployment);
	entry->state = (char *)"complete"; /* as in `store list` */
	if (listed != NULL && listed->version != NULL)
		entry->backup.deployment_version = listed->version;
	gbe_fields_own(gbe_list_fields, entry);
	entry->why = gbe_manifest_why(manifest, names);
	return entry;
}

JsonObject *
gbe_list_entry_to_json(const GbeListEntry *entry)
{
	bool readable = g_strcmp0(entry->state, "unreadable") != 0;

	return gbe_fields_answer(readable ? gbe_list_fields : gbe_list_unreadable_fields, entry);
}

GPtrArray *
gbe_list_collect(const GbeObserved *observed, bool exclusive)
{
	GPtrArray *list = g_ptr_array_new_with_free_func((GDestroyNotify)gbe_list_entry_free);
	g_autoptr(GPtrArray) sorted = g_ptr_array_new();

	g_ptr_array_extend(sorted, observed->facts->backups, NULL, NULL);
	g_ptr_array_sort(sorted, gbe_manifest_newest_first);
	for (guint i = 0; i < sorted->len; i++) {
		const GbeManifest *m = sorted->pdata[i];
		gbe_autofd int fd = -1;
		GbeExtents extents = {0};
		bool known = exclusive && !m->consumed &&
			     gbe_store_open_data(observed->store, m->name, &fd, NULL) &&
			     gbe_extents_of_tree(fd, true, &extents, NULL);

		g_ptr_array_add(
		    list, gbe_list_entry(observed, m, known ? (gint64)extents.exclusive : -1));
	}
	for (guint i = 0; observed->damaged != NULL && i < observed->damaged->len; i++) {
		const char *name = observed->damaged->pdata[i];
		GbeListEntry *entry;

		if (!gbe_status_is_damaged(observed, name))
			continue;
		entry = gbe_fields_new(&entry_items);
		entry->backup.name = g_strdup(name);
		entry->grade = g_strdup("unreadable");
		entry->state = g_strdup("unreadable");
		entry->why = g_strdup("the manifest cannot be read");
		g_ptr_array_add(list, entry);
	}
	return list;
}

GPtrArray *
gbe_list_read(JsonArray *array)
{
	g_autoptr(GPtrArray) list =
	    g_ptr_array_new_with_free_func((GDestroyNotify)gbe_list_entry_free);

	for (guint i = 0; i < json_array_get_length(array); i++) {
		JsonNode *node = json_array_get_element(array, i);

		if (!JSON_NODE_HOLDS_OBJECT(node))
			return NULL;
		g_ptr_array_add(list, gbe_fields_new(&entry_items));
		gbe_fields_read_known(gbe_list_fields, json_node_get_object(node),
				      list->pdata[list->len - 1]);
	}
	return g_steal_pointer(&list);
}

JsonArray *
gbe_list_to_json(const GPtrArray *list)
{
	JsonArray *array = json_array_new();

	for (guint i = 0; i < list->len; i++)
		json_array_add_object_element(array, gbe_list_entry_to_json(list->pdata[i]));
	return array;
}

bool
gbe_status_is_damaged(const GbeObserved *observed, const char *name)
{
	g_autofree char *manifest = g_build_filename(name, GBE_MANIFEST_NAME, NULL);
	struct stat st;

	if (observed->damaged == NULL ||
	    !g_ptr_array_find_with_equal_func(observed->damaged, name, g_str_equal, NULL))
		return false;
	return fstatat(observed->store->fd, manifest, &st, AT_SYMLINK_NOFOLLOW) == 0;
}

/* ---- status ---- */

const GbeField gbe_status_etcd_fields[] = {
    GBE_FIELD(GbeStatusEtcd, healthy, "healthy", TRI),
    GBE_FIELD(GbeStatusEtcd, reason, "reason", TEXT),
    GBE_FIELD(GbeStatusEtcd, version, "version", TEXT),
    GBE_FIELD(GbeStatusEtcd, revision, "revision", KNOWN),
    GBE_FIELD(GbeStatusEtcd, db_size, "db_size", KNOWN),
    GBE_FIELD(GbeStatusEtcd, db_in_use, "db_in_use", KNOWN),
    GBE_FIELD(GbeStatusEtcd, alarms, "alarms", TEXTS),
    GBE_FIELD(GbeStatusEtcd, warnings, "warnings", TEXTS),
    {0},
};

static const GbeField owner_fields[] = {
    GBE_FIELD(GbeStatusOwner, deployment, "deployment", TEXT),
    GBE_FIELD(GbeStatusOwner, run, "run", TEXT),
    {0},
};

static const GbeField data_fields[] = {
    GBE_FIELD_SET(GbeStatusData, path, "path", TEXT),
    GBE_FIELD(GbeStatusData, size, "size", KNOWN),
    GBE_FIELD(GbeStatusData, present, "present", TRI),
    {0},
};

static const GbeField good_fields[] = {
    GBE_FIELD_SET(GbeStatusGood, name, "name", TEXT),
    GBE_FIELD(GbeStatusGood, created, "created", MOMENT),
    GBE_FIELD(GbeStatusGood, age, "age", KNOWN),
    GBE_FIELD(GbeStatusGood, revision, "revision", KNOWN),
    {0},
};
static const GbeFieldItems good_items = {good_fields, sizeof(GbeStatusGood)};

static const GbeField last_fields[] = {
    GBE_FIELD_SET(GbeLastOperation, operation, "operation", TEXT),
    GBE_FIELD(GbeLastOperation, result, "result", TEXT),
    GBE_FIELD(GbeLastOperation, rule, "rule", TEXT),
    GBE_FIELD(GbeLastOperation, reason, "reason", TEXT),
    GBE_FIELD(GbeLastOperation, backup, "backup", TEXT),
    GBE_FIELD(GbeLastOperation, set_aside, "set_aside", TEXT),
    GBE_FIELD(GbeLastOperation, run, NULL, TEXT),
    GBE_FIELD(GbeLastOperation, started, "started", MOMENT),
    GBE_FIELD(GbeLastOperation, duration_usec, "duration", SECONDS),
    {0},
};
static const GbeFieldItems last_items = {last_fields, sizeof(GbeLastOperation)};

static const GbeField greenboot_fields[] = {
    GBE_FIELD_SET(GbeStatusGreenboot, flavour, "flavour", TEXT),
    GBE_FIELD(GbeStatusGreenboot, enabled, "enabled", TRI),
    GBE_FIELD(GbeStatusGreenboot, boot_counter, "boot_counter", INTEGER),
    GBE_FIELD(GbeStatusGreenboot, rollback_imminent, "rollback_imminent", TRI),
    GBE_FIELD(GbeStatusGreenboot, can_count, "can_count", TRI),
    GBE_FIELD(GbeStatusGreenboot, reason, "reason", TEXT),
    {0},
};

static const GbeField next_fields[] = {
    GBE_FIELD(GbeStatusNext, deployment, "deployment", TEXT),
    GBE_FIELD(GbeStatusNext, rule, "rule", TEXT),
    GBE_FIELD(GbeStatusNext, action, "action", TEXT),
    GBE_FIELD(GbeStatusNext, backup, "backup", TEXT),
    GBE_FIELD(GbeStatusNext, age, "age", KNOWN),
    GBE_FIELD(GbeStatusNext, revision, "revision", KNOWN),
    GBE_FIELD(GbeStatusNext, reason, "reason", TEXT),
    {0},
};

static const GbeField deployment_fields[] = {
    GBE_FIELD_SET(GbeDeploymentName, id, "id", TEXT),
    GBE_FIELD(GbeDeploymentName, version, "version", TEXT),
    GBE_FIELD(GbeDeploymentName, place, "place", TEXT),
    {0},
};
static const GbeFieldItems deployment_items = {deployment_fields, sizeof(GbeDeploymentName)};

const GbeField gbe_status_fields[] = {
    GBE_FIELD(GbeStatus, ostree, "ostree", TRI),
    GBE_FIELD(GbeStatus, booted, "booted", TEXT),
    GBE_FIELD_BY(GbeStatus, deployments, "deployments", LIST, &deployment_items, 0),
    GBE_FIELD(GbeStatus, unlocked, "unlocked", TEXT),
    GBE_FIELD(GbeStatus, other_stateroot, "other_stateroot", TEXT),
    GBE_FIELD(GbeStatus, run, "run", TEXT),
    GBE_FIELD_BY(GbeStatus, owner, "owner", PART, owner_fields, 0),
    GBE_FIELD_SET(GbeStatus, verdict, "verdict", TEXT),
    GBE_FIELD_SET(GbeStatus, health, "health", TEXT),
    GBE_FIELD(GbeStatus, trial, "trial", TRI),
    GBE_FIELD(GbeStatus, judged, "judged", TRI),
    GBE_FIELD_BY(GbeStatus, etcd, "etcd", PART, gbe_status_etcd_fields, 0),
    GBE_FIELD_BY(GbeStatus, data, "data", PART, data_fields, 0),
    GBE_FIELD(GbeStatus, backups, "backups", COUNT),
    GBE_FIELD_BY(GbeStatus, last_good, "last_good", MAYBE, &good_items, 0),
    GBE_FIELD_BY(GbeStatus, last_operation, "last_operation", MAYBE, &last_items, 0),
    GBE_FIELD_BY(GbeStatus, periodic, "periodic", MAYBE, &gbe_periodic_items, 0),
    GBE_FIELD_BY(GbeStatus, offsite, "offsite", MAYBE, &gbe_offsite_items, 0),
    GBE_FIELD_BY(GbeStatus, rehearsal, "rehearsal", MAYBE, &gbe_rehearsal_items, 0),
    GBE_FIELD_BY(GbeStatus, greenboot, "greenboot", PART, greenboot_fields, 0),
    GBE_FIELD(GbeStatus, warnings, "warnings", TEXTS),
    GBE_FIELD_BY(GbeStatus, protection, "protection", MAYBE, &gbe_protection_items,
		 GBE_FIELD_ALWAYS),
    GBE_FIELD_BY(GbeStatus, next, "next", PART, next_fields, 0),
    {0},
};
static const GbeFieldItems status_items = {gbe_status_fields, sizeof(GbeStatus)};

void
gbe_status_free(GbeStatus *status)
{
	gbe_fields_free(&status_items, status);
}

void
gbe_status_etcd(const GbeHealthLook *look, GbeStatusEtcd *ret_etcd)
{
	const GbeHealthFacts *facts = look != NULL ? look->facts : NULL;
	GbeHealth health = look != NULL ? look->report->health : GBE_HEALTH_NOT_ASKED;
	GbeStatusEtcd etcd = {.alarms = g_ptr_array_new(), .warnings = g_ptr_array_new()};

	gbe_fields_init(gbe_status_etcd_fields, &etcd);
	etcd.healthy = GBE_UNKNOWN;
	if (health == GBE_HEALTH_HEALTHY || health == GBE_HEALTH_UNHEALTHY)
		etcd.healthy = gbe_tri(health == GBE_HEALTH_HEALTHY);
	etcd.reason = g_strdup(look != NULL ? look->report->reason : GBE_STATUS_NOT_ASKED);
	if (facts != NULL) {
		etcd.version = g_strdup(facts->version);
		etcd.revision = facts->revision;
		etcd.db_size = facts->db_size;
		etcd.db_in_use = facts->db_in_use;
		if (facts->no_space)
			g_ptr_array_add(etcd.alarms, g_strdup("NOSPACE"));
		if (facts->corrupt)
			g_ptr_array_add(etcd.alarms, g_strdup("CORRUPT"));
		if (facts->other_alarm)
			g_ptr_array_add(etcd.alarms, g_strdup("UNKNOWN"));
	}
	for (guint i = 0; look != NULL && i < GBE_N_CHECKS; i++) {
		const GbeCheck *check = &look->report->steps[i];

		if (check->result == GBE_CHECK_WARNING)
			g_ptr_array_add(etcd.warnings,
					g_strconcat(gbe_check_to_string((GbeCheckKind)i), ": ",
						    check->detail, NULL));
	}
	*ret_etcd = etcd;
}

/* The action that says most about a plan: hold, restore, fresh, backup, keep. NULL: no action. */
static const GbeAction *
main_action(const GbePlan *plan)
{
	static const GbeActionKind order[] = {GBE_ACTION_HOLD,	GBE_ACTION_RESTORE,
					      GBE_ACTION_FRESH, GBE_ACTION_BACKUP,
					      GBE_ACTION_KEEP,	GBE_ACTION_TAKE_OVER};

	for (guint i = 0; i < G_N_ELEMENTS(order); i++) {
		const GbeAction *action = gbe_plan_find(plan, order[i]);

		if (action != NULL)
			return action;
	}
	return plan->actions->len > 0 ? plan->actions->pdata[0] : NULL;
}

/* Makes a `next{}` say that no decision will be made, and why. */
static void
set_off(GbeStatusNext *next, const char *why)
{
	char *deployment = g_steal_pointer(&next->deployment);

	gbe_fields_clear(next_fields, next);
	gbe_fields_init(next_fields, next);
	next->deployment = deployment;
	next->reason = g_strdup(why);
}

/* @off: why no decision will be made; NULL: prerun decides. Turns the facts into those of the next boot. */
static void
decide_next(GbeObserved *observed, const char *off, GbeStatusNext *next)
{
	GbeFacts *facts = observed->facts;
	g_autoptr(GbePlan) plan = NULL;
	g_autoptr(GError) error = NULL;
	const GbeAction *action;
	const GbeManifest *source = NULL;

	next->deployment = g_strdup(facts->next);
	if (off != NULL || !gbe_foresee(observed, NULL, &plan, &error)) {
		set_off(next, off != NULL ? off : error->message);
		return;
	}
	action = main_action(plan);
	next->rule = g_strdup(gbe_rule_to_string(plan->rule));
	next->reason =
	    g_strdup(action != NULL && action->reason != NULL ? action->reason : plan->reason);
	if (action == NULL)
		return;
	next->action = g_strdup(gbe_action_to_string(action->kind));
	next->backup = g_strdup(action->name);
	if (action->kind == GBE_ACTION_RESTORE)
		source = gbe_facts_backup(facts, action->name);
	if (source == NULL)
		return;
	next->revision = source->revision;
	if (source->created > 0 && facts->now >= source->created)
		next->age = facts->now - source->created;
}

GbeStatus *
gbe_status_read(GbeApp *app, const GbeHealthLook *look, JsonObject *object)
{
	static const char *const needed[] = {"next", "owner", "data", "greenboot"};
	g_autoptr(GPtrArray) notices = NULL;
	const GbeNotice *off;
	GbeProtection *protection;
	gint64 now = g_get_real_time() / G_USEC_PER_SEC;
	GbeStatus *status;

	for (guint i = 0; i < G_N_ELEMENTS(needed); i++)
		if (gbe_json_object(object, needed[i]) == NULL)
			return NULL;
	status = gbe_fields_new(&status_items);
	gbe_fields_read_known(gbe_status_fields, object, status);
	gbe_fields_clear(gbe_status_etcd_fields, &status->etcd);
	gbe_status_etcd(look, &status->etcd);
	if (status->last_good != NULL && status->last_good->created > 0 &&
	    status->last_good->created <= now)
		status->last_good->age = now - status->last_good->created;
	notices = gbe_notices_for_users(app, look);
	off = gbe_protection_off(notices);
	if (off != NULL)
		set_off(&status->next, off->text);
	if (status->protection == NULL)
		gbe_notice_add(notices, GBE_NOTICE_WARNING, NULL,
			       "only root can tell: sudo greenboot-etcd status");
	protection = gbe_protection_judge(notices, false);
	/* The finding of root stays while this user sees no problem. */
	if (protection->state != GBE_PROTECTED) {
		GbeProtection *before = status->protection;

		status->protection = protection;
		protection = before;
	}
	gbe_fields_free(&gbe_protection_items, protection);
	return status;
}

GPtrArray *
gbe_status_read_names(JsonObject *object)
{
	static const GbeField names[] = {
	    GBE_FIELD_BY(GbeStatus, deployments, "deployments", LIST, &deployment_items, 0),
	    {0},
	};
	GbeStatus status = {0};

	gbe_fields_read_known(names, object, &status);
	if (status.deployments != NULL)
		g_ptr_array_set_free_func(status.deployments,
					  (GDestroyNotify)gbe_deployment_name_free);
	return status.deployments;
}

static void
add_next_start(GPtrArray *notices, const char *text)
{
	gbe_notice_add(notices, GBE_NOTICE_NEXT_START, NEXT_HINT, "%s", text);
	gbe_notice_step(notices, "greenboot-etcd explain");
}

/* Also sets `next{}`: without a prerun that runs, `next{}` claims nothing. */
static void
judge_protection(GbeStatus *status, GbeObserved *observed, GPtrArray *notices)
{
	const GbeNotice *off = gbe_protection_off(notices);
	GbeStatusNext *next = &status->next;
	bool member = observed->facts->member && observed->facts->config->cluster.rejoin;

	decide_next(observed, off != NULL ? off->text : NULL, next);
	if (g_strcmp0(next->action, "hold") == 0)
		add_next_start(notices, "the next start holds etcd back");
	/* A restore that a person asked for needs no attention. */
	else if (g_strcmp0(next->action, "restore") == 0 &&
		 g_strcmp0(next->rule, gbe_rule_to_string(GBE_RULE_2)) != 0)
		add_next_start(notices, "the next start puts a backup in the data's place");
	status->protection = gbe_protection_judge(notices, member);
}

static GbeStatusGood *
last_good_of(GbeFacts *facts)
{
	const GbeManifest *backup = gbe_situation_last_good(facts);
	GbeStatusGood *good = backup != NULL ? gbe_fields_new(&good_items) : NULL;

	if (good == NULL)
		return NULL;
	good->name = g_strdup(backup->name);
	good->created = backup->created;
	good->revision = backup->revision;
	if (backup->created > 0)
		good->age = facts->now - backup->created;
	return good;
}

static GbeLastOperation *
last_operation_of(const GbeFacts *facts)
{
	GbeLastOperation *last = g_memdup2(&facts->last, sizeof facts->last);
	bool failed;
	const GbeManifest *aside = gbe_situation_undo(facts, &failed);

	if (aside != NULL && g_strcmp0(last->result, "done") == 0 &&
	    (g_str_equal(last->operation, "restore") || g_str_equal(last->operation, "undo")))
		last->set_aside = aside->name;
	gbe_fields_own(last_fields, last);
	return last;
}

static void
set_greenboot(GbeStatusGreenboot *to, const GbeGreenboot *greenboot)
{
	to->flavour = g_strdup(gbe_greenboot_flavour_to_string(greenboot->flavour));
	to->enabled = greenboot->enabled;
	if (greenboot->has_counter)
		to->boot_counter = greenboot->boot_counter;
	to->rollback_imminent = greenboot->rollback_imminent;
	to->can_count = greenboot->count_why != NULL ? GBE_NO : greenboot->can_count;
	if (greenboot->flavour != GBE_GREENBOOT_NONE)
		to->reason = g_strdup(greenboot->count_why);
}

GbeStatus *
gbe_status_collect(GbeApp *app, GbeObserved *observed, const GbeHealthLook *look,
		   GPtrArray **ret_motd)
{
	GbeFacts *facts = observed->facts;
	GbeStatus *status = gbe_fields_new(&status_items);
	g_autoptr(GPtrArray) notices = NULL;
	GbeView view;
	bool own;

	gbe_observe_live(observed, look != NULL ? look->facts : NULL);
	gbe_view_live(facts, &view);
	notices = gbe_notices_collect(app, observed, look);
	status->ostree = facts->ostree;
	status->booted = g_strdup(facts->booted.id);
	status->deployments = gbe_deployments_names(observed->deployments);
	g_ptr_array_set_free_func(status->deployments, NULL); /* the table frees them */
	status->unlocked = g_strdup(gbe_deployments_unlocked(observed->deployments));
	status->other_stateroot = gbe_deployments_neighbour(observed->deployments);
	status->run = g_strdup(facts->run);
	if (view.owner_known) {
		status->owner.deployment = g_strdup(view.owner->id);
		status->owner.run = g_strdup(view.run);
	}
	/* The verdict of the present run, when the data's owner is this run. */
	own = gbe_situation_own(facts, NULL) != NULL;
	status->verdict = g_strdup(gbe_verdict_to_public(own ? view.verdict : GBE_VERDICT_NONE));
	status->health = g_strdup(gbe_health_to_string(own ? view.health : GBE_HEALTH_NOT_ASKED));
	status->trial = view.owner_known ? view.trial.on : GBE_UNKNOWN;
	status->judged = facts->judges;
	gbe_status_etcd(look, &status->etcd);
	status->data.path = g_strdup(observed->data->path);
	status->data.present = facts->data;
	gbe_observe_tree(observed);
	if (observed->data->fd >= 0 && observed->tree_why == NULL && observed->tree_unknown == NULL)
		status->data.size = (gint64)observed->tree.bytes;
	status->backups = facts->backups->len;
	status->last_good = last_good_of(facts);
	if (facts->last.operation != NULL)
		status->last_operation = last_operation_of(facts);
	status->periodic = gbe_periodic_status(app, look);
	status->offsite = gbe_offsite_status(app);
	status->rehearsal = gbe_rehearsal_status(app, observed->deployments);
	set_greenboot(&status->greenboot, observed->greenboot);
	status->warnings = gbe_notices_lines(notices, GBE_IN_WARNINGS);
	if (ret_motd != NULL)
		*ret_motd = gbe_notices_lines(notices, GBE_IN_MOTD);
	/* Last: this turns the facts into those of the next boot. */
	judge_protection(status, observed, notices);
	return status;
}

/* ---- status.json and the MOTD ---- */

/* With short names: a line has 80 columns. */
static void
add_problem(GPtrArray *problems, const GbeObserved *observed, const char *before, const char *text)
{
	const GPtrArray *backups = observed->facts->backups;
	g_autoptr(GPtrArray) deployments = gbe_deployments_names(observed->deployments);
	g_autofree const char **names = g_new0(const char *, backups->len + 1);
	g_autoptr(GString) line = NULL;
	g_autofree char *named = gbe_deployment_names_in(deployments, text);

	for (guint i = 0; i < backups->len; i++)
		names[i] = ((const GbeManifest *)backups->pdata[i])->name;
	line = g_string_new(before);
	g_string_append(line, named);
	for (guint i = 0; names[i] != NULL; i++) {
		g_autofree char *shown = gbe_backup_name_short(names[i], names);

		gbe_backup_name_replace(line, names[i], shown);
	}
	g_ptr_array_add(problems, gbe_shown_line(line->str));
}

JsonObject *
gbe_status_read_file(GbeApp *app, const char *path)
{
	g_autofree char *bytes = NULL;
	JsonObject *object = NULL;
	gsize size = 0;

	if (gbe_read_in_root(app->root_fd, path, GBE_JSON_MAX_SIZE, &bytes, &size, NULL) &&
	    gbe_json_parse_object(bytes, size, path, &object, NULL))
		return object;
	return NULL;
}

/* The problems that the last preflight stored. */
static void
add_preflight(GPtrArray *problems, const GbeObserved *observed, GbeApp *app)
{
	g_autoptr(JsonObject) object = gbe_status_read_file(app, GBE_PREFLIGHT_FILE);
	JsonArray *stored = object != NULL ? gbe_json_array(object, "problems") : NULL;

	for (guint i = 0; stored != NULL && i < json_array_get_length(stored); i++) {
		JsonNode *node = json_array_get_element(stored, i);

		if (json_node_get_value_type(node) == G_TYPE_STRING)
			add_problem(problems, observed,
				    "next update: ", json_node_get_string(node));
	}
}

bool
gbe_status_write_file(GbeApp *app, const char *path, const char *text, GError **error)
{
	g_autofree char *dir = g_path_get_dirname(path);
	g_autofree char *name = g_path_get_basename(path);
	gbe_autofd int dir_fd = -1;

	if (!gbe_open_in_root(app->root_fd, dir, O_RDONLY | O_DIRECTORY, &dir_fd, NULL) &&
	    !gbe_make_dirs(app->root_fd, dir, 0755, &dir_fd, error))
		return false;
	if (*text != '\0')
		return gbe_write_file_at(dir_fd, name, text, strlen(text), 0644, GBE_WRITE_LATER,
					 error);
	if (unlinkat(dir_fd, name, 0) < 0 && errno != ENOENT)
		return gbe_throw_errno(error, errno, "remove %s", path);
	return true;
}

static char *
shown_member(const char *key, const char *text)
{
	return gbe_shown_text(text);
}

void
gbe_status_write(GbeApp *app, GbeObserved *observed, const GbeHealthLook *look,
		 GbeStatus **ret_status)
{
	g_autoptr(JsonObject) whole = gbe_json_answer();
	g_autoptr(GbeStatus) status = NULL;
	g_autoptr(GPtrArray) list = NULL;
	GbeObserveOptions options = {.tolerant = true};
	g_autoptr(GPtrArray) lines = NULL, problems = g_ptr_array_new_with_free_func(g_free);
	g_autofree char *motd = NULL;
	const GPtrArray *steps;
	g_autoptr(JsonNode) node = NULL, shown = NULL;
	g_autofree char *text = NULL;
	g_autoptr(GError) error = NULL;

	if (!gbe_observe_again(app, &options, observed, &error)) {
		g_debug("status.json: %s", error->message);
		return;
	}
	list = gbe_list_collect(observed, false);
	json_object_set_array_member(whole, "list", gbe_list_to_json(list));
	status = gbe_status_collect(app, observed, look, &lines);
	json_object_set_object_member(whole, "status",
				      gbe_fields_answer(gbe_status_fields, status));
	g_ptr_array_set_free_func(lines, g_free);
	for (guint i = 0; i < lines->len; i++)
		add_problem(problems, observed, "", lines->pdata[i]);
	for (guint i = 0; i < status->etcd.warnings->len; i++)
		add_problem(problems, observed, "", status->etcd.warnings->pdata[i]);
	add_preflight(problems, observed, app);
	steps = status->protection->steps;
	motd = gbe_motd_text(problems, steps->len == 1 ? steps->pdata[0] : NULL);
	if (!gbe_status_write_file(app, GBE_MOTD_FILE, motd, &error)) {
		g_debug("MOTD: %s", error->message);
		g_clear_error(&error);
	}
	/* Users other than root read this file; no key in it is a secret. */
	node = json_node_init_object(json_node_alloc(), whole);
	shown = gbe_shown_node(node, shown_member);
	text = gbe_json_print_object(json_node_get_object(shown));
	if (!gbe_status_write_file(app, GBE_STATUS_FILE, text, &error))
		g_debug("status.json: %s", error->message);
	if (ret_status != NULL)
		*ret_status = g_steal_pointer(&status);
}

void
gbe_status_refresh(GbeApp *app, GbeObserved *observed, const char *operation)
{
	g_autoptr(GError) error = NULL;

	if (!gbe_app_lock(app, operation, GBE_WAIT_RESULT, &error)) {
		gbe_note("%s", error->message);
		return;
	}
	gbe_status_write(app, observed, NULL, NULL);
	gbe_app_unlock(app);
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "app/report/status.h"

#include "app/report/protection.h"
#include "app/state/state.h"
#include "base/format.h"
#include "core/decide/decide.h"
#include "core/decide/retention.h"
#include "core/decide/situation.h"
#include "core/json/parse.h"
#include "core/space.h"
#include "fs/copy/extents.h"
#include "fs/probe.h"
#include "fs/tree.h"
#include "sys/enabled.h"

#include <fcntl.h>
#include <sys/stat.h>

/* ---- list ---- */

const GbeField gbe_list_fields[] = {
    GBE_FIELD_SET(GbeListEntry, backup.name, "name", TEXT),
    GBE_FIELD(GbeListEntry, backup.deployment.id, "deployment", TEXT),
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

static void
free_entry(void *entry)
{
	gbe_fields_free(&entry_items, entry);
}

void
gbe_list_entry_free(GbeListEntry *entry)
{
	free_entry(entry);
}

GbeListEntry *
gbe_list_entry(const GbeObserved *observed, const GbeManifest *manifest, gint64 exclusive)
{
	const GbeDeployments *deployments = observed->deployments;
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
	gbe_fields_own(gbe_list_fields, entry);
	return entry;
}

JsonObject *
gbe_list_entry_to_json(const GbeListEntry *entry)
{
	bool readable = g_strcmp0(entry->state, "unreadable") != 0;

	return gbe_fields_answer(readable ? gbe_list_fields : gbe_list_unreadable_fields, entry);
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

GPtrArray *
gbe_list_collect(const GbeObserved *observed, bool exclusive)
{
	GPtrArray *list = g_ptr_array_new_with_free_func(free_entry);
	g_autoptr(GPtrArray) sorted = g_ptr_array_new();

	g_ptr_array_extend(sorted, observed->facts->backups, NULL, NULL);
	g_ptr_array_sort(sorted, gbe_manifest_newest_first);
	for (guint i = 0; i < sorted->len; i++) {
		const GbeManifest *m = sorted->pdata[i];
		gint64 bytes = exclusive ? exclusive_bytes(observed, m) : -1;

		g_ptr_array_add(list, gbe_list_entry(observed, m, bytes));
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
	g_autoptr(GPtrArray) list = g_ptr_array_new_with_free_func(free_entry);

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

static const GbeField protection_fields[] = {
    GBE_FIELD_SET(GbeStatusProtection, state, "state", TEXT),
    GBE_FIELD(GbeStatusProtection, reason, "reason", TEXT),
    GBE_FIELD(GbeStatusProtection, hint, "hint", TEXT),
    GBE_FIELD(GbeStatusProtection, covered, "covered", TEXT),
    GBE_FIELD(GbeStatusProtection, certain, "certain", FLAG),
    {0},
};
static const GbeFieldItems protection_items = {protection_fields, sizeof(GbeStatusProtection)};

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

const GbeField gbe_status_fields[] = {
    GBE_FIELD(GbeStatus, ostree, "ostree", TRI),
    GBE_FIELD(GbeStatus, booted, "booted", TEXT),
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
    GBE_FIELD_BY(GbeStatus, protection, "protection", MAYBE, &protection_items, GBE_FIELD_ALWAYS),
    GBE_FIELD_BY(GbeStatus, next, "next", PART, next_fields, 0),
    {0},
};
static const GbeFieldItems status_items = {gbe_status_fields, sizeof(GbeStatus)};

void
gbe_status_free(GbeStatus *status)
{
	gbe_fields_free(&status_items, status);
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
	bool closed = facts->data_open == GBE_NO;

	next->deployment = g_strdup(facts->next);
	if (off != NULL || !gbe_observe_next_boot(observed, NULL, NULL, GBE_UNKNOWN, &error)) {
		set_off(next, off != NULL ? off : error->message);
		return;
	}
	plan = gbe_decide(facts);
	action = main_action(plan);
	/* prerun looks into the data before it decides. The look reads the whole log. */
	if (closed && action != NULL && action->kind == GBE_ACTION_RESTORE) {
		gbe_observe_inside(observed);
		g_clear_pointer(&plan, gbe_plan_free);
		plan = gbe_decide(facts);
		action = main_action(plan);
	}
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

static void warn(GPtrArray *warnings, const char *format, ...) G_GNUC_PRINTF(2, 3);

static void
warn(GPtrArray *warnings, const char *format, ...)
{
	char *text = GBE_VFORMAT(format);

	g_ptr_array_add(warnings, text);
}

static void
warn_intent(GPtrArray *warnings, const GbeFacts *facts)
{
	const GbeIntent *intent = facts->intent;

	if (facts->intent_why != NULL)
		warn(warnings, "the record of an open operation cannot be read: %s",
		     facts->intent_why);
	else if (intent != NULL)
		warn(warnings,
		     "%s%s was interrupted; the next start of greenboot-etcd-prerun finishes it",
		     intent->backup != NULL ? "the restore of " : "setting the data aside",
		     intent->backup != NULL ? intent->backup : "");
}

static void
warn_damaged(GPtrArray *warnings, const GbeObserved *observed)
{
	for (guint i = 0; observed->damaged != NULL && i < observed->damaged->len; i++) {
		const char *name = observed->damaged->pdata[i];

		if (gbe_status_is_damaged(observed, name))
			warn(warnings,
			     "the manifest of backup %s cannot be read; `greenboot-etcd delete "
			     "--force %s` removes it",
			     name, name);
	}
}

/* Names the command for a restore that was due and could not be done. */
static void
warn_failed_restore(GPtrArray *warnings, const GbeFacts *facts)
{
	const GbeLastOperation *last = &facts->last;
	bool known = g_strcmp0(last->operation, gbe_action_to_string(GBE_ACTION_RESTORE)) == 0 &&
		     g_strcmp0(last->result, "failed") == 0 && last->backup != NULL;

	if (!facts->owner->failed)
		return;
	if (known && gbe_facts_backup(facts, last->backup) != NULL)
		warn(warnings,
		     "a restore of backup %s was due and failed, so this system uses the data that "
		     "was there; `greenboot-etcd restore --stop %s` restores it",
		     last->backup, last->backup);
	else
		warn(warnings,
		     "a restore was due when this deployment took the data over and could not be "
		     "done: it goes on with the data that was there; `greenboot-etcd list` shows "
		     "what can be restored");
}

/* etcd in a container is updated without a new deployment, so that no start takes a backup before. */
static void
warn_updated(GPtrArray *warnings, const GbeFacts *facts)
{
	const GbeRunRecord *run = gbe_facts_run(facts, facts->owner->sequence);
	const GbeManifest *before = NULL;
	GbeVersion from;

	if (run == NULL || run->updated_from == NULL)
		return;
	from = gbe_version_parse(run->updated_from);
	for (guint i = 0; before == NULL && i < facts->backups->len; i++) {
		const GbeManifest *backup = facts->backups->pdata[i];

		if (backup->grade != GBE_GRADE_BAD && !backup->consumed &&
		    gbe_version_above(gbe_version_parse(gbe_manifest_needs(backup)), from) ==
			GBE_NO)
			before = backup;
	}
	warn(warnings,
	     "etcd was updated to %s from %s under the same system: etcd %s does not start on the "
	     "data any more; %s%s",
	     run->etcd_version, run->updated_from, run->updated_from,
	     before != NULL ? "a backup that it can read is "
			    : "there is no backup that it can read",
	     before != NULL ? before->name : "");
}

/* The owner may have got the data in a way that a person should know. */
static void
warn_owner(GPtrArray *warnings, const GbeFacts *facts)
{
	const GbeTakeOver *owner = facts->owner;

	if (owner == NULL)
		return;
	warn_failed_restore(warnings, facts);
	if (owner->late)
		warn(warnings,
		     "etcd ran in run %s although greenboot-etcd-prerun took nothing over: nothing "
		     "was backed up before it (`greenboot-etcd backup` takes one)",
		     owner->run != NULL ? owner->run : "unknown");
	warn_updated(warnings, facts);
	if (gbe_situation_failed_and_stays(facts))
		warn(warnings,
		     "this update failed and keeps the data: nothing counts its boots down, and no "
		     "other system boots next; roll back, or `greenboot-etcd mark good`");
	if (gbe_situation_began_empty(facts))
		warn(warnings,
		     "etcd began with an empty database, although there was data before: "
		     "`greenboot-etcd list` shows what `greenboot-etcd restore NAME` brings back; "
		     "`greenboot-etcd mark good` accepts the empty one");
}

/* Read as text: the initramfs links this file, and has no other use for the record. */
static void
warn_update(GPtrArray *warnings, GbeApp *app)
{
	g_autoptr(JsonObject) lock = NULL;

	if (app->state_fd < 0 || !gbe_state_read(app, GBE_STATE_UPDATE_LOCK, false, &lock, NULL) ||
	    lock == NULL || !g_str_equal(gbe_json_string(lock, "state", ""), "failed"))
		return;
	warn(warnings,
	     "an update failed here, and the other members of the cluster do not update: %s "
	     "(`greenboot-etcd cluster unlock --force` ends that)",
	     gbe_json_string(lock, "reason", "no reason is recorded"));
}

/* Names the command that makes room for etcd's next start. */
static void
warn_cramped(GPtrArray *warnings, const GbeObserved *observed)
{
	bool last = false;
	const GbeManifest *least = gbe_retention_least(observed->facts, &last);
	const GbeData *data = observed->data;
	const GbeStore *store = least != NULL ? gbe_store_at(observed->store, least->name) : NULL;
	g_autofree char *free_text = NULL, *files = NULL, *command = NULL;
	guint64 free_bytes = 0, total, inodes = 0;
	int fd = data->fd >= 0 ? data->fd : data->parent_fd;

	if (observed->facts->cramped != GBE_YES ||
	    !gbe_filesystem_space(fd, &free_bytes, &total, &inodes, NULL))
		return;
	free_text = gbe_size_to_text(free_bytes);
	files = inodes != G_MAXUINT64 ? g_strdup_printf(" and %" G_GUINT64_FORMAT " files", inodes)
				      : g_strdup("");
	if (store != NULL && gbe_same_filesystem(store->fd, fd))
		command = g_strdup_printf("`greenboot-etcd delete %s%s` makes some",
					  last ? "--force " : "", least->name);
	else
		command = g_strdup("remove other files from its file system");
	warn(warnings, "etcd may not start again: %s has too little room (%s%s); %s", data->path,
	     free_text, files, command);
}

static GPtrArray *
warnings_of(GbeApp *app, const GbeObserved *observed, const GbeHealthLook *look)
{
	g_autofree char *periodic = gbe_periodic_trouble(app, look);
	g_autofree char *offsite = gbe_offsite_trouble(app);
	const GbeFacts *facts = observed->facts;
	GPtrArray *warnings = g_ptr_array_new();

	if (facts->ostree == GBE_YES && facts->booted.id == NULL)
		warn(warnings, "cannot identify the booted deployment: %s",
		     facts->booted_why != NULL ? facts->booted_why : "unknown");
	if (facts->ostree == GBE_YES && facts->listed == NULL)
		warn(warnings, "ostree's deployments cannot be listed: %s",
		     observed->deployments->list_why != NULL ? observed->deployments->list_why
							     : "unknown");
	if (!gbe_config_is_off(app->config) &&
	    !gbe_unit_is_known(app->root_fd, app->config->etcd.service))
		warn(warnings, "there is no %s: is [etcd] service= right?",
		     app->config->etcd.service);
	if (facts->run == NULL)
		warn(warnings, "the run cannot be told: %s",
		     facts->run_why != NULL ? facts->run_why : "unknown");
	if (facts->ledger == GBE_UNKNOWN)
		warn(warnings, "the ledger cannot be read: %s", facts->ledger_why);
	else if (facts->holes)
		warn(warnings, "a record of the ledger cannot be read: part of the past is not "
			       "known (`greenboot-etcd log`)");
	warn_owner(warnings, facts);
	warn_cramped(warnings, observed);
	if (facts->data == GBE_UNKNOWN)
		warn(warnings, "the data in %s cannot be read: %s", observed->data->path,
		     facts->data_why != NULL ? facts->data_why : "unknown");
	warn_update(warnings, app);
	if (observed->store_why != NULL)
		warn(warnings, "%s", observed->store_why);
	else if (facts->store == GBE_NO)
		warn(warnings,
		     "the store of backups %s is not there: mount it; nothing is pruned or "
		     "restored until then",
		     facts->store_path != NULL ? facts->store_path : "");
	if (observed->store->fd >= 0 && gbe_filesystem_read_only(observed->store->fd))
		warn(warnings,
		     "the store of backups %s is read-only: nothing is backed up or pruned until "
		     "it is mounted to be written",
		     observed->store->path);
	if (facts->unread != NULL)
		warn(warnings, "nothing is pruned while something cannot be read: %s",
		     facts->unread);
	warn_damaged(warnings, observed);
	for (guint i = 0; facts->listed != NULL && i < facts->listed->len; i++) {
		const GbeListed *listed = facts->listed->pdata[i];

		if (listed->staged && listed->locked)
			warn(warnings,
			     "the staged deployment %s is locked: a reboot does not take it",
			     listed->ref.id);
	}
	warn_intent(warnings, facts);
	if (periodic != NULL)
		warn(warnings, "%s", periodic);
	if (offsite != NULL)
		warn(warnings, "%s", offsite);
	return warnings;
}
/* Takes the texts of @protection. */
static void
set_protection(GbeStatus *status, GbeProtection *protection)
{
	if (status->protection == NULL)
		status->protection = gbe_fields_new(&protection_items);
	else
		gbe_fields_clear(protection_fields, status->protection);
	status->protection->state = g_strdup(gbe_protection_to_string(protection->state));
	status->protection->reason = g_steal_pointer(&protection->reason);
	status->protection->hint = g_steal_pointer(&protection->hint);
	status->protection->covered = g_strdup(protection->covered);
	status->protection->certain = protection->certain;
}

/* Also sets `next{}`: without a prerun that runs, `next{}` claims nothing. */
static void
judge_protection(GbeStatus *status, GbeApp *app, GbeObserved *observed, const GbeHealthLook *look)
{
	g_auto(GbeProtectionView) view = {.texts = NULL};
	GbeProtection protection = {.state = GBE_PROTECTED};
	GbeStatusNext *next = &status->next;

	gbe_protection_observe(app, observed, look, &view);
	if (status->warnings->len > 0)
		view.facts.warning = status->warnings->pdata[0];
	(void)gbe_protection_is_off(&view.facts, &protection);
	decide_next(observed, protection.reason, next);
	gbe_protection_clear(&protection);
	view.facts.holds = g_strcmp0(next->action, "hold") == 0;
	/* A restore that a person asked for needs no attention. */
	if (g_strcmp0(next->action, "restore") == 0 &&
	    g_strcmp0(next->rule, gbe_rule_to_string(GBE_RULE_2)) != 0)
		view.facts.rewinds = next->backup != NULL ? next->backup : "?";
	gbe_protection_judge(&view.facts, &protection);
	set_protection(status, &protection);
}

GbeStatus *
gbe_status_read(GbeApp *app, const GbeHealthLook *look, JsonObject *object)
{
	static const char *const needed[] = {"next", "owner", "data", "greenboot"};
	GbeProtection protection = {.state = GBE_PROTECTED};
	gint64 now = g_get_real_time() / G_USEC_PER_SEC;
	GbeProtectionFacts facts;
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
	gbe_protection_observe_units(app, look, &facts);
	if (gbe_protection_is_off(&facts, &protection)) {
		set_off(&status->next, protection.reason);
		gbe_protection_clear(&protection);
	}
	if (status->protection == NULL)
		facts.warning = "only root can tell: sudo greenboot-etcd status";
	gbe_protection_judge(&facts, &protection);
	if (protection.state != GBE_PROTECTED)
		set_protection(status, &protection);
	gbe_protection_clear(&protection);
	return status;
}

GbeStatus *
gbe_status_collect(GbeApp *app, GbeObserved *observed, const GbeHealthLook *look)
{
	const GbeGreenboot *greenboot = observed->greenboot;
	GbeFacts *facts = observed->facts;
	GbeStatus *status = gbe_fields_new(&status_items);
	const GbeManifest *good;
	GbeView view;
	bool own;

	gbe_observe_live(observed, look != NULL ? look->facts : NULL);
	gbe_view_live(facts, &view);
	status->ostree = facts->ostree;
	status->booted = g_strdup(facts->booted.id);
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
	status->data.size = data_size(observed);
	status->backups = facts->backups->len;
	good = gbe_situation_last_good(facts);
	if (good != NULL) {
		status->last_good = gbe_fields_new(&good_items);
		status->last_good->name = g_strdup(good->name);
		status->last_good->created = good->created;
		status->last_good->revision = good->revision;
		if (good->created > 0)
			status->last_good->age = facts->now - good->created;
	}
	if (facts->last.operation != NULL) {
		status->last_operation = g_memdup2(&facts->last, sizeof facts->last);
		gbe_fields_own(last_fields, status->last_operation);
	}
	status->periodic = gbe_periodic_status(app, look);
	status->offsite = gbe_offsite_status(app);
	status->rehearsal = gbe_rehearsal_status(app, observed->deployments);
	status->greenboot.flavour = g_strdup(gbe_greenboot_flavour_to_string(greenboot->flavour));
	status->greenboot.enabled = greenboot->enabled;
	if (greenboot->has_counter)
		status->greenboot.boot_counter = greenboot->boot_counter;
	status->greenboot.rollback_imminent = greenboot->rollback_imminent;
	status->greenboot.can_count = greenboot->count_why != NULL ? GBE_NO : greenboot->can_count;
	if (greenboot->flavour != GBE_GREENBOOT_NONE)
		status->greenboot.reason = g_strdup(greenboot->count_why);
	status->warnings = warnings_of(app, observed, look);
	/* Last: this turns the facts into those of the next boot. */
	judge_protection(status, app, observed, look);
	return status;
}

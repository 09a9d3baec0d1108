/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "app/report/status-next.h"

#include "app/report/offsite.h"
#include "app/report/periodic.h"
#include "app/report/status.h"
#include "app/state/state.h"
#include "base/format.h"
#include "core/decide/decide.h"
#include "core/decide/retention.h"
#include "core/decide/situation.h"
#include "core/json/members.h"
#include "core/json/parse.h"
#include "core/space.h"
#include "fs/probe.h"
#include "sys/enabled.h"

#include <fcntl.h>
#include <sys/stat.h>

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

static void
set_source(JsonObject *next, const GbeFacts *facts, const GbeAction *action)
{
	const GbeManifest *source = NULL;

	if (action != NULL && action->kind == GBE_ACTION_RESTORE)
		source = gbe_facts_backup(facts, action->name);
	if (source != NULL && source->created > 0 && facts->now >= source->created)
		json_object_set_int_member(next, "age", facts->now - source->created);
	else
		json_object_set_null_member(next, "age");
	gbe_json_set_known(next, "revision", source != NULL ? source->revision : -1);
}

void
gbe_status_set_off(JsonObject *next, const char *why)
{
	static const char *const keys[] = {"rule", "action", "backup", "age", "revision"};

	for (guint i = 0; i < G_N_ELEMENTS(keys); i++)
		json_object_set_null_member(next, keys[i]);
	gbe_json_set_string(next, "reason", why);
}

JsonObject *
gbe_status_next(GbeObserved *observed, const char *off)
{
	GbeFacts *facts = observed->facts;
	JsonObject *next = json_object_new();
	g_autoptr(GbePlan) plan = NULL;
	g_autoptr(GError) error = NULL;
	const GbeAction *action;
	bool closed = facts->data_open == GBE_NO;

	gbe_json_set_string(next, "deployment", facts->next);
	if (off != NULL) {
		gbe_status_set_off(next, off);
		return next;
	}
	if (!gbe_observe_next_boot(observed, NULL, NULL, GBE_UNKNOWN, &error)) {
		gbe_status_set_off(next, error->message);
		return next;
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
	gbe_json_set_string(next, "rule", gbe_rule_to_string(plan->rule));
	gbe_json_set_string(next, "action",
			    action != NULL ? gbe_action_to_string(action->kind) : NULL);
	gbe_json_set_string(next, "backup", action != NULL ? action->name : NULL);
	set_source(next, facts, action);
	gbe_json_set_string(next, "reason",
			    action != NULL && action->reason != NULL ? action->reason
								     : plan->reason);
	return next;
}

static void warn(JsonArray *warnings, const char *format, ...) G_GNUC_PRINTF(2, 3);

static void
warn(JsonArray *warnings, const char *format, ...)
{
	g_autofree char *text = GBE_VFORMAT(format);

	json_array_add_string_element(warnings, text);
}

static void
warn_intent(JsonArray *warnings, const GbeFacts *facts)
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

static void
warn_damaged(JsonArray *warnings, const GbeObserved *observed)
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
warn_failed_restore(JsonArray *warnings, const GbeFacts *facts)
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
warn_updated(JsonArray *warnings, const GbeFacts *facts)
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
warn_owner(JsonArray *warnings, const GbeFacts *facts)
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
warn_update(JsonArray *warnings, GbeApp *app)
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
warn_cramped(JsonArray *warnings, const GbeObserved *observed)
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

JsonArray *
gbe_status_warnings(GbeApp *app, const GbeObserved *observed, const GbeHealthLook *look)
{
	g_autofree char *periodic = gbe_periodic_trouble(app, look);
	g_autofree char *offsite = gbe_offsite_trouble(app);
	const GbeFacts *facts = observed->facts;
	JsonArray *warnings = json_array_new();

	if (facts->ostree == GBE_YES && facts->booted.id == NULL)
		warn(warnings, "the booted deployment cannot be told: %s",
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

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "app/report/status.h"

#include "app/state/state.h"
#include "base/format.h"
#include "core/decide/retention.h"
#include "core/decide/situation.h"
#include "core/json/parse.h"
#include "core/space.h"
#include "core/units/dropin.h"
#include "fs/copy/extents.h"
#include "fs/exchange.h"
#include "fs/probe.h"
#include "fs/tree.h"
#include "sys/enabled.h"
#include "sys/installed.h"
#include "sys/systemd/units.h"

#include <fcntl.h>
#include <string.h>

static const char *
or_unknown(const char *why)
{
	return why != NULL ? why : "unknown";
}

/* ---- the system ---- */

static void
note_system(const GbeObserved *observed, GPtrArray *to)
{
	const GbeFacts *facts = observed->facts;
	const char *unlocked = gbe_deployments_unlocked(observed->deployments);
	g_autofree char *neighbour = gbe_deployments_neighbour(observed->deployments);

	if (facts->ostree != GBE_YES)
		gbe_notice_add(to, GBE_NOTICE_SYSTEM,
			       "take backups by hand: `greenboot-etcd backup --stop`",
			       "this is not an ostree system: updates are not backed up or rolled "
			       "back here. bootc with composefs alone is not supported");
	else if (facts->booted.id == NULL)
		gbe_notice_add(to, GBE_NOTICE_BOOTED, NULL,
			       "cannot identify the booted deployment: %s",
			       or_unknown(facts->booted_why));
	if (facts->ostree == GBE_YES && facts->listed == NULL)
		gbe_notice_add(to, GBE_NOTICE_LISTED, NULL,
			       "ostree's deployments cannot be listed: %s",
			       or_unknown(observed->deployments->list_why));
	if (facts->booted.id != NULL && facts->listed != NULL && facts->ostree == GBE_YES) {
		g_autofree char *count = gbe_count_to_text(facts->listed->len, "deployment");

		gbe_notice_check(to, "system", GBE_LEVEL_OK, "%s is booted, %s", facts->booted.id,
				 count);
	}
	if (unlocked != NULL)
		gbe_notice_check(to, "system", GBE_LEVEL_NOTE,
				 "the booted deployment is unlocked (%s): its id does not tell "
				 "what is changed; a higher etcd is noticed",
				 unlocked);
	if (neighbour != NULL)
		gbe_notice_check(to, "system", GBE_LEVEL_NOTE,
				 "the stateroot %s has a /var, and data of etcd, of its own",
				 neighbour);
	for (guint i = 0; facts->listed != NULL && i < facts->listed->len; i++) {
		const GbeListed *listed = facts->listed->pdata[i];

		if (!listed->staged)
			continue;
		gbe_notice_check(to, "staged", GBE_LEVEL_NOTE, "%s is staged", listed->ref.id);
		if (listed->has_program == GBE_NO)
			gbe_notice_add(to, GBE_NOTICE_STAGED, NULL,
				       "%s does not carry greenboot-etcd: a failure of this update "
				       "would go unnoticed",
				       listed->ref.id);
	}
}

static void
note_locked(const GbeFacts *facts, GPtrArray *to)
{
	for (guint i = 0; facts->listed != NULL && i < facts->listed->len; i++) {
		const GbeListed *listed = facts->listed->pdata[i];

		if (listed->staged && listed->locked)
			gbe_notice_add(
			    to, GBE_NOTICE_LOCKED, NULL,
			    "the staged deployment %s is locked: a reboot does not take it",
			    listed->ref.id);
	}
}

/* Does the next boot bring an update that was never green, and does nothing count its boots? For a staged one greenboot
 * begins to count: the shell version once it is staged, the Rust version when it is finalized. */
static bool
is_uncounted_update(const GbeObserved *observed)
{
	const GbeFacts *facts = observed->facts;
	const GbeListed *next = facts->next != NULL ? gbe_facts_listed(facts, facts->next) : NULL;
	g_autofree char *here = NULL, *there = NULL;

	if (next == NULL || facts->booted.id == NULL ||
	    !gbe_deployment_id_parse(facts->booted.id, &here, NULL, NULL) ||
	    !gbe_deployment_id_parse(next->ref.id, &there, NULL, NULL))
		return false;
	/* Another stateroot is another system, with a /var of its own. */
	return g_str_equal(here, there) && !gbe_deployment_same(&next->ref, &facts->booted) &&
	       gbe_situation_trial_of(facts, &next->ref) == GBE_YES &&
	       observed->greenboot->counts == GBE_NO && !next->staged;
}

static void
note_greenboot(const GbeObserved *observed, GPtrArray *to)
{
	const GbeGreenboot *greenboot = observed->greenboot;

	if (greenboot->flavour == GBE_GREENBOOT_NONE && greenboot->enabled == GBE_NO)
		gbe_notice_add(to, GBE_NOTICE_GREENBOOT, NULL,
			       "greenboot is not installed: boots are not judged, and a failed "
			       "update is not rolled back");
	else if (greenboot->enabled == GBE_NO)
		gbe_notice_add(to, GBE_NOTICE_GREENBOOT, NULL,
			       "greenboot is not enabled (%s): `systemctl enable "
			       "greenboot-healthcheck`",
			       or_unknown(greenboot->enabled_why));
	else if (greenboot->enabled == GBE_UNKNOWN)
		gbe_notice_check(to, "greenboot", GBE_LEVEL_UNKNOWN,
				 "cannot determine whether greenboot is enabled");
	else if (greenboot->count_why != NULL)
		gbe_notice_add(to, GBE_NOTICE_GREENBOOT, NULL,
			       "boots are not counted, so that an update that fails is booted "
			       "again and again: %s (greenboot-etcd-guide(7))",
			       greenboot->count_why);
	else if (greenboot->can_count == GBE_UNKNOWN)
		gbe_notice_check(to, "greenboot", GBE_LEVEL_UNKNOWN,
				 "cannot determine whether greenboot can count boots");
	else if (is_uncounted_update(observed))
		gbe_notice_add(to, GBE_NOTICE_GREENBOOT, NULL,
			       "the next boot is an update and nothing counts it: a failure of "
			       "%s brings no other system back; stage it again",
			       observed->facts->next);
	else
		gbe_notice_check(to, "greenboot", GBE_LEVEL_OK, "%s flavour, enabled, can count",
				 gbe_greenboot_flavour_to_string(greenboot->flavour));
}

/* ---- the start of etcd ---- */

/* Does the service have the dependencies of the generator's drop-in (core/units/dropin.h)? */
static GbeTri
is_ordered(const char *service)
{
	static const char *const prerun[] = {GBE_PRERUN_UNIT, NULL};
	static const char *const required[] = {GBE_PRERUN_UNIT, "greenboot-etcd-start.target",
					       NULL};
	GbeTri after = gbe_unit_names(service, "After", prerun);
	GbeTri requires = gbe_unit_names(service, "Requires", required);

	return after == GBE_NO || requires == GBE_NO ? GBE_NO : MIN(after, requires);
}

/* The process of another unit that has the data open, newly allocated; NULL: none. A service that runs may have its
 * etcd in a scope or in a container of another unit; `run` binds etcd's unit to the service that needs etcd. */
static char *
find_other_holder(const GbeApp *app, const GbeObserved *observed, const GbeHealthLook *look)
{
	const char *service = app->config->etcd.service;
	const char *const bound_to[] = {service, NULL};
	GbeServiceState state = look->facts->service;
	bool down = state != GBE_SERVICE_UNKNOWN && state != GBE_SERVICE_RUNNING &&
		    state != GBE_SERVICE_ACTIVATING;
	g_autofree char *unit = NULL;

	if (app->below_root || service == NULL || observed->facts->data_open != GBE_YES)
		return NULL;
	unit = gbe_data_holder_unit(observed->data);
	if (unit == NULL || g_str_equal(unit, service) ||
	    g_strcmp0(unit, gbe_dropin_scope_of(service)) == 0 ||
	    gbe_unit_names(unit, "BindsTo", bound_to) == GBE_YES)
		return NULL;
	return down || g_str_has_suffix(unit, ".service") ? gbe_data_holder(observed->data) : NULL;
}

/* Does prerun run before etcd? @observed NULL: another holder of the data is not looked for. */
static void
note_start(const GbeApp *app, const GbeObserved *observed, const GbeHealthLook *look, GPtrArray *to)
{
	static const GbeTri prerun[] = {[GBE_UNIT_ABSENT] = GBE_NO,
					[GBE_UNIT_MASKED] = GBE_UNKNOWN,
					[GBE_UNIT_PRESENT] = GBE_YES};
	const char *service = app->config->etcd.service;
	GbeStartFacts facts = {.service = service,
			       .prerun = prerun[gbe_prerun_unit(app)],
			       .skipped = app->cmdline.skip,
			       .ambiguous = app->config->ambiguous};
	GbeInstalled installed[GBE_SYSTEMS_MAX];
	guint count = gbe_installed_look(app->root_fd, installed);
	g_autofree char *other = NULL;

	/* A root that is inspected from outside may be served by a program in another place. */
	if (facts.prerun == GBE_NO && app->below_root)
		facts.prerun = GBE_YES;
	facts.service_known = service != NULL && gbe_unit_is_known(app->root_fd, service);
	facts.ordered = look != NULL && !app->below_root && facts.service_known
			    ? is_ordered(service)
			    : GBE_UNKNOWN;
	if (look != NULL && observed != NULL)
		facts.other = other = find_other_holder(app, observed, look);
	for (guint i = 0; i < count && facts.unprotected == NULL; i++) {
		const GbeSystem *system = installed[i].system;

		if (!system->application || g_strcmp0(system->service, service) == 0)
			continue;
		facts.unprotected = system->service;
		facts.unprotected_why = installed[i].why;
	}
	if (!facts.service_known && facts.unprotected == NULL)
		(void)gbe_installed_without_etcd(app->root_fd, &facts.without_etcd,
						 &facts.without_etcd_hint);
	gbe_notices_of_start(&facts, to);
	gbe_installed_clear(installed, count);
}

/* ---- etcd ---- */

static void
note_health(const GbeFacts *facts, const GbeHealthLook *look, GPtrArray *to)
{
	const GbeRunRecord *run = facts != NULL ? gbe_facts_this_run(facts) : NULL;
	const char *version = look != NULL ? look->facts->version : NULL;
	GbeHealth health = GBE_HEALTH_NOT_ASKED;
	const char *reason = "not asked in this run";
	GbeNoticeKind kind;

	if (look != NULL) {
		health = look->report->health;
		reason = look->report->reason;
	} else if (run != NULL) {
		health = run->health;
		reason = run->reason != NULL ? run->reason : reason;
	}
	switch (health) {
	case GBE_HEALTH_HEALTHY:
		gbe_notice_check(to, "etcd", GBE_LEVEL_OK, "healthy%s%s",
				 version != NULL ? ", version " : "",
				 version != NULL ? version : "");
		break;
	case GBE_HEALTH_UNHEALTHY:
		gbe_notice_add(to, look != NULL ? GBE_NOTICE_UNHEALTHY : GBE_NOTICE_WAS_UNHEALTHY,
			       "mend etcd (`greenboot-etcd health`)", "etcd is not healthy: %s",
			       reason);
		gbe_notice_step(to, "greenboot-etcd health");
		break;
	case GBE_HEALTH_NOT_ASKED:
		gbe_notice_check(to, "etcd", GBE_LEVEL_NOTE, "etcd's health: %s", reason);
		break;
	case GBE_HEALTH_CANNOT_TELL:
	default:
		kind = look == NULL ? GBE_NOTICE_WAS_UNTOLD : GBE_NOTICE_UNTOLD;
		/* No answer in a moment is no finding: the monitor's last answer counts as long as it is fresh. */
		if (look != NULL && look->report->late && look->was_healthy)
			kind = GBE_NOTICE_WAS_UNTOLD;
		else if (look != NULL && (look->report->late || look->at.endpoint.refused != NULL))
			kind = GBE_NOTICE_NO_ANSWER;
		gbe_notice_add(to, kind, "see `greenboot-etcd health`",
			       "cannot determine etcd's health: %s", reason);
		break;
	}
}

/* True: the etcd that answers has its data or its log elsewhere. */
static bool
note_other_data(const GbeApp *app, const GbeHealthLook *look, GPtrArray *to)
{
	const char *hint = "set data-dir= and wal-dir= of [etcd] to where etcd has its data";

	if (look == NULL || look->facts->opens_log != GBE_NO)
		return false;
	if (gbe_health_is_elsewhere(look->facts))
		gbe_notice_add(to, GBE_NOTICE_OTHER_DATA, hint,
			       "the etcd that answers does not have %s open",
			       app->config->etcd.data_dir);
	else
		gbe_notice_add(to, GBE_NOTICE_OTHER_DATA, hint,
			       "etcd has its log elsewhere, so a backup would lack it");
	return true;
}

/* ---- the data and its place ---- */

/* Does one of the notices already have @why? A hold names its cause. */
static bool
is_told(const GPtrArray *notices, const char *why)
{
	GBE_EACH(const GbeNotice *, notice, notices)
		if (why != NULL && strstr(notice->text, why) != NULL)
			return true;
	return false;
}

/* True: there is data to back up. */
static bool
note_data(GbeObserved *observed, GPtrArray *to)
{
	const GbeFacts *facts = observed->facts;
	const GbeData *data = observed->data;
	const GbeTreeInfo *tree = &observed->tree;
	g_autoptr(GError) error = NULL;
	g_autofree char *size = NULL;

	if (facts->data == GBE_NO) {
		gbe_notice_add(to, GBE_NOTICE_NO_DATA, "start etcd, or correct data-dir= of [etcd]",
			       "there is no etcd data in %s", data->path);
		return false;
	}
	if (!gbe_observed_is_readable(observed, &error)) {
		if (!is_told(to, facts->data_why))
			gbe_notice_add(to, GBE_NOTICE_UNREAD,
				       "correct data-dir= of [etcd], or the directory", "%s",
				       error->message);
		return false;
	}
	gbe_observe_tree(observed);
	if (!gbe_data_check_whole(data, &error) || observed->tree_why != NULL) {
		gbe_notice_add(to, GBE_NOTICE_PARTIAL, NULL, "%s cannot be backed up: %s",
			       data->path, error != NULL ? error->message : observed->tree_why);
		return false;
	}
	if (observed->tree_unknown != NULL) {
		gbe_notice_check(to, "data", GBE_LEVEL_UNKNOWN,
				 "cannot determine whether %s can be backed up: %s", data->path,
				 observed->tree_unknown);
		return true;
	}
	size = gbe_size_to_text(tree->bytes);
	gbe_notice_check(to, "data", GBE_LEVEL_OK, "%s: %s in %" G_GUINT64_FORMAT " files",
			 data->path, size, tree->files);
	if (tree->left_out != NULL && tree->left_out->len > 0)
		gbe_notice_check(to, "data", GBE_LEVEL_NOTE,
				 "sockets carry no data and are left out: %u", tree->left_out->len);
	return true;
}

/* True: there is a place for the backup. */
static bool
note_store(const GbeObserved *observed, GPtrArray *to)
{
	const GbeStore *store = observed->store;
	g_autofree char *count = NULL;
	g_autoptr(GError) error = NULL;
	bool usable = false;

	if (observed->facts->store == GBE_NO) {
		(void)!gbe_observed_no_store(observed, &error);
		gbe_notice_add(to, GBE_NOTICE_STORE_AWAY, NULL, "%s", error->message);
	} else if (store->fd >= 0 && gbe_filesystem_read_only(store->fd)) {
		gbe_notice_add(to, GBE_NOTICE_STORE_READ_ONLY, NULL,
			       "the store of backups %s is read-only: nothing is backed up or "
			       "pruned until it is mounted to be written",
			       store->path);
	} else if (store->fd >= 0 && !gbe_is_writable(store->fd, &error)) {
		gbe_notice_add(to, GBE_NOTICE_STORE, NULL, "the store of backups %s: %s",
			       store->path, error->message);
	} else {
		count = gbe_count_to_text(observed->facts->backups->len, "backup");
		gbe_notice_check(to, "store", GBE_LEVEL_OK, "%s: %s", store->path, count);
		usable = true;
	}
	if (observed->facts->unread != NULL && !is_told(to, observed->facts->unread))
		gbe_notice_add(to, GBE_NOTICE_WARNING, NULL,
			       "nothing is pruned while something cannot be read: %s",
			       observed->facts->unread);
	for (guint i = 0; observed->damaged != NULL && i < observed->damaged->len; i++) {
		const char *name = observed->damaged->pdata[i];
		g_autofree char *hint = NULL;

		if (!gbe_status_is_damaged(observed, name))
			continue;
		hint = g_strdup_printf("look at it, or remove the backup (`greenboot-etcd delete "
				       "--force %s`)",
				       name);
		gbe_notice_add(to, GBE_NOTICE_DAMAGED, hint,
			       "the manifest of backup %s cannot be read", name);
		gbe_notice_step(to, "greenboot-etcd delete --force %s", name);
	}
	return usable;
}

/* Can a restore put a tree in the data's place? */
static void
note_exchange(const GbeObserved *observed, GPtrArray *to)
{
	const GbeData *data = observed->data;
	gbe_autofd int member_fd = -1;
	int fd = data->fd;
	int above = data->parent_fd;
	GbeTri can;

	if (observed->facts->data != GBE_YES)
		return;
	/* At a mount point the entries of the data directory change places. */
	if (data->mount_point) {
		above = data->fd;
		fd = member_fd =
		    openat(data->fd, *data->member_path != '\0' ? data->member_path : "member",
			   O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	}
	can = fd >= 0 && above >= 0 ? gbe_probe_exchange(above, fd) : GBE_YES;
	if (can == GBE_NO)
		gbe_notice_add(to, GBE_NOTICE_EXCHANGE, NULL,
			       "%s: its file system cannot exchange directories, so that no "
			       "backup can be restored there; on an overlay, mount it with "
			       "redirect_dir=on or move the data to another file system",
			       data->path);
	else if (can == GBE_UNKNOWN)
		gbe_notice_check(to, "exchange", GBE_LEVEL_UNKNOWN,
				 "cannot determine whether a backup can be restored to %s: its "
				 "file system may be unable to exchange directories",
				 data->path);
}

/* ---- the past ---- */

/* Was a restore due when this deployment took the data over, did it fail, and can a person still do it? */
static bool
is_failed_restore(const GbeFacts *facts)
{
	const GbeLastOperation *last = &facts->last;

	return facts->owner != NULL && facts->owner->failed &&
	       g_strcmp0(last->operation, "restore") == 0 &&
	       g_strcmp0(last->result, "failed") == 0 && last->backup != NULL &&
	       gbe_facts_backup(facts, last->backup) != NULL;
}

/* The way back follows from the facts of now: a backup may be gone since. */
static void
note_held(GbeApp *app, const GbeObserved *observed, JsonObject *done, const char *reason,
	  GPtrArray *to)
{
	GbeHeld held = {GBE_HOLD_NO};

	gbe_prerun_done_hold(done, &held);
	if (held.kind == GBE_HOLD_NO) {
		gbe_notice_add(to, GBE_NOTICE_HELD, NULL, "etcd is held back: %s",
			       done != NULL ? gbe_json_string(done, "reason", reason) : reason);
		return;
	}
	if (observed != NULL) {
		g_ptr_array_unref(held.steps);
		held.steps = gbe_hold_way(app, observed, held.kind);
	}
	gbe_notice_held(to, &held);
	gbe_held_clear(&held);
}

/* The results of prerun's last start and of the last operation. */
static void
note_last_operation(GbeApp *app, const GbeObserved *observed, const GbeHealthLook *look,
		    GPtrArray *to)
{
	const GbeFacts *facts = observed->facts;
	g_autoptr(JsonObject) done = gbe_prerun_done_read(app);
	const GbeLastOperation *last = &facts->last;
	const char *reason = last->reason != NULL ? last->reason : "no reason recorded";
	bool this_run = gbe_facts_is_this_run(facts, last->run);
	bool was_held = g_strcmp0(last->result, "held") == 0;
	bool held = done != NULL ? gbe_json_bool(done, "held", false) : was_held && this_run;
	g_autofree char *hint = NULL;
	bool failed = false;

	/* A person may have masked prerun and started etcd: the service runs. */
	if (held && (look == NULL || done == NULL || look->facts->held))
		note_held(app, observed, done, reason, to);
	/* A hold of this run is told above, or it has ended. */
	if (last->operation == NULL || (was_held && (held || this_run)))
		return;
	if (last->result != NULL && !g_str_equal(last->result, "done")) {
		if (is_failed_restore(facts))
			hint = g_strdup_printf("restore it (`greenboot-etcd restore --stop %s`), "
					       "or keep the data that is there",
					       last->backup);
		gbe_notice_add(to,
			       hint != NULL ? GBE_NOTICE_FAILED_RESTORE
			       : was_held   ? GBE_NOTICE_WAS_HELD
					    : GBE_NOTICE_FAILED,
			       hint != NULL ? hint : "see what went wrong (`greenboot-etcd log`)",
			       "%s of %s %s: %s", last->operation,
			       last->backup != NULL ? last->backup : "the data", last->result,
			       reason);
		if (hint != NULL)
			gbe_notice_step(to, "greenboot-etcd restore --stop %s", last->backup);
		else
			gbe_notice_step(to, "greenboot-etcd log");
	} else if (this_run && last->rule != NULL && g_ascii_isdigit(last->rule[0])) {
		/* Done by a rule, but a person may want something else. */
		if (g_str_equal(last->operation, "restore"))
			gbe_notice_add(to, GBE_NOTICE_LAST,
				       gbe_situation_undo(facts, &failed) != NULL && !failed
					   ? "`greenboot-etcd undo --stop` puts back what was there"
					   : NULL,
				       "etcd's data was replaced by backup %s at this boot (%s)",
				       last->backup != NULL ? last->backup : "?", reason);
		else if (g_str_equal(last->operation, "fresh"))
			gbe_notice_add(to, GBE_NOTICE_LAST,
				       "`greenboot-etcd list` shows what can be restored",
				       "there was no etcd data at this boot");
	}
}

/* etcd in a container is updated without a new deployment, so that no start takes a backup before. */
static void
note_updated(const GbeFacts *facts, GPtrArray *to)
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
	gbe_notice_add(
	    to, GBE_NOTICE_WARNING, NULL,
	    "etcd was updated to %s from %s under the same system: etcd %s does not start on the "
	    "data any more; %s%s",
	    run->etcd_version, run->updated_from, run->updated_from,
	    before != NULL ? "a backup that it can read is "
			   : "there is no backup that it can read",
	    before != NULL ? before->name : "");
}

/* The owner may have got the data in a way that a person should know. */
static void
note_owner(const GbeFacts *facts, GPtrArray *to)
{
	const GbeTakeOver *owner = facts->owner;

	if (owner == NULL)
		return;
	if (owner->failed && !is_failed_restore(facts))
		gbe_notice_add(to, GBE_NOTICE_WARNING, NULL,
			       "a restore was due when this deployment took the data over, and "
			       "failed: the data that was there is kept; `greenboot-etcd list` "
			       "shows what can be restored");
	if (owner->late)
		gbe_notice_add(to, GBE_NOTICE_WARNING, NULL,
			       "etcd ran in run %s although greenboot-etcd-prerun took nothing "
			       "over: nothing was backed up before it (`greenboot-etcd backup` "
			       "takes one)",
			       or_unknown(owner->run));
	note_updated(facts, to);
	if (gbe_situation_failed_and_stays(facts))
		gbe_notice_add(to, GBE_NOTICE_WARNING, NULL,
			       "this update failed and keeps the data: nothing counts its boots "
			       "down, and no other system boots next; roll back, or "
			       "`greenboot-etcd mark good`");
	if (gbe_situation_began_empty(facts))
		gbe_notice_add(to, GBE_NOTICE_WARNING, NULL,
			       "etcd began with an empty database, although there was data "
			       "before: `greenboot-etcd list` shows what `greenboot-etcd restore "
			       "NAME` brings back; `greenboot-etcd mark good` accepts the empty "
			       "one");
}

static void
note_ledger(const GbeFacts *facts, GPtrArray *to)
{
	if (facts->ledger == GBE_UNKNOWN)
		gbe_notice_add(to, GBE_NOTICE_LEDGER, NULL, "the ledger cannot be read: %s",
			       facts->ledger_why);
	else if (facts->holes)
		gbe_notice_add(to, GBE_NOTICE_WARNING, NULL,
			       "a record of the ledger cannot be read: part of the past is not "
			       "known (`greenboot-etcd log`)");
}

/* Names the command that makes room for etcd's next start. */
static void
note_cramped(const GbeObserved *observed, GPtrArray *to)
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
	gbe_notice_add(to, GBE_NOTICE_WARNING, NULL,
		       "etcd may not start again: %s has too little room (%s%s); %s", data->path,
		       free_text, files, command);
}

/* Read as text: the initramfs links this file, and has no other use for the record. */
static void
note_update_lock(GbeApp *app, GPtrArray *to)
{
	g_autoptr(JsonObject) lock = NULL;

	if (app->state_fd < 0 || !gbe_state_read(app, GBE_STATE_UPDATE_LOCK, false, &lock, NULL) ||
	    lock == NULL || !g_str_equal(gbe_json_string(lock, "state", ""), "failed"))
		return;
	gbe_notice_add(to, GBE_NOTICE_WARNING, NULL,
		       "an update failed here, and the other members of the cluster do not "
		       "update: %s (`greenboot-etcd cluster unlock --force` ends that)",
		       gbe_json_string(lock, "reason", "no reason is recorded"));
}

static void
note_intent(const GbeFacts *facts, GPtrArray *to)
{
	const GbeIntent *intent = facts->intent;

	if (facts->intent_why != NULL)
		gbe_notice_add(to, GBE_NOTICE_WARNING, NULL,
			       "the record of an open operation cannot be read: %s",
			       facts->intent_why);
	else if (intent != NULL)
		gbe_notice_add(
		    to, GBE_NOTICE_WARNING, NULL,
		    "%s%s was interrupted; the next start of greenboot-etcd-prerun finishes it",
		    intent->backup != NULL ? "the restore of " : "setting the data aside",
		    intent->backup != NULL ? intent->backup : "");
}

static void
note_records(GbeApp *app, const GbeHealthLook *look, GPtrArray *to)
{
	g_autofree char *periodic = gbe_periodic_trouble(app, look);
	g_autofree char *offsite = gbe_offsite_trouble(app);
	g_auto(GbePeriodic) record = {0};

	if (periodic != NULL)
		gbe_notice_add(to, GBE_NOTICE_PERIODIC, NULL, "%s", periodic);
	else if (gbe_periodic_load(app, &record) && record.result == GBE_PERIODIC_FAILED)
		gbe_notice_add(to, GBE_NOTICE_PERIODIC_LAST, NULL,
			       "the last periodic backup of etcd failed");
	if (offsite != NULL)
		gbe_notice_add(to, GBE_NOTICE_OFFSITE, NULL, "%s", offsite);
}

/* The result of the last rehearsal of an update. */
static void
note_rehearsal(GbeApp *app, const GbeObserved *observed, GPtrArray *to)
{
	g_auto(GbeRehearsal) rehearsal = {{0}};
	g_autofree char *trouble = NULL;

	if (!gbe_rehearsal_load(app, observed->deployments, &rehearsal))
		return;
	trouble = gbe_rehearsal_trouble(&rehearsal);
	if (trouble != NULL)
		gbe_notice_add(to, GBE_NOTICE_REHEARSAL, NULL, "%s", trouble);
	else if (rehearsal.result == GBE_REHEARSAL_PASSED)
		gbe_notice_check(to, "rehearsal", GBE_LEVEL_OK,
				 "etcd %s of %s works on today's data%s%s",
				 rehearsal.to != NULL ? rehearsal.to : "", rehearsal.deployment.id,
				 rehearsal.going_back != NULL ? "; " : "",
				 rehearsal.going_back != NULL ? rehearsal.going_back : "");
	else
		gbe_notice_check(to, "rehearsal", GBE_LEVEL_NOTE, "%s is not rehearsed: %s",
				 rehearsal.deployment.id, rehearsal.reason);
}

/* ---- the lists ---- */

GPtrArray *
gbe_notices_for_users(GbeApp *app, const GbeHealthLook *look)
{
	GPtrArray *to = gbe_notices_new();

	note_start(app, NULL, look, to);
	if (look == NULL)
		return to;
	if (look->facts->held) {
		g_autoptr(JsonObject) done = gbe_prerun_done_read(app);

		note_held(app, NULL, done, "by prerun", to);
	}
	(void)note_other_data(app, look, to);
	note_health(NULL, look, to);
	return to;
}

/* The order is that of the warnings, of which the first may be the first line of status. */
GPtrArray *
gbe_notices_collect(GbeApp *app, GbeObserved *observed, const GbeHealthLook *look)
{
	GPtrArray *to = gbe_notices_new();
	const GbeFacts *facts = observed->facts;

	note_last_operation(app, observed, look, to);
	note_health(facts, look, to);
	(void)note_other_data(app, look, to);
	note_system(observed, to);
	note_greenboot(observed, to);
	note_start(app, observed, look, to);
	if (facts->run == NULL)
		gbe_notice_add(to, GBE_NOTICE_WARNING, NULL, "%s", or_unknown(facts->run_why));
	note_ledger(facts, to);
	note_owner(facts, to);
	note_cramped(observed, to);
	(void)note_data(observed, to);
	note_update_lock(app, to);
	(void)note_store(observed, to);
	note_exchange(observed, to);
	if (gbe_situation_last_good(observed->facts) == NULL) {
		gbe_notice_add(to, GBE_NOTICE_NO_BACKUP,
			       "`greenboot-etcd backup` takes one (--live or --stop)",
			       "there is no good backup");
		gbe_notice_step(to, facts->clones == GBE_YES && facts->data_open == GBE_YES
					? "greenboot-etcd backup --live"
					: "greenboot-etcd backup --stop");
	}
	note_locked(facts, to);
	note_intent(facts, to);
	note_records(app, look, to);
	note_rehearsal(app, observed, to);
	return to;
}

bool
gbe_notices_for_preflight(GbeApp *app, GbeObserved *observed, const GbeHealthLook *look,
			  GPtrArray *to, bool *ret_place)
{
	bool off = gbe_config_is_off(app->config);

	*ret_place = false;
	note_system(observed, to);
	note_locked(observed->facts, to);
	note_greenboot(observed, to);
	note_start(app, NULL, look, to);
	note_rehearsal(app, observed, to);
	if (!note_data(observed, to)) {
		/* An etcd may run whose data is not where this program looks. */
		if (!off && look != NULL && gbe_health_is_elsewhere(look->facts))
			(void)note_other_data(app, look, to);
		return false;
	}
	note_ledger(observed->facts, to);
	*ret_place = note_store(observed, to);
	note_exchange(observed, to);
	if (!off && !note_other_data(app, look, to)) {
		if (look != NULL && look->facts->read.reach == GBE_REACH_NO_USER)
			gbe_notice_check(to, "user", GBE_LEVEL_NOTE,
					 "defragmentation, snapshots, pushes and changes of "
					 "members do not work: %s",
					 look->facts->read.why);
		note_health(observed->facts, look, to);
	}
	return true;
}

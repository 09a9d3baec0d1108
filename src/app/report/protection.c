/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "app/report/protection.h"

#include "app/backups/data.h"
#include "app/report/preflight-checks.h"
#include "app/report/prerun-unit.h"
#include "app/report/records.h"
#include "app/report/status.h"
#include "app/state/state.h"
#include "core/decide/situation.h"
#include "core/json/parse.h"
#include "core/units/dropin.h"
#include "sys/installed.h"
#include "sys/systemd/units.h"

/* True: the service has the dependencies of the generator's drop-in (core/units/dropin.h). */
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

/* Finds an application that is installed and not protected. */
static void
observe_unprotected(const GbeApp *app, GbeProtectionFacts *facts)
{
	GbeInstalled installed[GBE_SYSTEMS_MAX];
	guint count = gbe_installed_look(app->root_fd, installed);

	for (guint i = 0; i < count; i++) {
		const GbeSystem *system = installed[i].system;

		if (facts->unprotected != NULL || !system->application ||
		    g_strcmp0(system->service, facts->service) == 0)
			continue;
		facts->unprotected = system->service;
		facts->unprotected_why = g_intern_string(installed[i].why);
	}
	gbe_installed_clear(installed, count);
}

void
gbe_protection_observe_units(const GbeApp *app, const GbeHealthLook *look,
			     GbeProtectionFacts *ret_facts)
{
	static const GbeTri prerun[] = {[GBE_UNIT_ABSENT] = GBE_NO,
					[GBE_UNIT_MASKED] = GBE_UNKNOWN,
					[GBE_UNIT_PRESENT] = GBE_YES};
	const char *service = app->config->etcd.service;
	GbeProtectionFacts facts = {.service = service, .last_good = true, .data = GBE_YES};

	facts.prerun = prerun[gbe_prerun_unit(app)];
	/* A root that is inspected from outside may be served by a program in another place. */
	if (facts.prerun == GBE_NO && app->below_root)
		facts.prerun = GBE_YES;
	facts.skipped = app->cmdline.skip;
	facts.service_known = service != NULL && gbe_unit_is_known(app->root_fd, service);
	facts.ordered = GBE_UNKNOWN;
	if (look != NULL && !app->below_root && facts.service_known)
		facts.ordered = is_ordered(service);
	facts.ambiguous = app->config->ambiguous;
	observe_unprotected(app, &facts);
	if (look != NULL) {
		facts.health = look->report->health;
		facts.health_why = look->report->reason;
		if (gbe_health_is_elsewhere(look->facts))
			facts.elsewhere = "the etcd that answers does not have the data open";
		else if (look->facts->opens_log == GBE_NO)
			facts.elsewhere = "etcd has its log elsewhere, so that a backup has none";
		if (look->facts->held)
			facts.held =
			    look->facts->held_why != NULL ? look->facts->held_why : "by prerun";
	}
	*ret_facts = facts;
}

/* Takes @text and frees it with the view. */
static const char *
keep(GbeProtectionView *view, char *text)
{
	if (text != NULL)
		g_ptr_array_add(view->texts, text);
	return text;
}

static bool
is_down(GbeServiceState service)
{
	return service != GBE_SERVICE_UNKNOWN && service != GBE_SERVICE_RUNNING &&
	       service != GBE_SERVICE_ACTIVATING;
}

/* `run` binds etcd's unit to the service that needs etcd. */
static bool
is_bound(const char *unit, const char *service)
{
	const char *const names[] = {service, NULL};

	return gbe_unit_names(unit, "BindsTo", names) == GBE_YES;
}

/* Finds a process of another unit that has the data open. A service that runs may have its etcd in a scope or in a
 * container of another unit. */
static void
observe_holder(const GbeApp *app, const GbeObserved *observed, const GbeHealthLook *look,
	       GbeProtectionView *view)
{
	const char *service = app->config->etcd.service;
	g_autofree char *unit = NULL;

	if (look == NULL || app->below_root || service == NULL ||
	    observed->facts->data_open != GBE_YES)
		return;
	unit = gbe_data_holder_unit(observed->data);
	if (unit == NULL || g_str_equal(unit, service) ||
	    g_strcmp0(unit, gbe_dropin_scope_of(service)) == 0 || is_bound(unit, service))
		return;
	if (is_down(look->facts->service) || g_str_has_suffix(unit, ".service"))
		view->facts.other = keep(view, gbe_data_holder(observed->data));
}

typedef void (*Check)(const GbeObserved *observed, GPtrArray *findings);

static void
check_store(const GbeObserved *observed, GPtrArray *findings)
{
	(void)gbe_preflight_check_store(observed, findings);
	gbe_preflight_check_exchange(observed, findings);
}

static const char *
bad_of(Check check, const GbeObserved *observed, GbeProtectionView *view)
{
	g_autoptr(GPtrArray) findings =
	    g_ptr_array_new_with_free_func((GDestroyNotify)gbe_preflight_finding_free);

	check(observed, findings);
	for (guint i = 0; i < findings->len; i++) {
		const GbePreflightFinding *finding = findings->pdata[i];

		if (finding->level == GBE_PREFLIGHT_BAD)
			return keep(view, g_strdup(finding->text));
	}
	return NULL;
}

/* Fills in the results of prerun's last start and of the last operation. */
static void
observe_operations(GbeApp *app, const GbeFacts *facts, GbeProtectionView *view)
{
	g_autoptr(JsonObject) done = gbe_prerun_done_read(app);
	const GbeLastOperation *last = &facts->last;
	const char *reason = last->reason != NULL ? last->reason : "no reason recorded";
	bool was_held = g_strcmp0(last->result, "held") == 0;
	bool held = done != NULL ? gbe_json_bool(done, "held", false)
				 : was_held && gbe_facts_is_this_run(facts, last->run);

	if (held)
		view->facts.held =
		    keep(view,
			 g_strdup(done != NULL ? gbe_json_string(done, "reason", reason) : reason));
	if (last->operation != NULL && last->result != NULL && !g_str_equal(last->result, "done"))
		view->facts.failed =
		    keep(view, g_strdup_printf("%s of %s %s: %s", last->operation,
					       last->backup != NULL ? last->backup : "the data",
					       last->result, reason));
	if (facts->owner != NULL && facts->owner->failed && view->facts.failed != NULL &&
	    last->backup != NULL && gbe_facts_backup(facts, last->backup) != NULL)
		view->facts.again =
		    keep(view, g_strdup_printf("greenboot-etcd restore --stop %s", last->backup));
}

static bool
periodic_failed(GbeApp *app)
{
	g_auto(GbePeriodic) periodic = {0};

	return gbe_periodic_load(app, &periodic) && periodic.result == GBE_PERIODIC_FAILED;
}

void
gbe_protection_observe(GbeApp *app, GbeObserved *observed, const GbeHealthLook *look,
		       GbeProtectionView *ret_view)
{
	GbeProtectionView view = {.texts = g_ptr_array_new_with_free_func(g_free)};
	GbeFacts *facts = observed->facts;
	g_autoptr(GError) partial = NULL;

	gbe_protection_observe_units(app, look, &view.facts);
	observe_holder(app, observed, look, &view);
	view.facts.data_dir = keep(&view, g_strdup(observed->data->path));
	view.facts.data = facts->data;
	if (facts->data == GBE_UNKNOWN)
		view.facts.data_why =
		    keep(&view, g_strdup(facts->data_why != NULL ? facts->data_why : "unknown"));
	if (facts->data == GBE_YES && !gbe_data_check_whole(observed->data, &partial))
		view.facts.partial = keep(&view, g_strdup(partial->message));
	view.facts.system = bad_of(gbe_preflight_check_system, observed, &view);
	view.facts.store = bad_of(check_store, observed, &view);
	view.facts.greenboot = bad_of(gbe_preflight_check_greenboot, observed, &view);
	view.facts.last_good = gbe_situation_last_good(facts) != NULL;
	view.facts.member = facts->member && app->config->cluster.rejoin;
	for (guint i = 0; observed->damaged != NULL && i < observed->damaged->len; i++)
		if (gbe_status_is_damaged(observed, observed->damaged->pdata[i]))
			view.facts.damaged = observed->damaged->pdata[i];
	observe_operations(app, facts, &view);
	view.facts.periodic = keep(&view, gbe_periodic_trouble(app, look));
	if (view.facts.periodic == NULL && periodic_failed(app))
		view.facts.periodic = "the last periodic backup of etcd failed";
	view.facts.offsite = keep(&view, gbe_offsite_trouble(app));
	*ret_view = view;
}

void
gbe_protection_view_clear(GbeProtectionView *view)
{
	g_clear_pointer(&view->texts, g_ptr_array_unref);
}

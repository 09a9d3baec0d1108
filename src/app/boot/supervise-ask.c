/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * After a prerun that did not end: may etcd have the data nevertheless? A process of its own answers within ten
 * seconds and avoids what may have killed the worker: it takes no lock, opens no store, and uses libostree only
 * after a soft reboot, when the kernel command line still names the deployment before it.
 */
#include "app/boot/supervise.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "app/backup/observe.h"
#include "app/backups/data.h"
#include "app/device/booted.h"
#include "app/report/status.h"
#include "app/state/configuration.h"
#include "app/state/prerun-done.h"
#include "app/state/state.h"
#include "base/error.h"
#include "core/decide/decide.h"
#include "core/decide/past.h"
#include "core/json/parse.h"
#include "fs/open.h"
#include "sys/deployment/deployments.h"
#include "sys/systemd/events.h"

static bool
find_booted(GbeApp *app, GbeDeployment *ret_booted, GError **error)
{
	g_autoptr(GbeDeployments) deployments = NULL;
	g_autofree char *run = NULL;

	if (!gbe_run_read(app->root_fd, !app->below_root, &run, error))
		return false;
	if (app->below_root || strchr(run, '+') == NULL)
		return gbe_booted_from_cmdline(app, ret_booted, error);
	deployments = gbe_deployments_load(app->root_fd, app->root_path, &app->cmdline);
	if (deployments->booted.id == NULL)
		return gbe_throw(error, GBE_ERROR_CANNOT_TELL, "%s", deployments->booted_why);
	gbe_deployment_copy(ret_booted, &deployments->booted);
	return true;
}

/* Reads what the ledger says of the data; changes nothing. */
static void
find_owner(GbeApp *app, GbeFacts *facts)
{
	g_autoptr(GbeData) data = NULL;
	g_autoptr(GError) error = NULL;

	if (gbe_data_open(app, &data, &error)) {
		gbe_data_observe_presence(data, facts);
		gbe_data_observe_identity(data, facts);
	} else {
		facts->unopened_why = g_strdup(error->message);
	}
	/* The owner of the directory is the owner of what is left in it. */
	facts->data = facts->tree != NULL ? GBE_YES : GBE_NO;
	gbe_state_observe(app, facts);
	gbe_identify(facts);
}

/* NULL: etcd may start; else the objection. */
static char *
find_objection(GbeApp *app)
{
	g_autoptr(GbeFacts) facts = gbe_facts_new();
	g_autoptr(GError) error = NULL;
	g_autofree char *complaint = NULL;

	facts->skip = app->cmdline.skip;
	facts->ostree = gbe_is_in_root(app->root_fd, "/run/ostree-booted");
	if (facts->ostree != GBE_NO && !find_booted(app, &facts->booted, &error))
		facts->booted_why = g_strdup(error->message);
	gbe_configuration_choose(app, facts->booted.id, &complaint);
	gbe_config_free(facts->config);
	facts->config = app->config;
	facts->config_borrowed = true;
	find_owner(app, facts);
	return gbe_decide_fallback(facts);
}

static void
remove_nonce(GbeApp *app)
{
	g_autoptr(GbeData) data = NULL;
	g_autoptr(GError) error = NULL;

	if (!gbe_data_open(app, &data, &error) || !gbe_data_remove_nonce(data, &error))
		gbe_note("%s", error->message);
}

/* When etcd starts, first records that the closing record is no longer valid: a later start would otherwise take
 * etcd's own writes for a stranger's. Where that cannot be recorded, as while another program has the lock, the nonce
 * goes that the closing record is about. Then records the answer of gbe_supervise_ask() as the last operation. */
static void
record_in_ledger(GbeApp *app)
{
	g_autoptr(JsonObject) done = gbe_prerun_done_read(app);
	g_autoptr(GbeFacts) facts = gbe_facts_new();
	g_autoptr(GError) error = NULL;
	bool held;

	if (done == NULL)
		return;
	held = gbe_json_bool(done, "held", false);
	if (!gbe_app_lock(app, "prerun", 0, &error)) {
		gbe_note("%s", error->message);
		if (!held)
			remove_nonce(app);
		return;
	}
	find_owner(app, facts);
	if (!held && facts->owner != NULL && !gbe_state_open(app, facts->owner->sequence, &error)) {
		gbe_note("%s", error->message);
		remove_nonce(app);
	}
	gbe_state_note_undecided(app, held ? "hold" : "backup", held,
				 gbe_json_string(done, "reason", NULL));
	gbe_app_unlock(app);
}

int
gbe_supervise_ask(GbeApp *app, gpointer data)
{
	const char *happened = data;
	g_autofree char *objection = find_objection(app);
	g_autofree char *reason = NULL;
	GbeEventFields fields = {0};

	if (objection == NULL) {
		reason = g_strdup_printf("prerun %s; the deployment has not changed and nothing is "
					 "open, so that etcd starts on what is there",
					 happened);
		fields.reason = reason;
		gbe_event_start_failed(&fields);
	} else {
		reason = g_strdup_printf(
		    "prerun %s, and %s: `systemctl restart %s` tries again; after `systemctl mask "
		    "--runtime greenboot-etcd-prerun.service`, it starts etcd on what is there",
		    happened, objection, app->config->etcd.service);
		fields.reason = reason;
		gbe_event_held_back(&fields);
	}
	gbe_prerun_done_write(app, objection != NULL, reason);
	return objection != NULL ? GBE_EXIT_HELD : 0;
}

int
gbe_supervise_show(GbeApp *app, gpointer data)
{
	GbeObserveOptions options = {.repair = false};
	g_autoptr(GbeObserved) observed = NULL;
	g_autoptr(GError) error = NULL;
	g_autofree char *complaint = NULL;
	GbeDeployment booted = {0};

	if (!find_booted(app, &booted, NULL))
		gbe_note("the booted deployment cannot be told");
	gbe_configuration_choose(app, booted.id, &complaint);
	gbe_deployment_clear(&booted);
	if (data != NULL)
		record_in_ledger(app);
	if (gbe_app_open_state(app, false, &error) && gbe_observe(app, &options, &observed, &error))
		gbe_status_write(app, observed, NULL);
	else
		gbe_note("%s", error->message);
	return 0;
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The question that a prerun leaves behind which did not come to its end: may etcd have the data all the
 * same? Asked by a process of its own that has ten seconds, with as little as possible of what the worker
 * may have died of: no lock, no store, and libostree only after a soft reboot, where the kernel command
 * line still names the deployment before it.
 */
#include "app/supervise.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "app/booted.h"
#include "app/configuration.h"
#include "app/data.h"
#include "app/observe.h"
#include "app/prerun-done.h"
#include "app/state.h"
#include "app/status.h"
#include "core/identity.h"
#include "core/record.h"
#include "fs/open.h"
#include "fs/probe.h"
#include "sys/deployments.h"
#include "sys/events.h"

#define EXIT_HELD 5

static GbeTri
is_there(int root_fd, const char *path)
{
	g_autoptr(GError) error = NULL;
	gbe_autofd int fd = -1;

	if (gbe_open_in_root(root_fd, path, O_PATH, &fd, &error))
		return GBE_YES;
	return g_error_matches(error, GBE_ERROR, GBE_ERROR_NOT_FOUND) ? GBE_NO : GBE_UNKNOWN;
}

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

/* What the ledger says of the data; it is read, and nothing else. */
static void
find_owner(GbeApp *app, GbeFacts *facts)
{
	g_autoptr(GbeData) data = NULL;

	facts->data = GBE_YES;
	if (gbe_data_open(app, &data, NULL))
		gbe_data_observe_identity(data, facts);
	if (facts->tree == NULL)
		facts->data = GBE_NO;
	gbe_state_observe(app, facts);
	gbe_identify(facts);
}

/* NULL: etcd may start; else why not. */
static char *
find_objection(GbeApp *app)
{
	GbeDeployment booted = {0};
	g_autoptr(GbeFacts) facts = gbe_facts_new();
	g_autoptr(GError) error = NULL;
	g_autofree char *complaint = NULL;
	char *objection = NULL;

	find_owner(app, facts);
	if (facts->ledger == GBE_UNKNOWN)
		return g_strdup_printf("whether an operation on the data is open cannot be told "
				       "(%s)",
				       facts->ledger_why);
	if (facts->intent != NULL || facts->intent_why != NULL)
		return g_strdup("an operation on the data is open");
	/* Without ostree nothing is ever held back: no other deployment can have the data. */
	if (is_there(app->root_fd, "/run/ostree-booted") == GBE_NO)
		return NULL;
	if (!find_booted(app, &booted, &error) && !app->cmdline.skip)
		return g_strdup_printf("the booted deployment cannot be told (%s)", error->message);
	gbe_configuration_choose(app, booted.id, &complaint);
	if (app->cmdline.skip || app->config->etcd.service == NULL)
		objection = NULL;
	else if (facts->owner == NULL)
		objection =
		    g_strdup_printf("who had the data last is not known (%s)", facts->owner_why);
	else if (!gbe_deployment_same(&facts->owner->deployment, &booted))
		objection = g_strdup("another deployment had the data last");
	gbe_deployment_clear(&booted);
	return objection;
}

/* Records, where etcd starts, that the closing record is over: first, since a later start takes etcd's own writes for
 * a stranger's otherwise; then the answer of gbe_supervise_ask() as the last operation. Nothing is recorded while another
 * program has the lock. */
static void
record_in_ledger(GbeApp *app)
{
	g_autoptr(JsonObject) done = gbe_prerun_done_read(app);
	g_autoptr(GbeFacts) facts = gbe_facts_new();
	GbeLastOperation last = {0};
	g_autoptr(GError) error = NULL;
	gboolean held;

	if (done == NULL)
		return;
	if (!gbe_app_lock(app, "prerun", 0, &error)) {
		gbe_note("%s", error->message);
		return;
	}
	held = gbe_json_bool(done, "held", FALSE);
	last.operation = g_strdup(held ? "hold" : "backup");
	last.result = g_strdup(held ? "held" : "failed");
	last.reason = g_strdup(gbe_json_string(done, "reason", NULL));
	last.started = g_get_real_time() / G_USEC_PER_SEC;
	find_owner(app, facts);
	if (!held && facts->owner != NULL && !gbe_state_open(app, facts->owner->sequence, &error))
		gbe_note("%s", error->message);
	gbe_state_write_last(app, &last);
	gbe_last_operation_clear(&last);
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
		gbe_event_backup_failed(&fields);
	} else {
		reason = g_strdup_printf(
		    "prerun %s, and %s: `systemctl restart greenboot-etcd-prerun.service` tries "
		    "again, `systemctl mask --runtime greenboot-etcd-prerun.service` lets etcd "
		    "start on what is there",
		    happened, objection);
		fields.reason = reason;
		gbe_event_held_back(&fields);
	}
	gbe_prerun_done_write(app, objection != NULL, reason);
	return objection != NULL ? EXIT_HELD : 0;
}

int
gbe_supervise_show(GbeApp *app, gpointer data)
{
	GbeObserveOptions options = {.repair = FALSE};
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
	if (gbe_app_open_state(app, FALSE, &error) && gbe_observe(app, &options, &observed, &error))
		gbe_status_write(app, observed, NULL);
	else
		gbe_note("%s", error->message);
	return 0;
}

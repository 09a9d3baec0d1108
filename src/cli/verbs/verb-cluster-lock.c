/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cli/verbs/verb-cluster-lock.h"

#include "app/cluster/lock.h"
#include "app/cluster/rejoin.h"
#include "app/report/status.h"
#include "cli/print.h"
#include "core/json/members.h"
#include "core/json/parse.h"
#include "sys/systemd/events.h"

static void
print_action(GbeCli *cli, bool dry_run, const char *action, const char *said)
{
	gbe_cli_changed(cli, dry_run);
	if (cli->json) {
		g_autoptr(JsonObject) object = json_object_new();

		json_object_set_int_member(object, "schema", GBE_SCHEMA);
		json_object_set_boolean_member(object, "dry_run", dry_run);
		gbe_json_set_string(object, "action", action);
		gbe_json_set_string(object, "said", said);
		gbe_print_object(object);
	} else if (!cli->quiet && said != NULL) {
		gbe_print("%s\n", said);
	}
}

bool
gbe_cluster_verb_lock(GbeCli *cli, const char *verb, const GbeClusterLockArguments *arguments,
		      GError **error)
{
	g_auto(GbeUpdateLockResult) result = {.action = "none"};
	bool takes = g_str_equal(verb, "lock");
	bool done;

	if ((arguments->force && takes) || (arguments->for_update && !takes))
		return gbe_throw(
		    error, GBE_ERROR_USAGE,
		    "--force goes with cluster unlock, and --for-update with cluster lock");
	if (arguments->for_update && arguments->dry_run)
		return gbe_throw(error, GBE_ERROR_USAGE,
				 "--for-update and --dry-run do not go together");
	if (arguments->for_update)
		done = gbe_update_lock_tend(cli->app, &result, error);
	else if (takes)
		done = gbe_update_lock_take(cli->app, arguments->dry_run, &result, error);
	else
		done = gbe_update_lock_release(cli->app, arguments->force, arguments->dry_run,
					       &result, error);
	if (done)
		print_action(cli, arguments->dry_run, result.action, result.said);
	return done;
}

bool
gbe_cluster_verb_rejoin(GbeCli *cli, guint64 timeout, GError **error)
{
	g_auto(GbeRejoined) rejoined = {NULL};

	if (!gbe_cluster_rejoin_if_needed(cli->app, timeout, &rejoined, error))
		return false;
	/* The timer's call is quiet, and what it has to wait for is for the journal, once. */
	if (cli->quiet && g_str_equal(rejoined.action, "waits") && !rejoined.known)
		gbe_complain("%s", rejoined.said);
	print_action(cli, false, rejoined.action, rejoined.said);
	return true;
}

bool
gbe_cluster_lock_json(GbeCli *cli, JsonObject **ret_lock, GError **error)
{
	GbeUpdateLockSeen seen = {{0}};
	g_autofree char *said = NULL;

	if (!gbe_update_lock_look(cli->app, &seen, error))
		return false;
	if (!seen.held) {
		*ret_lock = NULL;
		return true;
	}
	said = gbe_update_lock_to_text(&seen.lock);
	*ret_lock = gbe_update_lock_to_json(&seen.lock);
	json_object_remove_member(*ret_lock, "id");
	json_object_set_boolean_member(*ret_lock, "own", seen.own);
	json_object_set_boolean_member(*ret_lock, "overdue", seen.overdue);
	gbe_json_set_string(*ret_lock, "said", said);
	gbe_update_lock_clear(&seen.lock);
	return true;
}

void
gbe_cluster_print_lock(JsonObject *lock)
{
	g_autofree char *since = NULL;
	bool failed;

	if (lock == NULL) {
		gbe_print_field("Update lock", "free");
		return;
	}
	since = gbe_text_time(gbe_json_known(lock, "since"));
	failed = g_str_equal(gbe_json_string(lock, "state", ""), "failed");
	gbe_print_field("Update lock", "%s, since %s", gbe_json_string(lock, "said", "?"), since);
	if (gbe_json_bool(lock, "overdue", false))
		gbe_print_field("",
				"nothing was heard of the holder for longer than its lock-time=");
	if (failed || gbe_json_bool(lock, "overdue", false))
		gbe_print_field(
		    "",
		    "no other member updates; `greenboot-etcd cluster unlock --force` ends that");
}

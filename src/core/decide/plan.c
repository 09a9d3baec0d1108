/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "core/decide/plan.h"

#include "base/error.h"

static void
action_free(gpointer data)
{
	GbeAction *action = data;

	g_free(action->name);
	g_free(action->reason);
	gbe_manifest_free(action->manifest);
	g_free(action);
}

GbePlan *
gbe_plan_new(void)
{
	GbePlan *plan = g_new0(GbePlan, 1);

	plan->also = g_array_new(false, true, sizeof(GbeRule));
	plan->actions = g_ptr_array_new_with_free_func(action_free);
	return plan;
}

void
gbe_plan_free(GbePlan *plan)
{
	if (plan == NULL)
		return;
	g_array_unref(plan->also);
	g_ptr_array_unref(plan->actions);
	g_free(plan->reason);
	g_free(plan->request_failed);
	gbe_take_over_free(plan->take_over);
	gbe_take_over_free(plan->instead);
	g_free(plan);
}

GbeAction *
gbe_plan_add(GbePlan *plan, GbeActionKind kind, const char *name, const char *reason)
{
	GbeAction *action = g_new0(GbeAction, 1);

	action->kind = kind;
	action->name = g_strdup(name);
	action->reason = g_strdup(reason);
	g_ptr_array_add(plan->actions, action);
	return action;
}

const GbeAction *
gbe_plan_find(const GbePlan *plan, GbeActionKind kind)
{
	GBE_EACH(const GbeAction *, action, plan->actions)
		if (action->kind == kind)
			return action;
	return NULL;
}

bool
gbe_plan_is_idle(const GbePlan *plan)
{
	GBE_EACH(const GbeAction *, action, plan->actions)
		if (action->kind != GBE_ACTION_KEEP && action->kind != GBE_ACTION_HOLD &&
		    action->kind != GBE_ACTION_TAKE_OVER)
			return false;
	return true;
}

GbeHold
gbe_plan_failed_hold(GbeActionKind action, const GError *error)
{
	if (action != GBE_ACTION_BACKUP)
		return GBE_HOLD_RECORD;
	return g_error_matches(error, GBE_ERROR, GBE_ERROR_NO_SPACE) ? GBE_HOLD_ROOM
								     : GBE_HOLD_BACKUP;
}

void
gbe_plan_fail_backup(GbePlan *plan, const GError *error)
{
	GbeAction *action = NULL;
	guint at = 0;

	while (at < plan->actions->len &&
	       ((const GbeAction *)plan->actions->pdata[at])->kind != GBE_ACTION_BACKUP)
		at++;
	if (at == plan->actions->len)
		return;
	action = plan->actions->pdata[at];
	/* A take-over must not name a backup that does not exist. */
	if (plan->take_over != NULL)
		gbe_take_over_drop(plan->take_over, action->name);
	g_free(action->reason);
	if (action->on_failure == GBE_FAILURE_HOLD) {
		g_ptr_array_set_size(plan->actions, (int)at + 1);
		g_clear_pointer(&plan->take_over, gbe_take_over_free);
		plan->hold = true;
		plan->hold_kind = gbe_plan_failed_hold(action->kind, error);
		action->reason = gbe_hold_why(plan->hold_kind, error);
		action->kind = GBE_ACTION_HOLD;
	} else {
		action->kind = GBE_ACTION_KEEP;
		action->reason = g_strconcat("no backup: ", error->message, NULL);
	}
	g_clear_pointer(&action->name, g_free);
	g_clear_pointer(&action->manifest, gbe_manifest_free);
}

const char *
gbe_action_to_string(GbeActionKind kind)
{
	static const char *const names[] = {
	    [GBE_ACTION_BACKUP] = "backup",	[GBE_ACTION_RESTORE] = "restore",
	    [GBE_ACTION_DISPLACE] = "displace", [GBE_ACTION_FRESH] = "fresh",
	    [GBE_ACTION_HOLD] = "hold",		[GBE_ACTION_GRADE] = "grade",
	    [GBE_ACTION_DELETE] = "delete",	[GBE_ACTION_TAKE_OVER] = "stamp",
	    [GBE_ACTION_KEEP] = "keep",
	};

	return (guint)kind < G_N_ELEMENTS(names) ? names[kind] : "?";
}

char *
gbe_action_command(const GbeAction *action)
{
	switch (action->kind) {
	case GBE_ACTION_BACKUP:
		return g_strdup("greenboot-etcd backup --stop");
	case GBE_ACTION_RESTORE:
		return g_strdup_printf("greenboot-etcd restore --stop %s", action->name);
	case GBE_ACTION_GRADE:
		return g_strdup_printf(
		    "greenboot-etcd mark %s %s",
		    action->manifest != NULL && action->manifest->grade == GBE_GRADE_BAD ? "bad"
											 : "good",
		    action->name);
	case GBE_ACTION_DELETE:
		return g_strdup_printf("greenboot-etcd delete %s", action->name);
	case GBE_ACTION_DISPLACE:
	case GBE_ACTION_FRESH:
	case GBE_ACTION_HOLD:
	case GBE_ACTION_TAKE_OVER:
	case GBE_ACTION_KEEP:
	default:
		return NULL;
	}
}

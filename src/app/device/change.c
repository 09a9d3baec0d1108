/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "app/device/change.h"

#include "base/fault.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

void
gbe_change_clear(GbeChange *change)
{
	g_clear_error(&change->why);
}

/* Without the lock where the step asks for that, and for a dry run, which must not make a state directory. */
static bool
lock_for(GbeChange *change, const GbeStep *step, GError **error)
{
	if (change->dry_run)
		return true;
	if ((step->flags & GBE_STEP_UNLOCKED) != 0) {
		gbe_app_unlock(change->app);
		return true;
	}
	return gbe_app_lock(change->app, change->name, GBE_WAIT_BY_HAND, error);
}

/* *ret_begun: may the step have done a part? */
static bool
take_step(GbeChange *change, const GbeStep *step, bool *ret_begun, GError **error)
{
	bool *noted = step->noted != 0 ? (bool *)((char *)change + step->noted) : NULL;

	*ret_begun = noted != NULL && *noted;
	if (*ret_begun)
		return true;
	if ((step->flags & GBE_STEP_MAINTENANCE) != 0 && change->maintenance == NULL &&
	    !gbe_maintenance_lock(change->app, change->name, &change->maintenance, error))
		return false;
	*ret_begun = lock_for(change, step, error);
	if (!*ret_begun)
		return false;
	if (!step->run(change, error) || GBE_FAULT(step->name, error))
		return false;
	if (noted == NULL)
		return true;
	*noted = true;
	return gbe_app_lock(change->app, change->name, GBE_WAIT_BY_HAND, error) &&
	       change->note(change, error);
}

/* From the step before @end to the first one. An undo that fails ends the way back: earlier steps rely on it. */
static bool
take_back(GbeChange *change, const GbeStep *end, GError **error)
{
	for (const GbeStep *step = end; step-- > change->steps;)
		if (step->undo != NULL &&
		    (!gbe_app_lock(change->app, change->name, GBE_WAIT_BY_HAND, error) ||
		     !step->undo(change, error)))
			return false;
	return true;
}

bool
gbe_change_run(GbeChange *change, GError **error)
{
	g_autoptr(GError) local = NULL;
	const GbeStep *step = change->steps;
	bool begun = false;

#ifdef GBE_FAULTS
	if (g_strcmp0(g_getenv("GREENBOOT_ETCD_FAULT"), "steps") == 0) {
		for (; step->name != NULL; step++)
			(void)puts(step->name);
		exit(0);
	}
#endif
	if (!change->by_any_user && geteuid() != 0)
		return gbe_throw(error, GBE_ERROR_FAILED, "%s needs root: sudo", change->name);
	if (!change->dry_run && change->maintenance_wanted &&
	    !gbe_maintenance_lock(change->app, change->name, &change->maintenance, error))
		return false;
	for (; step->name != NULL && !change->ended; step++)
		if ((!change->dry_run || (step->flags & GBE_STEP_LOOK) != 0) &&
		    !take_step(change, step, &begun, &change->why))
			break;
	if (change->why != NULL) {
		change->failed = step;
		change->taken_back =
		    change->dry_run || take_back(change, begun ? step + 1 : step, &local);
		if (change->taken_back)
			g_propagate_error(error, g_error_copy(change->why));
		else
			(void)gbe_throw(error, GBE_ERROR_PARTIAL, "%s. The way back failed: %s",
					change->why->message, local->message);
	}
	if (change->end != NULL)
		change->end(change);
	/* A lock that is held during a dry run is the caller's. */
	if (!change->dry_run)
		gbe_app_unlock(change->app);
	g_clear_pointer(&change->maintenance, gbe_lock_release);
	return change->why == NULL;
}

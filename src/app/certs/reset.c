/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "app/certs/certs.h"

#include <unistd.h>

#include "app/certs/archive.h"
#include "app/device/service.h"
#include "app/upkeep/live-etcd.h"
#include "base/fault.h"
#include "core/config/lists.h"
#include "sys/systemd/events.h"
#include "sys/systemd/units.h"

#define OPERATION "certs reset"
#define LOCK_WAIT_MS 2000
/* As in app/device/service.c: etcd may replay a long WAL. */
#define START_TIMEOUT_MS (300 * 1000)

typedef struct {
	GbeApp *app;
	const GbeCertsResetOptions *options;
	GbeCertsReset *result;
	char **directories, **patterns;
	GbeCertsArchive *target; /* undo: the archive that is put back */
	GbeCertsArchive *before; /* the files before the reset */
	GbeService service;
} Reset;

void
gbe_certs_reset_free(GbeCertsReset *reset)
{
	if (reset == NULL)
		return;
	g_ptr_array_unref(reset->removed);
	g_ptr_array_unref(reset->restored);
	g_free(reset->reason);
	g_free(reset);
}

static void
reset_clear(Reset *reset)
{
	g_strfreev(reset->directories);
	g_strfreev(reset->patterns);
	gbe_certs_archive_free(reset->target);
	gbe_certs_archive_free(reset->before);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Reset, reset_clear)

/* ---- what it is about ---- */

static bool
configure_reset(Reset *reset, GError **error)
{
	const GbeConfig *config = reset->app->config;
	g_autoptr(GbeCertsArchive) newest = NULL;

	if (!gbe_certs_directories(config->certs.directories, &reset->directories, error) ||
	    !gbe_certs_patterns(config->certs.regenerated, &reset->patterns, error) ||
	    !gbe_certs_archive_newest(reset->app, &newest, error))
		return false;
	if (reset->directories[0] == NULL || reset->patterns[0] == NULL)
		return gbe_throw(error, GBE_ERROR_REFUSED,
				 "[certs] %s is empty, so that nothing is known to be made anew: "
				 "replace certificates by hand, that is stop %s, put the new files "
				 "in the place of the old ones, with their owner and mode, and "
				 "start it",
				 reset->directories[0] == NULL ? "directories" : "regenerated",
				 config->etcd.service != NULL ? config->etcd.service : "etcd");
	if (newest != NULL && newest->open)
		return gbe_throw(error, GBE_ERROR_REFUSED,
				 "an earlier reset was interrupted: `greenboot-etcd certs reset "
				 "--undo` puts back what it had removed");
	return true;
}

static bool
configure_undo(Reset *reset, GError **error)
{
	if (!gbe_certs_archive_newest(reset->app, &reset->target, error))
		return false;
	if (reset->target == NULL)
		return gbe_throw(error, GBE_ERROR_NOT_FOUND,
				 "no certificates were reset: there is nothing to undo");
	reset->directories = g_strdupv(reset->target->directories);
	reset->patterns = g_strdupv(reset->target->patterns);
	return gbe_certs_archive_find(reset->target, reset->result->restored, error);
}

/* ---- the service ---- */

/* Below --root no service is touched, and none runs. */
static bool
stop_service(Reset *reset, GError **error)
{
	reset->service = (GbeService){.pipe_fd = -1};
	return reset->app->below_root || gbe_service_stop(reset->app, &reset->service, error);
}

/* Starts the unit even if it was not active, or if systemd has given up. Without the program's lock: the service's prerun
 * needs it. */
static bool
start_service(Reset *reset, GError **error)
{
	GbeLiveEtcd live = {.app = reset->app, .operation = OPERATION};
	const char *unit = reset->app->config->etcd.service;
	g_autoptr(GError) local = NULL;

	gbe_app_unlock(reset->app);
	if (reset->app->below_root)
		return true;
	if (!gbe_unit_reset_failed(unit, &local))
		g_debug("%s", local->message);
	if (reset->service.unit != NULL) {
		if (!gbe_service_start(&reset->service, error))
			return false;
	} else if (!gbe_unit_start(unit, START_TIMEOUT_MS, error)) {
		return gbe_prefix(error, "start %s", unit);
	}
	/* A new look reads the TLS files again. */
	live.look = gbe_health_look_new(reset->app);
	gbe_health_look_expect_own(live.look);
	gbe_live_etcd_look(&live, (guint)reset->options->timeout);
	reset->result->healthy = gbe_live_etcd_check_healthy(&live, error);
	gbe_live_etcd_clear(&live);
	return reset->result->healthy;
}

/* After a failure that @error has: starts again what was stopped. */
static bool
leave_reset(Reset *reset, GError **error)
{
	g_autoptr(GError) local = NULL;

	gbe_app_unlock(reset->app);
	if (reset->service.unit != NULL && !gbe_service_start(&reset->service, &local)) {
		(void)gbe_prefix(error, "%s; before it", local->message);
		gbe_rethrow(error, GBE_ERROR_PARTIAL);
	}
	return false;
}

/* ---- what is done ---- */

static bool
replace_files(Reset *reset, const GbeCertsArchive *by, GError **error)
{
	return gbe_certs_remove(reset->app, reset->directories, reset->patterns, error) &&
	       !GBE_FAULT("certs-removed", error) &&
	       (by == NULL || gbe_certs_archive_put_back(reset->app, by, error));
}

static bool
half_way(GError **error)
{
	gbe_rethrow(error, GBE_ERROR_PARTIAL);
	return gbe_prefix(error, "what was archived is not all back: `greenboot-etcd certs reset "
				 "--undo` goes on");
}

/* Puts back the old files, and starts the service with them. @why: the problem with the new ones. */
static bool
put_back(Reset *reset, GError *why, GError **error)
{
	g_autoptr(GError) local = NULL;
	bool ok;

	reset->result->reason = g_strdup(why->message);
	/* When the service was never started, it is still stopped. */
	ok = gbe_app_lock(reset->app, OPERATION, LOCK_WAIT_MS, error);
	ok = ok && (reset->service.unit != NULL || stop_service(reset, error));
	ok = ok && replace_files(reset, reset->before, error);
	ok = ok && gbe_certs_archive_drop(reset->before, error);
	if (!ok) {
		(void)leave_reset(reset, error);
		return half_way(error);
	}
	reset->result->put_back = true;
	if (!start_service(reset, &local))
		return gbe_throw(error, GBE_ERROR_VERIFY_FAILED,
				 "etcd was not healthy with the new certificates (%s), the old "
				 "ones are back, and with those it is not, either: %s",
				 why->message, local->message);
	return gbe_throw(error, GBE_ERROR_FAILED,
			 "etcd was not healthy with the new certificates (%s): the old ones are "
			 "back, and it is healthy with them",
			 why->message);
}

static bool
carry_out(Reset *reset, GError **error)
{
	g_autoptr(GError) local = NULL;

	/* After an interrupted operation, its archive has the files from before it. */
	if (reset->target != NULL && reset->target->open) {
		if (!stop_service(reset, error))
			return leave_reset(reset, error);
		if (!replace_files(reset, reset->target, error) ||
		    !gbe_certs_archive_drop(reset->target, error)) {
			(void)leave_reset(reset, error);
			return half_way(error);
		}
		reset->result->done = true;
		return start_service(reset, error) ||
		       gbe_prefix(error, "the certificates are what they were before the reset");
	}
	if (!stop_service(reset, error) ||
	    !gbe_certs_archive_make(reset->app, reset->directories, reset->patterns, &reset->before,
				    error) ||
	    GBE_FAULT("certs-archived", error))
		return leave_reset(reset, error);
	if (!replace_files(reset, reset->target, &local) || !start_service(reset, &local))
		return put_back(reset, local, error);
	reset->result->done = true;
	return !GBE_FAULT("certs-healthy", error) &&
	       gbe_app_lock(reset->app, OPERATION, LOCK_WAIT_MS, error) &&
	       gbe_certs_archive_close(reset->before, error);
}

bool
gbe_certs_reset(GbeApp *app, const GbeCertsResetOptions *options, GbeCertsReset **ret_reset,
		GError **error)
{
	g_autoptr(GbeCertsReset) result = g_new0(GbeCertsReset, 1);
	g_autoptr(GbeLock) maintenance = NULL;
	g_auto(Reset) reset = {.app = app, .options = options, .result = result};
	GbeEventFields fields = {.action = options->undo ? "certs-undo" : "certs-reset"};
	g_autofree char *reason = NULL;
	bool ok;

	if (geteuid() != 0)
		return gbe_throw(error, GBE_ERROR_FAILED, "certs reset needs root: sudo");
	result->removed = g_ptr_array_new_with_free_func(g_free);
	result->restored = g_ptr_array_new_with_free_func(g_free);
	reset.service.pipe_fd = -1;
	if (!options->dry_run && (!gbe_maintenance_lock(app, OPERATION, &maintenance, error) ||
				  !gbe_app_lock(app, OPERATION, LOCK_WAIT_MS, error)))
		return false;
	ok = (options->undo ? configure_undo(&reset, error) : configure_reset(&reset, error)) &&
	     gbe_certs_find(app, reset.directories, reset.patterns, result->removed, error);
	if (ok && !options->dry_run && (result->removed->len > 0 || result->restored->len > 0))
		ok = carry_out(&reset, error);
	gbe_app_unlock(app);
	reason =
	    g_strdup_printf("%u files were removed, %u were put back%s%s", result->removed->len,
			    result->restored->len,
			    result->put_back ? "; then the old certificates were put back: " : "",
			    result->put_back ? result->reason : "");
	fields.reason = reason;
	if (result->done || result->put_back)
		gbe_event_certs_changed(&fields);
	if (ok || result->put_back)
		*ret_reset = g_steal_pointer(&result);
	return ok;
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "app/certs/certs.h"

#include "app/certs/archive.h"
#include "app/device/change.h"
#include "app/device/service.h"
#include "app/upkeep/live-etcd.h"
#include "core/config/lists.h"
#include "sys/systemd/events.h"

#define OPERATION "certs reset"

typedef struct {
	GbeChange change;
	const GbeCertsResetOptions *options;
	GbeCertsReset *result;
	char **directories, **patterns;
	GbeCertsArchive *target; /* undo: the archive that is put back */
	GbeCertsArchive *before; /* the files before the reset */
	GbeService service;
	GError *with_the_old; /* etcd's problem with the old files after the way back; NULL: none */
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
	g_clear_error(&reset->with_the_old);
	gbe_change_clear(&reset->change);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Reset, reset_clear)

/* ---- the steps ---- */

static bool
configure_reset(Reset *reset, GError **error)
{
	const GbeConfig *config = reset->change.app->config;
	g_autoptr(GbeCertsArchive) newest = NULL;

	if (!gbe_certs_directories(config->certs.directories, &reset->directories, error) ||
	    !gbe_certs_patterns(config->certs.regenerated, &reset->patterns, error) ||
	    !gbe_certs_archive_newest(reset->change.app, &newest, error))
		return false;
	if (reset->directories[0] == NULL || reset->patterns[0] == NULL)
		return gbe_throw(error, GBE_ERROR_REFUSED,
				 "[certs] %s is empty, so no file can be regenerated. Replace the "
				 "certificates by hand: stop %s, put the new files over the old "
				 "ones, with their owner and mode, and start it",
				 reset->directories[0] == NULL ? "directories" : "regenerated",
				 config->etcd.service != NULL ? config->etcd.service : "etcd");
	if (newest != NULL && newest->open)
		return gbe_throw(error, GBE_ERROR_REFUSED,
				 "an earlier reset was interrupted; run `greenboot-etcd certs "
				 "reset --undo` to put the files back");
	return true;
}

static bool
configure_undo(Reset *reset, GError **error)
{
	if (!gbe_certs_archive_newest(reset->change.app, &reset->target, error))
		return false;
	if (reset->target == NULL)
		return gbe_throw(error, GBE_ERROR_NOT_FOUND,
				 "no certificates were reset: there is nothing to undo");
	reset->directories = g_strdupv(reset->target->directories);
	reset->patterns = g_strdupv(reset->target->patterns);
	return gbe_certs_archive_find(reset->target, reset->result->restored, error);
}

/* After an interrupted operation, its archive has the files from before it. */
static bool
is_resumed(const Reset *reset)
{
	return reset->target != NULL && reset->target->open;
}

static bool
look_at_files(gpointer change, GError **error)
{
	Reset *reset = change;
	GbeCertsReset *result = reset->result;

	if (!(reset->options->undo ? configure_undo(reset, error)
				   : configure_reset(reset, error)) ||
	    !gbe_certs_find(reset->change.app, reset->directories, reset->patterns, result->removed,
			    error))
		return false;
	/* An interrupted operation is ended also if no file is left to change: its archive has to go. */
	reset->change.ended =
	    result->removed->len == 0 && result->restored->len == 0 && !is_resumed(reset);
	return true;
}

/* Below --root no service is touched, and none runs. */
static bool
stop_service(gpointer change, GError **error)
{
	Reset *reset = change;

	reset->service = (GbeService){.pipe_fd = -1};
	return reset->change.app->below_root ||
	       gbe_service_stop(reset->change.app, &reset->service, error);
}

/* Starts the unit even if it was not active, or if systemd has given up. */
static bool
start_service(gpointer change, GError **error)
{
	Reset *reset = change;
	GbeApp *app = reset->change.app;

	if (app->below_root)
		return true;
	if (!gbe_live_etcd_start_service(app, &reset->service, error))
		return false;
	reset->result->healthy =
	    gbe_live_etcd_wait_healthy(app, OPERATION, reset->options->timeout, error);
	return reset->result->healthy;
}

/* Undoes stop_service(). With files that were put back, etcd's health decides which error the person gets. */
static bool
start_again(gpointer change, GError **error)
{
	Reset *reset = change;

	gbe_app_unlock(reset->change.app);
	if (reset->result->put_back)
		return start_service(reset, &reset->with_the_old) || true;
	return reset->service.unit == NULL || gbe_service_start(&reset->service, error);
}

/* Undoes start_service(). A service that was never started is still stopped. */
static bool
stop_again(gpointer change, GError **error)
{
	Reset *reset = change;

	return reset->result->done || reset->service.unit != NULL || stop_service(reset, error);
}

static bool
archive_files(gpointer change, GError **error)
{
	Reset *reset = change;

	return is_resumed(reset) || gbe_certs_archive_make(reset->change.app, reset->directories,
							   reset->patterns, &reset->before, error);
}

static bool
drop_archive(gpointer change, GError **error)
{
	Reset *reset = change;

	return reset->result->done || reset->before == NULL ||
	       gbe_certs_archive_drop(reset->before, error);
}

static bool
remove_files(gpointer change, GError **error)
{
	Reset *reset = change;

	return gbe_certs_remove(reset->change.app, reset->directories, reset->patterns, error);
}

static bool
put_back_target(gpointer change, GError **error)
{
	Reset *reset = change;

	if (reset->target == NULL)
		return true;
	if (!gbe_certs_archive_put_back(reset->change.app, reset->target, error))
		return false;
	if (!is_resumed(reset))
		return true;
	reset->result->done = gbe_certs_archive_drop(reset->target, error);
	return reset->result->done;
}

/* Takes back the removal, and removes the regenerated files. */
static bool
put_back_former(gpointer change, GError **error)
{
	Reset *reset = change;

	if (reset->result->done)
		return true;
	if (!gbe_certs_archive_return(reset->change.app, reset->before, error))
		return false;
	reset->result->put_back = true;
	reset->result->reason = g_strdup(reset->change.why->message);
	return true;
}

static bool
prove_files(gpointer change, GError **error)
{
	Reset *reset = change;

	if (!start_service(reset, error))
		return !reset->result->done
			   ? false
			   : gbe_prefix(error, "the certificates are those from before the reset");
	reset->result->done = true;
	return true;
}

static bool
close_archive(gpointer change, GError **error)
{
	Reset *reset = change;

	return is_resumed(reset) || gbe_certs_archive_close(reset->before, error);
}

static const GbeStep steps[] = {
    {"certs-looked", look_at_files, NULL, GBE_STEP_LOOK, 0},
    {"certs-stopped", stop_service, start_again, 0, 0},
    {"certs-archived", archive_files, drop_archive, 0, 0},
    {"certs-removed", remove_files, put_back_former, 0, 0},
    {"certs-put-back", put_back_target, NULL, 0, 0},
    {"certs-healthy", prove_files, stop_again, GBE_STEP_UNLOCKED, 0},
    {"certs-closed", close_archive, NULL, 0, 0},
    {NULL, NULL, NULL, 0, 0},
};

bool
gbe_certs_throw_put_back(GError **error, const char *why, bool unwell, bool healthy,
			 const char *still)
{
	return gbe_throw(error, healthy ? GBE_ERROR_FAILED : GBE_ERROR_VERIFY_FAILED,
			 "%s%s%s. The old certificates were put back%s%s",
			 unwell ? "etcd was unhealthy with the new certificates (" : "", why,
			 unwell ? ")" : "",
			 healthy	 ? ", and etcd is healthy"
			 : still != NULL ? ", but etcd is still unhealthy: "
					 : "",
			 !healthy && still != NULL ? still : "");
}

bool
gbe_certs_reset(GbeApp *app, const GbeCertsResetOptions *options, GbeCertsReset **ret_reset,
		GError **error)
{
	g_autoptr(GbeCertsReset) result = g_new0(GbeCertsReset, 1);
	g_auto(Reset) reset = {.change = {.app = app,
					  .name = OPERATION,
					  .steps = steps,
					  .dry_run = options->dry_run,
					  .maintenance_wanted = true},
			       .options = options,
			       .result = result,
			       .service.pipe_fd = -1};
	GbeEventFields fields = {.action = options->undo ? "certs-undo" : "certs-reset"};
	g_autofree char *reason = NULL;
	g_autoptr(GError) local = NULL;
	bool ok;

	result->removed = g_ptr_array_new_with_free_func(g_free);
	result->restored = g_ptr_array_new_with_free_func(g_free);
	ok = gbe_change_run(&reset.change, &local);
	reason =
	    g_strdup_printf("%u files were removed, %u were put back%s%s", result->removed->len,
			    result->restored->len,
			    result->put_back ? "; then the old certificates were put back: " : "",
			    result->put_back ? result->reason : "");
	fields.reason = reason;
	if (result->done || result->put_back)
		gbe_event_certs_changed(&fields);
	if (!ok && result->put_back)
		(void)gbe_certs_throw_put_back(
		    error, result->reason, true, reset.with_the_old == NULL,
		    reset.with_the_old != NULL ? reset.with_the_old->message : NULL);
	else if (!ok)
		(void)gbe_pass(error, &local);
	if (ok || result->put_back)
		*ret_reset = g_steal_pointer(&result);
	return ok;
}

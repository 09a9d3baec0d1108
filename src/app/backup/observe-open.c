/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Opens the data and the store for a look. Header: app/backup/observe.h. */
#include "app/backup/observe.h"

static bool
open_data(GbeApp *app, const GbeObserveOptions *options, GbeObserved *o, GError **error)
{
	g_autoptr(GError) local = NULL;

	if (gbe_data_open_any(app, &o->data, &local))
		return true;
	if (!options->tolerant)
		return gbe_pass(error, &local);
	o->facts->data_why = g_strdup(local->message);
	o->facts->unopened_why = g_strdup(local->message);
	o->data = g_new0(GbeData, 1);
	o->data->path = g_strdup(app->config->etcd.data_dir);
	o->data->parent_fd = o->data->fd = o->data->wal_fd = -1;
	return true;
}

bool
gbe_observe_open(GbeApp *app, const GbeObserveOptions *options, GbeObserved *o, GError **error)
{
	const char *directory = app->config->backup.directory;
	g_autoptr(GError) local = NULL;

	if (!open_data(app, options, o, error))
		return false;
	if (gbe_store_open(app, o->data, false, &o->store, &local))
		return true;
	if (!options->tolerant)
		return gbe_pass(error, &local);
	o->store_why = g_strdup(local->message);
	if (o->facts->unopened_why == NULL)
		o->facts->unopened_why = g_strdup(local->message);
	o->store = g_new0(GbeStore, 1);
	o->store->path = g_strdup(directory != NULL ? directory : GBE_STATE_DIR "/backups");
	o->store->fd = o->store->top_fd = -1;
	return true;
}

bool
gbe_observed_no_store(const GbeObserved *observed, GError **error)
{
	if (observed->store_why != NULL)
		return gbe_throw(error, GBE_ERROR_REFUSED, "%s", observed->store_why);
	return gbe_throw(
	    error, GBE_ERROR_REFUSED,
	    "the store of backups %s is not there; mount it, or set [backup] directory",
	    observed->store->path);
}

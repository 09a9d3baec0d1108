/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "store/depot.h"

#include <string.h>
#include <sys/mman.h>

#include "fs/probe.h"

bool
gbe_depot_open(GbeApp *app, const char *directory, GbeDepot **ret_place, GError **error)
{
	const char *path = directory != NULL ? directory : app->config->store.directory;

	if (path != NULL)
		return gbe_depot_open_directory(app, path, ret_place, error);
	if (app->config->store.url != NULL)
		return gbe_depot_open_bucket(app, app->config->store.url, ret_place, error);
	return gbe_throw(error, GBE_ERROR_USAGE,
			 "no store is set: --store=DIR names one, or [store] directory= or url=");
}

void
gbe_depot_free(GbeDepot *depot)
{
	if (depot == NULL)
		return;
	g_free(depot->shown);
	g_free(depot->identifier);
	depot->kind->free(depot);
}

bool
gbe_depot_is_elsewhere(const GbeDepot *depot)
{
	int fd = gbe_depot_directory(depot);

	return fd >= 0 && !gbe_same_filesystem(fd, depot->app->root_fd) &&
	       !gbe_same_filesystem(fd, depot->app->state_fd);
}

bool
gbe_depot_list(GbeDepot *depot, GbeDepotEach each, gpointer data, GError **error)
{
	return depot->kind->list(depot, each, data, error);
}

bool
gbe_depot_size(GbeDepot *depot, const char *path, guint64 *ret_size, GError **error)
{
	return depot->kind->size(depot, path, ret_size, error);
}

bool
gbe_depot_read(GbeDepot *depot, const char *path, gsize max, char **ret_bytes, gsize *ret_size,
	       GError **error)
{
	return depot->kind->read(depot, path, max, ret_bytes, ret_size, error);
}

bool
gbe_depot_use(GbeDepot *depot, const char *path, GbeDepotUse use, gpointer data, GError **error)
{
	return depot->kind->use(depot, path, use, data, error);
}

bool
gbe_depot_put(GbeDepot *depot, const char *path, int fd, guint64 size, const GbeDepotResume *resume,
	      GError **error)
{
	guint64 there = 0;

	/* A server may say that it has taken a file, and have nothing. */
	if (!depot->kind->put(depot, path, fd, size, resume, error) ||
	    !depot->kind->size(depot, path, &there, error))
		return false;
	return there == size || gbe_throw(error, GBE_ERROR_VERIFY_FAILED,
					  "%s has %" G_GUINT64_FORMAT
					  " bytes after %" G_GUINT64_FORMAT " were written",
					  path, there, size);
}

bool
gbe_depot_put_text(GbeDepot *depot, const char *path, const char *text, GError **error)
{
	gbe_autofd int fd = memfd_create("text", MFD_CLOEXEC);
	gsize size = strlen(text), back_size = 0;
	g_autofree char *back = NULL;

	if (fd < 0 || write(fd, text, size) != (ssize_t)size)
		return gbe_throw_errno(error, errno, "cannot prepare %s", path);
	if (!gbe_depot_put(depot, path, fd, size, NULL, error) ||
	    !gbe_depot_read(depot, path, size, &back, &back_size, error))
		return false;
	return (back_size == size && memcmp(back, text, size) == 0) ||
	       gbe_throw(error, GBE_ERROR_VERIFY_FAILED, "%s differs from the bytes written", path);
}

bool
gbe_depot_unpublish(GbeDepot *depot, const char *path, GError **error)
{
	return depot->kind->unpublish(depot, path, error);
}

bool
gbe_depot_remove(GbeDepot *depot, const char *path, GError **error)
{
	return depot->kind->remove(depot, path, error);
}

bool
gbe_depot_files(GbeDepot *depot, const char *entry, GbeDepotEach each, gpointer data,
		GError **error)
{
	return depot->kind->files(depot, entry, each, data, error);
}

bool
gbe_depot_remove_entry(GbeDepot *depot, const char *entry, GError **error)
{
	return depot->kind->remove_entry(depot, entry, error);
}

int
gbe_depot_directory(const GbeDepot *depot)
{
	return depot->kind->directory != NULL ? depot->kind->directory(depot) : -1;
}

bool
gbe_depot_tidy(GbeDepot *depot, GError **error)
{
	return depot->kind->tidy == NULL || depot->kind->tidy(depot, error);
}

void
gbe_depot_count(GbeDepot *depot)
{
	if (depot->kind->count != NULL)
		depot->kind->count(depot);
}

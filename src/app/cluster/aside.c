/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "app/cluster/aside.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "app/by-hand/session.h"
#include "app/certs/pki.h"
#include "base/fault.h"
#include "fs/exchange.h"
#include "fs/list.h"
#include "fs/remove.h"
#include "fs/sync.h"

#define ENV "cluster.env"
#define ENV_OF ENV ".of-"
#define LIVE "live"
#define LIVE_OF "of-"

/* One of the two places. */
typedef struct {
	int fd; /* -1: it is not there */
	const char *live, *of;
} Place;

static bool
exists(const Place *place, const char *name)
{
	return place->fd >= 0 && faccessat(place->fd, name, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

static bool
move(const Place *place, const char *from, const char *to, GError **error)
{
	return !exists(place, from) ||
	       (gbe_rename_new_at(place->fd, from, place->fd, to, error) &&
		gbe_sync_dir(place->fd, to, error) && !GBE_FAULT("cluster-settings-moved", error));
}

/* Without a backup they come back with nothing, and are removed by the next look. */
static bool
set_aside(const Place *place, guint64 sequence, GError **error)
{
	g_autofree char *name = sequence > 0
				    ? g_strdup_printf("%s%" G_GUINT64_FORMAT, place->of, sequence)
				    : g_strdup_printf("%snone-%08x", place->of, g_random_int());

	return move(place, place->live, name, error);
}

static bool
open_places(GbeApp *app, Place places[2], GError **error)
{
	places[0] = (Place){app->state_fd, ENV, ENV_OF};
	places[1] = (Place){-1, LIVE, LIVE_OF};
	return gbe_pki_open(app, &places[1].fd, error);
}

bool
gbe_cluster_set_aside(GbeApp *app, guint64 sequence, GError **error)
{
	Place places[2];
	bool ok;

	if (!open_places(app, places, error))
		return false;
	ok = set_aside(&places[0], sequence, error) && set_aside(&places[1], sequence, error);
	gbe_close_fd(&places[1].fd);
	return ok;
}

static const GbeManifest *
backup_of(const GbeFacts *facts, guint64 sequence)
{
	for (guint i = 0; i < facts->backups->len; i++) {
		const GbeManifest *backup = facts->backups->pdata[i];

		if (backup->sequence == sequence)
			return backup;
	}
	return NULL;
}

static bool
follow_one(const Place *place, const char *name, const GbeObserved *observed, bool *ret_moved,
	   GError **error)
{
	const GbeFacts *facts = observed->facts;
	const GbeManifest *backup =
	    backup_of(facts, g_ascii_strtoull(name + strlen(place->of), NULL, 10));
	const GbeTakeOver *owner = facts->owner;

	*ret_moved = backup != NULL && owner != NULL && g_strcmp0(owner->source, backup->name) == 0;
	if (*ret_moved)
		return set_aside(place, owner->found.sequence, error) &&
		       move(place, name, place->live, error);
	/* It may be one of those whose manifest cannot be read. */
	if (backup != NULL || facts->store != GBE_YES ||
	    (observed->damaged != NULL && observed->damaged->len > 0))
		return true;
	return gbe_remove_tree_at(place->fd, name, error);
}

static bool
list(const Place *place, GPtrArray **ret_names, GError **error)
{
	if (place->fd >= 0)
		return gbe_list_at(place->fd, place->of, ret_names, error);
	*ret_names = g_ptr_array_new();
	return true;
}

/* *ret_any: without @observed, something is set aside; with it, something came back. */
static bool
follow(const Place *place, const GbeObserved *observed, bool *ret_any, GError **error)
{
	g_autoptr(GPtrArray) names = NULL;
	bool moved = false;

	if (!list(place, &names, error))
		return false;
	for (guint i = 0; i < names->len; i++) {
		if (!g_str_has_prefix(names->pdata[i], place->of))
			continue;
		if (observed != NULL &&
		    !follow_one(place, names->pdata[i], observed, &moved, error))
			return false;
		*ret_any = *ret_any || observed == NULL || moved;
	}
	return true;
}

static bool
follow_all(GbeApp *app, const Place places[2], bool *ret_moved, GError **error)
{
	const GbeSessionOptions how = {.operation = "restore"};
	GbeSession session;
	bool any = false;

	if (!follow(&places[0], NULL, &any, error) || !follow(&places[1], NULL, &any, error))
		return false;
	if (!any)
		return true;
	if (!gbe_session_begin(app, &how, &session, error))
		return false;
	if (follow(&places[0], session.observed, ret_moved, error) &&
	    follow(&places[1], session.observed, ret_moved, error))
		return gbe_session_end(&session, error);
	gbe_session_abandon(&session);
	return false;
}

bool
gbe_cluster_follow(GbeApp *app, bool *ret_moved, GError **error)
{
	Place places[2];
	bool ok;

	*ret_moved = false;
	/* The operation itself says why it cannot. */
	if (!gbe_app_open_state(app, false, NULL))
		return true;
	if (!open_places(app, places, error))
		return false;
	ok = follow_all(app, places, ret_moved, error);
	gbe_close_fd(&places[1].fd);
	return ok;
}

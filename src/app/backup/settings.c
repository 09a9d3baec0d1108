/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "app/backup/settings.h"

#include "base/fault.h"
#include "fs/exchange.h"
#include "fs/list.h"
#include "fs/remove.h"
#include "fs/sync.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

/* Where settings lie; without them, and without what was set aside, it may be missing. */
typedef struct {
	int fd; /* borrowed; -1: it is not there */
	const char *live, *of;
} Place;

typedef struct {
	Place places[2];
	int pki_fd;
} Places;

static void
places_clear(Places *places)
{
	gbe_close_fd(&places->pki_fd);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Places, places_clear)

static bool
open_places(GbeApp *app, Places *ret_places, GError **error)
{
	g_autoptr(GError) local = NULL;
	int pki_fd = -1;

	*ret_places = (Places){.pki_fd = -1};
	if (!gbe_app_open_pki(app, false, &pki_fd, &local) &&
	    !g_error_matches(local, GBE_ERROR, GBE_ERROR_NOT_FOUND)) {
		g_propagate_error(error, g_steal_pointer(&local));
		return false;
	}
	ret_places->pki_fd = pki_fd;
	ret_places->places[0] = (Place){app->state_fd, "cluster.env", "cluster.env.of-"};
	ret_places->places[1] = (Place){pki_fd, "live", "of-"};
	return true;
}

static bool
is_there(const Place *place, const char *name)
{
	return place->fd >= 0 && faccessat(place->fd, name, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

static bool
move(const Place *place, const char *from, const char *to, GError **error)
{
	return !is_there(place, from) ||
	       (gbe_remove_tree_at(place->fd, to, error) &&
		gbe_rename_new_at(place->fd, from, place->fd, to, error) &&
		gbe_sync_dir(place->fd, to, error) && !GBE_FAULT("cluster-settings-moved", error));
}

/* @member NULL: they belong to no data; the next look removes them. */
static bool
set_aside(const Place *place, const char *member, GError **error)
{
	g_autofree char *name = g_strconcat(place->of, member != NULL ? member : "none", NULL);

	return move(place, place->live, name, error);
}

/* Data that is damaged does not tell its ids. */
static char *
member_of(const char *cluster_id, const char *member_id)
{
	return cluster_id != NULL && member_id != NULL
		   ? g_strconcat(cluster_id, "-", member_id, NULL)
		   : g_strdup("unknown");
}

/* The data itself is asked first, then what was recorded of it. NULL: there is none, or nothing tells; data that was
 * restored is a backup's. */
static char *
present_member(const GbeFacts *facts)
{
	const GbeTakeOver *owner = facts->owner;

	if (facts->data == GBE_NO)
		return NULL;
	if (facts->cluster_id != NULL)
		return member_of(facts->cluster_id, facts->member_id);
	return owner != NULL && (owner->cluster_id != NULL || owner->source != NULL)
		   ? member_of(owner->cluster_id, owner->member_id)
		   : NULL;
}

static char *
member_of_backup(const GbeFacts *facts, guint64 number)
{
	for (guint i = 0; number > 0 && i < facts->backups->len; i++) {
		const GbeManifest *backup = facts->backups->pdata[i];

		if (backup->sequence == number)
			return member_of(backup->cluster_id, backup->member_id);
	}
	return NULL;
}

static bool
has_backup(const GbeFacts *facts, const char *member)
{
	for (guint i = 0; i < facts->backups->len; i++) {
		const GbeManifest *backup = facts->backups->pdata[i];
		g_autofree char *of = member_of(backup->cluster_id, backup->member_id);

		if (g_str_equal(of, member))
			return true;
	}
	return false;
}

/* The names of what is set aside. */
static bool
list(const Place *place, GPtrArray **ret_names, GError **error)
{
	g_autoptr(GPtrArray) names = NULL;

	if (place->fd < 0)
		names = g_ptr_array_new();
	else if (!gbe_list_at(place->fd, "the settings", &names, error))
		return false;
	for (guint i = names->len; i > 0; i--)
		if (!g_str_has_prefix(names->pdata[i - 1], place->of))
			g_ptr_array_remove_index(names, i - 1);
	*ret_names = g_steal_pointer(&names);
	return true;
}

bool
gbe_settings_aside(GbeApp *app, bool *ret_any, GError **error)
{
	g_auto(Places) places = {.pki_fd = -1};

	*ret_any = false;
	if (!open_places(app, &places, error))
		return false;
	for (guint i = 0; i < G_N_ELEMENTS(places.places) && !*ret_any; i++) {
		g_autoptr(GPtrArray) names = NULL;

		if (!list(&places.places[i], &names, error))
			return false;
		*ret_any = names->len > 0;
	}
	return true;
}

bool
gbe_settings_set_aside(GbeApp *app, const GbeObserved *observed, guint64 number, GError **error)
{
	g_auto(Places) places = {.pki_fd = -1};
	g_autofree char *member = member_of_backup(observed->facts, number);

	return open_places(app, &places, error) && set_aside(&places.places[0], member, error) &&
	       set_aside(&places.places[1], member, error);
}

/* One that cannot be read now may be of that member. */
static bool
remove_old(const Place *place, const GbeObserved *observed, GError **error)
{
	const GbeFacts *facts = observed->facts;
	g_autoptr(GPtrArray) names = NULL;

	if (facts->store != GBE_YES || (observed->damaged != NULL && observed->damaged->len > 0))
		return true;
	if (!list(place, &names, error))
		return false;
	for (guint i = 0; i < names->len; i++) {
		const char *name = names->pdata[i];

		if (!has_backup(facts, name + strlen(place->of)) &&
		    !gbe_remove_tree_at(place->fd, name, error))
			return false;
	}
	return true;
}

/* Where the displaced data is of the same member, what is live is its own. */
static bool
bring_back(const Place *place, const char *present, const char *displaced, bool *ret_moved,
	   GError **error)
{
	g_autofree char *name = g_strconcat(place->of, present, NULL);

	if (!is_there(place, name) ||
	    (is_there(place, place->live) && g_strcmp0(present, displaced) == 0))
		return true;
	*ret_moved = true;
	return set_aside(place, displaced, error) && move(place, name, place->live, error);
}

bool
gbe_settings_follow(GbeApp *app, const GbeObserved *observed, bool *ret_moved, GError **error)
{
	const GbeFacts *facts = observed->facts;
	g_auto(Places) places = {.pki_fd = -1};
	g_autofree char *present = present_member(facts);
	g_autofree char *displaced =
	    facts->owner != NULL ? member_of_backup(facts, facts->owner->found.sequence) : NULL;

	*ret_moved = false;
	if (!open_places(app, &places, error))
		return false;
	for (guint i = 0; i < G_N_ELEMENTS(places.places); i++) {
		const Place *place = &places.places[i];

		if ((present != NULL && !bring_back(place, present, displaced, ret_moved, error)) ||
		    !remove_old(place, observed, error))
			return false;
	}
	return true;
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "app/backup/settings.h"

#include "app/state/state.h"
#include "base/fault.h"
#include "core/decide/situation.h"
#include "core/json/parse.h"
#include "fs/exchange.h"
#include "fs/list.h"
#include "fs/sync.h"
#include "fs/tree.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

/* A directory in which settings lie. */
typedef struct {
	int fd; /* -1: it is not there */
	const char *live, *of;
	/* The name of the former directory, until its successor is proved; NULL: none is kept. */
	const char *former;
	/* The names of those of no known member, until a person removes them; NULL: none are kept. */
	const char *ownerless;
} Place;

typedef struct {
	Place state, pki; /* the first one's fd is the program's */
} Places;

static void
places_clear(Places *places)
{
	gbe_close_fd(&places->pki.fd);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Places, places_clear)

static bool
open_places(GbeApp *app, Places *places, GError **error)
{
	g_autoptr(GError) local = NULL;

	places->state = (Place){app->state_fd, "cluster.env", "cluster.env.of-", NULL, NULL};
	places->pki = (Place){-1, "live", "of-", ".next", "ownerless-"};
	return gbe_app_open_pki(app, false, &places->pki.fd, &local) ||
	       gbe_pass_unless(error, &local, GBE_ERROR_NOT_FOUND);
}

static bool
is_there(const Place *place, const char *name)
{
	return place->fd >= 0 && faccessat(place->fd, name, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

static bool
move_entry(const Place *place, const char *from, const char *to, GError **error)
{
	return !is_there(place, from) ||
	       (gbe_remove_tree_at(place->fd, to, error) &&
		gbe_rename_new_at(place->fd, from, place->fd, to, error) &&
		gbe_sync_dir(place->fd, to, error) && !GBE_FAULT("cluster-settings-moved", error));
}

/* @member NULL: they belong to no data. Settings are made again, and the next look removes these. An authority cannot be
 * made again, and may have signed certificates for others. */
static bool
set_aside(const Place *place, const char *member, GError **error)
{
	g_autofree char *name = g_strconcat(place->of, member != NULL ? member : "none", NULL);

	if (member == NULL && place->ownerless != NULL) {
		guint n = 1;

		do {
			g_free(name);
			name = g_strdup_printf("%s%u", place->ownerless, n++);
		} while (is_there(place, name));
	}
	/* The former certificates are those of what is live, and would be put back in the place of another member's.
	 * They are renamed before they are removed: after a power cut, certs/pki.c sweeps that name. */
	if (place->former != NULL && place->fd >= 0 &&
	    (!move_entry(place, place->former, ".partial", error) ||
	     !gbe_remove_tree_at(place->fd, ".partial", error)))
		return false;
	return move_entry(place, place->live, name, error);
}

/* Data that is damaged does not tell its ids. */
static char *
member_of(const char *cluster_id, const char *member_id)
{
	return cluster_id != NULL && member_id != NULL
		   ? g_strconcat(cluster_id, "-", member_id, NULL)
		   : g_strdup("unknown");
}

/* The data itself is asked first, then its record. NULL: no data, or unknown. Data that was restored has the id of its
 * backup. */
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

/* The names of the files that are set aside. */
static bool
list_aside(const Place *place, GPtrArray **ret_names, GError **error)
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
	g_auto(Places) places = {.pki.fd = -1};
	g_autoptr(GPtrArray) state = NULL;
	g_autoptr(GPtrArray) pki = NULL;

	*ret_any = false;
	if (!open_places(app, &places, error) || !list_aside(&places.state, &state, error) ||
	    !list_aside(&places.pki, &pki, error))
		return false;
	*ret_any = state->len > 0 || pki->len > 0;
	return true;
}

bool
gbe_settings_set_aside(GbeApp *app, const GbeObserved *observed, guint64 number, GError **error)
{
	const GbeTakeOver *owner = observed->facts->owner;
	const char *cluster = owner != NULL ? owner->cluster_id : NULL;
	const char *id = owner != NULL ? owner->member_id : NULL;
	g_auto(Places) places = {.pki.fd = -1};
	g_autofree char *member = member_of_backup(observed->facts, number);
	g_autoptr(JsonObject) record = NULL;

	/* Of data that is gone: the member that its owner had, else the one that this device was when its etcd last
	 * answered (app/state/state.h). */
	if (number == 0) {
		if (!gbe_state_read(app, GBE_STATE_MEMBERS, true, &record, error))
			return false;
		if ((cluster == NULL || id == NULL) && record != NULL) {
			cluster = gbe_json_string(record, "cluster", NULL);
			id = gbe_json_string(record, "member", NULL);
		}
		g_free(member);
		member = cluster != NULL && id != NULL ? member_of(cluster, id) : NULL;
	}
	return open_places(app, &places, error) && set_aside(&places.state, member, error) &&
	       set_aside(&places.pki, member, error);
}

/* Are all backups known? An unreadable backup, or one on a missing mount, may be of any member. */
static bool
knows_backups(const GbeObserved *observed)
{
	const GbeFacts *facts = observed->facts;
	GbeView view;

	gbe_view_live(facts, &view);
	return facts->store == GBE_YES &&
	       (observed->damaged == NULL || observed->damaged->len == 0) &&
	       (view.mount_point != GBE_YES || facts->mount_point == GBE_YES);
}

static bool
follow_data(const Place *place, const GbeObserved *observed, bool *ret_moved, GError **error)
{
	const GbeFacts *facts = observed->facts;
	g_autofree char *present = present_member(facts);
	g_autofree char *displaced =
	    facts->owner != NULL ? member_of_backup(facts, facts->owner->found.sequence) : NULL;
	g_autofree char *own = present != NULL ? g_strconcat(place->of, present, NULL) : NULL;
	g_autoptr(GPtrArray) names = NULL;

	/* The live settings are its own if the displaced data is of the same member. */
	if (own != NULL && is_there(place, own) &&
	    (!is_there(place, place->live) || g_strcmp0(present, displaced) != 0)) {
		*ret_moved = true;
		if (!set_aside(place, displaced, error) ||
		    !move_entry(place, own, place->live, error))
			return false;
	}
	if (!knows_backups(observed))
		return true;
	if (!list_aside(place, &names, error))
		return false;
	for (guint i = 0; i < names->len; i++) {
		const char *name = names->pdata[i];

		if (!has_backup(facts, name + strlen(place->of)) &&
		    !gbe_remove_tree_at(place->fd, name, error))
			return false;
	}
	return true;
}

bool
gbe_settings_follow(GbeApp *app, const GbeObserved *observed, bool *ret_moved, GError **error)
{
	g_auto(Places) places = {.pki.fd = -1};

	*ret_moved = false;
	return open_places(app, &places, error) &&
	       follow_data(&places.state, observed, ret_moved, error) &&
	       follow_data(&places.pki, observed, ret_moved, error);
}

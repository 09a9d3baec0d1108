/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "store/device.h"

#include <string.h>
#include <sys/random.h>

#include "app/state/history.h"
#include "fs/open.h"
#include "fs/write.h"

/* In the state directory. */
#define FILE_NAME "device"

static bool
is_id(const char *text)
{
	return strlen(text) == GBE_DEVICE_LENGTH &&
	       strspn(text, G_CSET_DIGITS "abcdef") == GBE_DEVICE_LENGTH;
}

static bool
make_id(GbeApp *app, char **ret_id, GError **error)
{
	g_autoptr(GString) id = g_string_new(NULL);
	guint8 bytes[GBE_DEVICE_LENGTH / 2];

	if (getrandom(bytes, sizeof(bytes), 0) != sizeof(bytes))
		return gbe_throw_errno(error, errno, "cannot get random bytes");
	for (gsize i = 0; i < sizeof(bytes); i++)
		g_string_append_printf(id, "%02x", bytes[i]);
	g_string_append_c(id, '\n');
	if (!gbe_write_file_at(app->state_fd, FILE_NAME, id->str, id->len, 0600, GBE_WRITE_DURABLE,
			       error))
		return false;
	*ret_id = g_strndup(id->str, GBE_DEVICE_LENGTH);
	return true;
}

bool
gbe_device_id(GbeApp *app, bool make, char **ret_id, GError **error)
{
	g_autoptr(GError) local = NULL;
	g_autofree char *text = NULL;
	gsize size = 0;

	*ret_id = NULL;
	if (!gbe_app_open_state(app, make, &local))
		return gbe_pass_unless(error, &local, GBE_ERROR_NOT_FOUND);
	if (!gbe_read_file_at(app->state_fd, FILE_NAME, GBE_DEVICE_MAX, &text, &size, &local)) {
		if (make && g_error_matches(local, GBE_ERROR, GBE_ERROR_NOT_FOUND))
			return make_id(app, ret_id, error);
		return gbe_pass_unless(error, &local, GBE_ERROR_NOT_FOUND);
	}
	g_strchomp(text);
	if (!is_id(text))
		return gbe_throw(error, GBE_ERROR_CORRUPT,
				 GBE_STATE_DIR
				 "/" FILE_NAME
				 ": the content is not the name of a device; remove the file, and "
				 "pull older snapshots with --device=");
	*ret_id = g_steal_pointer(&text);
	return true;
}

static char *
device_text(const char *stored, const char *id)
{
	return g_strconcat(stored, id, "\n", NULL);
}

char *
gbe_device_sign(const GbeKeys *keys, const char *stored, const char *id)
{
	g_autofree char *text = device_text(stored, id);
	g_autofree char *digest = gbe_keys_sign(keys, GBE_KEYED_DEVICE, text);

	return g_strconcat(id, " ", digest, "\n", NULL);
}

/* Newer than the first one of this device that has the file: the file was removed. */
static bool
check_unknown(GbeApp *app, const GbeSnapshotStore *store, const GbeStored *stored, GError **error)
{
	g_auto(GbeOffsite) offsite = {0};

	if (g_strcmp0(store->device, GBE_DEVICE_UNKNOWN) == 0)
		return true;
	if (!gbe_history_load(app, store->depot->identifier, &offsite, error))
		return false;
	return offsite.bound == NULL || gbe_history_is_newer(offsite.bound, stored->name) ||
	       gbe_throw(error, GBE_ERROR_REFUSED,
			 "%s in %s: " GBE_SNAPSHOT_DEVICE
			 ", which says which device pushed it, is missing, and this device has "
			 "written that file since %s. Add --device=" GBE_DEVICE_UNKNOWN
			 " to take the snapshot without it",
			 stored->name, store->depot->shown, offsite.bound);
}

static bool
check_known(GbeApp *app, const GbeSnapshotStore *store, const GbeStored *stored, const char *id,
	    GError **error)
{
	g_autofree char *own = NULL;

	if (g_strcmp0(store->device, id) == 0)
		return true;
	if (!gbe_device_id(app, false, &own, error))
		return false;
	return g_strcmp0(own, id) == 0 ||
	       gbe_throw(error, GBE_ERROR_REFUSED,
			 "%s in %s: device %s pushed it, and this device is %s. Add --device=%s to "
			 "take it, for example if this device has replaced that one",
			 stored->name, store->depot->shown, id,
			 own != NULL ? own : "a new one without a name", id);
}

bool
gbe_device_check(GbeApp *app, const GbeSnapshotStore *store, const GbeStored *stored,
		 const GbeKeys *keys, const char *text, GError **error)
{
	g_autofree char *path = g_build_filename(stored->name, GBE_SNAPSHOT_DEVICE, NULL);
	g_autofree char *line = NULL, *signed_text = NULL;
	g_auto(GStrv) words = NULL;
	gsize size = 0;

	if (!stored->has_device)
		return check_unknown(app, store, stored, error);
	if (!gbe_depot_read(store->depot, path, GBE_DEVICE_MAX, &line, &size, error))
		return gbe_prefix(error, "%s", store->depot->shown);
	words = g_strsplit(g_strchomp(line), " ", 2);
	signed_text = device_text(text, words[0] != NULL ? words[0] : "");
	if (words[0] == NULL || !is_id(words[0]) ||
	    !gbe_keys_prove(keys, GBE_KEYED_DEVICE, signed_text, words[1]))
		return gbe_throw(error, GBE_ERROR_VERIFY_FAILED,
				 "%s in %s: " GBE_SNAPSHOT_DEVICE
				 " is not what was signed with a key of [store] key",
				 stored->name, store->depot->shown);
	return check_known(app, store, stored, words[0], error);
}

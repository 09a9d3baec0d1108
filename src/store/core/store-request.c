/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "store/core/store-request.h"

#include <string.h>

#include "core/json/parse.h"
#include "core/snapshot/name.h"

#define SUFFIX ".json"
/* With the suffix of a state, the name is still a valid file name. */
#define NAME_MAX_BYTES 200

static const char *const states[] = {
    [GBE_STORE_REQUEST_WAITING] = "waiting", [GBE_STORE_REQUEST_TAKEN] = "taken",
    [GBE_STORE_REQUEST_DONE] = "done",	     [GBE_STORE_REQUEST_FAILED] = "failed",
    [GBE_STORE_REQUEST_BAD] = "bad",	     [GBE_STORE_REQUEST_NONE] = "none",
};

const char *
gbe_store_request_state_to_string(GbeStoreRequestState state)
{
	return states[state];
}

GbeStoreRequestState
gbe_store_request_state(const char *file, char **ret_name)
{
	g_autofree char *name = g_strdup(file);
	GbeStoreRequestState state = GBE_STORE_REQUEST_WAITING;

	if (!g_str_has_suffix(name, SUFFIX)) {
		char *dot = strrchr(name, '.');

		for (guint i = GBE_STORE_REQUEST_TAKEN; dot != NULL && i < GBE_STORE_REQUEST_NONE;
		     i++)
			if (g_str_equal(dot + 1, states[i]))
				state = (GbeStoreRequestState)i;
		if (dot != NULL && state != GBE_STORE_REQUEST_WAITING)
			*dot = '\0';
	}
	if (!g_ascii_isalnum(*name) || strlen(name) > NAME_MAX_BYTES ||
	    !g_str_has_suffix(name, SUFFIX) ||
	    name[strspn(name, G_CSET_A_2_Z G_CSET_a_2_z G_CSET_DIGITS "._+-")] != '\0')
		return GBE_STORE_REQUEST_NONE;
	if (ret_name != NULL)
		*ret_name = g_steal_pointer(&name);
	return state;
}

char *
gbe_store_request_file(const char *name, GbeStoreRequestState state)
{
	if (state == GBE_STORE_REQUEST_WAITING)
		return g_strdup(name);
	return g_strconcat(name, ".", states[state], NULL);
}

void
gbe_store_request_clear(GbeStoreRequest *request)
{
	g_clear_pointer(&request->snapshot, g_free);
}

bool
gbe_store_request_parse(const char *bytes, gsize size, GbeStoreRequest *ret_request, GError **error)
{
	g_autoptr(JsonObject) object = NULL;
	const char *what, *snapshot;
	bool restore;

	if (!gbe_json_parse_object(bytes, size, "the request", &object, error))
		return false;
	what = gbe_json_string(object, "request", "");
	snapshot = gbe_json_string(object, "snapshot", NULL);
	restore = g_str_equal(what, "restore");
	if (!restore && !g_str_equal(what, "backup"))
		return gbe_throw(error, GBE_ERROR_CORRUPT,
				 "its \"request\" must be backup or restore");
	if (restore && (snapshot == NULL || (!g_str_equal(snapshot, GBE_SNAPSHOT_LATEST) &&
					     !gbe_snapshot_name_parse(snapshot, NULL))))
		return gbe_throw(error, GBE_ERROR_CORRUPT,
				 "its \"snapshot\" is not the name of one");
	/* Refuse an unknown key: doing a request in part would be wrong. */
	if (json_object_get_size(object) != (restore ? 2 : 1))
		return gbe_throw(error, GBE_ERROR_CORRUPT, "it has a key that is not known");
	*ret_request = (GbeStoreRequest){restore, restore ? g_strdup(snapshot) : NULL};
	return true;
}

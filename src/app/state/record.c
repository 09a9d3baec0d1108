/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Reads one record. This file stands alone, so that a small program links only this. */
#include "app/state/state.h"

#include "core/json/parse.h"
#include "fs/open.h"

/* The seal adds this to the largest JSON that is read. */
#define SEAL_ROOM 128

bool
gbe_state_peek(GbeApp *app, const char *name, JsonObject **ret_object, GError **error)
{
	g_autoptr(GError) local = NULL;
	g_autofree char *bytes = NULL;
	JsonObject *object = NULL;
	gsize size;

	if (gbe_app_open_state(app, false, &local) &&
	    gbe_read_file_at(app->state_fd, name, GBE_JSON_MAX_SIZE + SEAL_ROOM, &bytes, &size,
			     &local))
		(void)!gbe_record_open(bytes, size, name, &object, &local);
	if (local != NULL && !g_error_matches(local, GBE_ERROR, GBE_ERROR_NOT_FOUND)) {
		bool corrupt = g_error_matches(local, GBE_ERROR, GBE_ERROR_CORRUPT);

		g_propagate_error(error, g_steal_pointer(&local));
		return corrupt ? false : gbe_prefix(error, GBE_STATE_DIR);
	}
	*ret_object = object;
	return true;
}

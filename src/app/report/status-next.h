/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Parts of status: what the next boot will do to the data, and what is wrong now. */
#pragma once

#include "app/backup/observe.h"
#include "app/health/look.h"
#include "core/decide/plan.h"

#include <json-glib/json-glib.h>

/* `next{}`; turns the facts into those of the next boot. @off: why no decision will be made; NULL: prerun decides. */
JsonObject *gbe_status_next(GbeObserved *observed, const char *off);
/* Makes a `next{}` say that no decision will be made, and why. */
void gbe_status_set_off(JsonObject *next, const char *why);
/* Array of strings, for people: a store that is not there, entries that cannot be read, a half-done exchange, an
 * unknown deployment or run... The MOTD uses them, too. */
JsonArray *gbe_status_warnings(GbeApp *app, const GbeObserved *observed, const GbeHealthLook *look);

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The record of the configured store of snapshots, for the programs that show it. */
#pragma once

#include "app/device/context.h"
#include "core/record/offsite.h"

#include <json-glib/json-glib.h>

/* False: no store is configured. */
bool gbe_offsite_load(GbeApp *app, GbeOffsite *ret_offsite);
/* Why a person should look, newly allocated; NULL: no problem. */
char *gbe_offsite_trouble(GbeApp *app);
/* `offsite` of status; null: no store is configured. */
JsonNode *gbe_offsite_status(GbeApp *app);

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The record of rehearsals, for the programs that show it. gbe_rehearse() writes it. */
#pragma once

#include "app/backup/observe.h"
#include "core/record/rehearsal.h"

/* Reads the record. False: there is none of a deployment that could still boot next. */
bool gbe_rehearsal_load(GbeApp *app, const GbeDeployments *deployments,
			GbeRehearsal *ret_rehearsal);
/* `rehearsal` of status, and what `rehearse --json` prints beside `schema`. */
JsonObject *gbe_rehearsal_to_json(const GbeRehearsal *rehearsal);
JsonNode *gbe_rehearsal_status(GbeApp *app, const GbeDeployments *deployments); /* or null */
/* Why a person should look, newly allocated; NULL: no problem. */
char *gbe_rehearsal_trouble(const GbeRehearsal *rehearsal);

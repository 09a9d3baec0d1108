/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The JSON that verbs print with --json, for other verbs that include it. The caller frees it. Implemented in
 * verb-config.c, verb-health.c. */
#pragma once

#include "app/health/look.h"
#include "core/config/config.h"

#include <json-glib/json-glib.h>

JsonObject *gbe_cli_config_json(const GbeConfig *config);
/* The last look's result. */
JsonObject *gbe_cli_health_json(const GbeHealthLook *look);
/* @findings: of GbePreflightFinding. */
JsonObject *gbe_cli_preflight_json(const GPtrArray *findings);

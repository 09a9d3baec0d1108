/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What verbs print with --json, for those who put it elsewhere. The caller frees it. */
#pragma once

#include "app/health-look.h"
#include "core/config.h"

#include <json-glib/json-glib.h>

JsonObject *gbe_cli_config_json(const GbeConfig *config);
/* Of the last look. */
JsonObject *gbe_cli_health_json(const GbeHealthLook *look);
/* @findings: of GbePreflightFinding. */
JsonObject *gbe_cli_preflight_json(const GPtrArray *findings);

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Finds, orders and merges the configuration files (interface.md, section 3). What runs at boot must
 * not stumble over a typo: it falls back to the last configuration that worked under this deployment
 * (a sealed record of the state), else to the files without the faulty keys, and says which.
 *
 * A file of a *.conf.d directory that is empty or a link to /dev/null masks those of its name before it.
 */
#pragma once

#include "app/context.h"

/* The record of the last configuration that worked: {"deployment", "files": [{"path", "text"}]}. */
#define GBE_CONFIGURATION_RECORD "configuration"

/* Sets app->config. @strict: an unknown group or key is an error. With app->config_file, that file
 * alone is read. */
bool gbe_configuration_load(GbeApp *app, gboolean strict, GError **error) GBE_CHECKED;
/* Never fails; *ret_complaint is NULL, or what is wrong and what is used instead. @deployment may be
 * NULL (not known): no last one is used then. Remembers a configuration that works. */
void gbe_configuration_load_for_boot(GbeApp *app, const char *deployment, char **ret_complaint);
/* The same without remembering: writes nothing. */
void gbe_configuration_choose(GbeApp *app, const char *deployment, char **ret_complaint);

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Names of systemd's units, and words of their settings (systemd.unit(5)). Pure. */
#pragma once

#include "base/auto.h"
#include "base/error.h"

/* Sets @ret_name to @text, with ".service" added where it has no type. Newly allocated. GBE_ERROR_USAGE names @option:
 * no unit can have this name, or it is a template. */
bool gbe_unit_name_complete(const char *option, const char *text, char **ret_name,
			    GError **error) GBE_CHECKED;
/* The same, and the unit must be a service. */
bool gbe_unit_name_service(const char *option, const char *text, char **ret_name,
			   GError **error) GBE_CHECKED;
/* Can etcd live and die with @unit, in which its caller runs (NULL: in no unit)? False for units that people work in:
 * their sessions, and the services of a user's own manager. */
bool gbe_unit_is_parent(const char *unit);
/* The mount unit of @path: "/srv/my data" is "srv-my\x20data.mount", like `systemd-escape --path --suffix=mount`. */
char *gbe_mount_unit(const char *path);
/* Quotes any text as one word of a setting that takes words and knows specifiers. */
char *gbe_unit_quote(const char *text);

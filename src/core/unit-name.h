/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Names of systemd's units (systemd.unit(5)). Pure. */
#pragma once

#include "base/auto.h"
#include "base/error.h"

/* @text, with ".service" where it has no type. GBE_ERROR_USAGE, naming @option, where no unit can be called
 * so, and for a template. Newly allocated. */
bool gbe_unit_name_complete(const char *option, const char *text, char **ret_name,
			    GError **error) GBE_CHECKED;
/* The same, of a service. */
bool gbe_unit_name_service(const char *option, const char *text, char **ret_name,
			   GError **error) GBE_CHECKED;
/* Can etcd live and die with @unit, where its caller runs (NULL: in none)? Not with what people work in:
 * their sessions, the services of a user's own manager. */
gboolean gbe_unit_is_parent(const char *unit);

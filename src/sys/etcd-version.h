/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What `etcd --version` says: asked only where no earlier run told it over the API. */
#pragma once

#include <glib.h>

/* "3.5.16", or NULL (not there, no answer within @timeout_ms, nonsense). Newly allocated. */
char *gbe_etcd_version_of_binary(const char *binary, guint timeout_ms);

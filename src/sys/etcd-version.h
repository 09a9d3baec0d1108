/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Runs `etcd --version`. Needed only where no earlier run learnt the version over the API. */
#pragma once

#include <glib.h>

/* "3.5.16". NULL: not installed, no answer within @timeout_ms, or no version in it. Newly allocated. */
char *gbe_etcd_version_of_binary(const char *binary, guint timeout_ms);

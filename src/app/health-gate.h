/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The required check of greenboot: is etcd healthy, within the time that it may take? */
#pragma once

#include "app/context.h"

/* Asks etcd until it is healthy, for @seconds at most, and says it as JSON: {"health", "reason",
 * "version"}. This is `health --ask`, for those who load no curl. Newly allocated. */
char *gbe_health_ask(GbeApp *app, guint seconds);

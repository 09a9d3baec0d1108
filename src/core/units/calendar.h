/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* How often a calendar event of systemd.time(7) comes around. The generator may not ask systemd-analyze. */
#pragma once

#include <glib.h>

/* RandomizedDelaySec= of hooks/store/push.timer and prove.timer, in seconds. */
#define GBE_PUSH_JITTER 600
#define GBE_PROVE_JITTER (6 * 3600)

/* In seconds: no more than the shortest time between two events. Days that are left out do not count: an event at one
 * time of the day has a day, except for weekly and rarer words. */
guint64 gbe_calendar_period(const char *event);

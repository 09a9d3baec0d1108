/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The part of the configuration that the units need, as drop-ins of systemd (systemd.unit(5)). Text only;
 * src/app/boot/generate.c writes the files.
 */
#pragma once

#include "core/config/config.h"

#include <glib.h>

/*
 * Writable paths: each entry of ReadWritePaths= is a mount of its own in the unit's namespace, and no rename leaves a
 * mount. So a unit gets the directory below "/" that a path begins with, never the path itself. Then a tree next to the
 * data directory, the store and the top of the data's file system stay within one mount. The data directory is a mount
 * point in the namespace only if it is one outside. A program that renames nothing gets only the store, and sees the
 * data read-only.
 */

/* The path that @path leads to, without symlinks; to be freed. @data: as given to gbe_dropins(). */
typedef char *GbeFollow(gpointer data, const char *path);
/* Takes the text of one drop-in. */
typedef bool GbeDropinWrite(gpointer data, const char *unit, const char *text, GError **error);

/* Calls @write for each drop-in that the configuration asks for, the configured service's last; ends with its first
 * failure. @follow (may be NULL: there are no symlinks) is asked for each path that a unit needs, but for [store]'s. */
bool gbe_dropins(const GbeConfig *config, GbeFollow *follow, GbeDropinWrite *write, gpointer data,
		 GError **error) G_GNUC_WARN_UNUSED_RESULT;

/* The scope in which @service starts its etcd. NULL: none is known. */
const char *gbe_dropin_scope_of(const char *service);

/* How often a calendar event of systemd.time(7) comes around. The generator may not ask systemd-analyze. */

/* RandomizedDelaySec= of hooks/store/push.timer and prove.timer, in seconds. */
#define GBE_PUSH_JITTER 600
#define GBE_PROVE_JITTER (6 * 3600)

/* In seconds: no more than the shortest time between two events. Days that are left out do not count: an event at one
 * time of the day has a day, except for weekly and rarer words. */
guint64 gbe_calendar_period(const char *event);

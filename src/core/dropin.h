/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What the units need to know of the configuration, as drop-ins of systemd (systemd.unit(5)). Text only;
 * src/app/generate.h writes the files.
 *
 * Writable paths: each entry of ReadWritePaths= is a mount of its own in the unit's namespace, and no
 * rename leaves a mount. So what is granted is the directory below "/" that a path begins with, never
 * the path itself: a tree beside the data directory, the store and the top of the data's file system
 * stay within one mount, and the data directory looks like the mount point, or not, that it is. A program that
 * renames nothing is granted the store alone, and sees the data read-only.
 */
#pragma once

#include "core/config.h"

/* For the configured service: prerun before it, and what has to be active along with it. */
char *gbe_dropin_service(const GbeConfig *config);
/* For the programs that work on the data: its mount, the store's, and where they may write. @before
 * (may be NULL): a unit that they are ordered before. */
char *gbe_dropin_paths(const GbeConfig *config, const char *before);
/* The scope in which @service starts its etcd, or NULL: none is known. */
const char *gbe_dropin_scope_of(const char *service);
/* For that scope: it stops before finalize does, and before prerun is started again. */
char *gbe_dropin_scope(void);
/* For the target that such a service requires in place of prerun (hooks/start.target). */
char *gbe_dropin_start(const GbeConfig *config);
/* For the timer that starts `used`: when [restore] trial-limit is over. */
char *gbe_dropin_used_timer(const GbeConfig *config);
/* For green: the same as for the others, and where etcd answers. */
char *gbe_dropin_green(const GbeConfig *config);
/* For scrub: the mounts, and the store alone to write in. */
char *gbe_dropin_scrub(const GbeConfig *config);
/* For the monitor: where it may write its metrics, and try a clone in the store, and where etcd answers. No mount: it shows that one is missing, and brings none back that a person took away. */
char *gbe_dropin_monitor(const GbeConfig *config);
/* For the monitor's timer: its interval, which is not 0. */
char *gbe_dropin_monitor_timer(const GbeConfig *config);
/* For what defragments, and what takes periodic backups: they go with the service. The former writes nothing there. */
char *gbe_dropin_defrag(const GbeConfig *config);
char *gbe_dropin_backup(const GbeConfig *config);
/* Their timers, which go with it, too; the latter of a schedule that there is. */
char *gbe_dropin_defrag_timer(const GbeConfig *config);
char *gbe_dropin_backup_timer(const GbeConfig *config);
/* Are requests looked for in a store of snapshots that is configured? */
gboolean gbe_dropin_wants_requests(const GbeConfig *config);
/* And watched for by systemd itself? It looks the directory up, and on a share whose server is away it would wait
 * there: all of it, as PID 1. So only where somebody says that this is none. */
gboolean gbe_dropin_watches_requests(const GbeConfig *config);
/* For what carries them out, and what watches for them: also where etcd does not run. */
char *gbe_dropin_requests(const GbeConfig *config);
char *gbe_dropin_requests_path(const GbeConfig *config);
/* For greenboot's health check. */
char *gbe_dropin_health_check(void);

/* "/srv/my data" is "srv-my\x20data.mount", as `systemd-escape --path --suffix=mount` has it. */
char *gbe_mount_unit(const char *path);
/* Any text as one word of a setting that takes words and knows specifiers. */
char *gbe_unit_quote(const char *text);

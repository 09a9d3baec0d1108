/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The part of the configuration that the units need, as drop-ins of systemd (systemd.unit(5)). Text only;
 * src/app/boot/generate.h writes the files.
 */
#pragma once

#include "core/config/config.h"

/*
 * Writable paths: each entry of ReadWritePaths= is a mount of its own in the unit's namespace, and no
 * rename leaves a mount. So a unit gets the directory below "/" that a path begins with, never the path itself.
 * Then a tree beside the data directory, the store and the top of the data's file system stay within one mount,
 * and the data directory looks like the mount point, or not, that it is. A program that renames nothing gets
 * only the store, and sees the data read-only.
 */

/* For the configured service: prerun before it, and the units that must be active along with it. */
char *gbe_dropin_service(const GbeConfig *config);
/* For the programs that work on the data: its mount, the store's, and the paths that they may write to. @before (may be
 * NULL): a unit that they are ordered before. */
char *gbe_dropin_paths(const GbeConfig *config, const char *before);
/* The scope in which @service starts its etcd. NULL: none is known. */
const char *gbe_dropin_scope_of(const char *service);
/* For that scope: it stops before finalize stops (which is when finalize works), and before prerun starts again. */
char *gbe_dropin_scope(void);
/* For the target that such a service requires in place of prerun (hooks/start.target). */
char *gbe_dropin_start(const GbeConfig *config);
/* For the timer that starts `used` when [restore] trial-limit is over. */
char *gbe_dropin_used_timer(const GbeConfig *config);
/* For green: the same as gbe_dropin_paths(), and etcd's address. */
char *gbe_dropin_green(const GbeConfig *config);
/* For scrub: the mounts; only the store is writable. */
char *gbe_dropin_scrub(const GbeConfig *config);
/* For the monitor: the directory of its metrics and the store (where it tries a clone) are writable; also etcd's
 * address. No mount: the monitor reports a missing mount, and must not bring back one that a person took away. */
char *gbe_dropin_monitor(const GbeConfig *config);
/* For the monitor's timer: its interval, which is not 0. */
char *gbe_dropin_monitor_timer(const GbeConfig *config);
/* For defragmentation and for periodic backups: both stop with the service. Defragmentation gets no writable path. */
char *gbe_dropin_defrag(const GbeConfig *config);
char *gbe_dropin_backup(const GbeConfig *config);
/* For their timers, which also stop with the service. The backup timer needs a configured schedule. */
char *gbe_dropin_defrag_timer(const GbeConfig *config);
char *gbe_dropin_backup_timer(const GbeConfig *config);
/* Is a store of snapshots configured, and are requests looked for in it? */
bool gbe_dropin_wants_requests(const GbeConfig *config);
/* Does systemd itself watch for requests, too? PID 1 then looks the directory up, and would wait there as a whole on a
 * share whose server is away. So only where the configuration says that the store is no such share. */
bool gbe_dropin_watches_requests(const GbeConfig *config);
/* For the service that carries out requests, and the path unit that watches for them: also where etcd does not run. */
char *gbe_dropin_requests(const GbeConfig *config);
char *gbe_dropin_requests_path(const GbeConfig *config);
/* Does a timer push snapshots? Does anything send what waits, and read it back? */
bool gbe_dropin_wants_push(const GbeConfig *config);
bool gbe_dropin_wants_send(const GbeConfig *config);
bool gbe_dropin_wants_prove(const GbeConfig *config);
/* For these services: the store's mount, which is not required, its path, and its address. @push: it is bound to etcd's
 * service, and asks etcd. */
char *gbe_dropin_offsite(const GbeConfig *config, bool push);
/* For prove's service: the same; where a timer pushes, it also prunes. */
char *gbe_dropin_prove(const GbeConfig *config);
/* For the timers, whose schedules are configured. */
char *gbe_dropin_push_timer(const GbeConfig *config);
char *gbe_dropin_prove_timer(const GbeConfig *config);
/* For the services of the update lock and of a member that rejoins: each member of the cluster is asked. */
char *gbe_dropin_lock(const GbeConfig *config);
char *gbe_dropin_rejoin(const GbeConfig *config);
/* For the service that renews certificates: etcd's address. With renew-command= it may do whatever that program needs.
 * NULL: its unit is right as it is. */
char *gbe_dropin_renew(const GbeConfig *config);
/* For its timer, with renew-command=: also where this program makes no certificates. */
char *gbe_dropin_renew_timer(void);
/* For greenboot's health check. */
char *gbe_dropin_health_check(void);

/* The mount unit of @path: "/srv/my data" is "srv-my\x20data.mount", like `systemd-escape --path --suffix=mount`. */
char *gbe_mount_unit(const char *path);
/* Quotes any text as one word of a setting that takes words and knows specifiers. */
char *gbe_unit_quote(const char *text);

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Stand-ins for libostree and libsystemd, which the initramfs does not contain. Both know nothing of a root that is not
 * booted yet. The command line and the directories alone give the booted deployment (sys/deployment/deployments.c). The
 * list of deployments is not known, so nothing is ever pruned. Messages go to stderr, which is the journal's where a
 * unit runs.
 */
#include "app/boot/supervise.h"
#include "app/upkeep/live-etcd.h"
#include "base/error.h"
#include "sys/deployment/ostree.h"
#include "sys/process.h"
#include "sys/systemd/journal.h"
#include "sys/systemd/units.h"

void
gbe_ostree_load_ahead(void)
{
}

bool
gbe_ostree_open(int sysroot_fd, bool is_root, GbeOstree **ret_ostree, GError **error)
{
	return gbe_throw(error, GBE_ERROR_CANNOT_TELL,
			 "ostree's list of deployments is not read in the initramfs");
}

/* The next functions are never called: there is no GbeOstree. */

void
gbe_ostree_free(GbeOstree *ostree)
{
}

GPtrArray *
gbe_ostree_list(const GbeOstree *ostree)
{
	return g_ptr_array_new();
}

bool
gbe_ostree_booted(const GbeOstree *ostree, GbeDeployDir *ret_dir)
{
	return false;
}

void
gbe_ostree_commit_labels(const GbeOstree *ostree, const char *checksum, gint64 *ret_time,
			 char **ret_version)
{
}

/* A process id must do: no unit gives more. */

char *
gbe_process_describe(pid_t pid)
{
	return g_strdup_printf("process %d", (int)pid);
}

char *
gbe_process_unit(pid_t pid)
{
	return NULL;
}

GbeTri
gbe_unit_names(const char *unit, const char *property, const char *const *names)
{
	return GBE_UNKNOWN;
}

pid_t
gbe_process_with_lock(int fd)
{
	return 0;
}

bool
gbe_journal_send(const struct iovec *fields, guint count)
{
	return false;
}

static bool
no_manager(GError **error)
{
	return gbe_throw(error, GBE_ERROR_CANNOT_TELL, "systemd is not asked in the initramfs");
}

bool
gbe_manager_soft_reboots(guint *ret_count, GError **error)
{
	return no_manager(error);
}

GbeTri
gbe_system_stopping(void)
{
	return GBE_UNKNOWN;
}

void
gbe_unit_state_clear(GbeUnitState *state)
{
}

bool
gbe_unit_query(const char *unit, GbeUnitState *ret_state, GError **error)
{
	return no_manager(error);
}

bool
gbe_unit_stop(const char *unit, guint timeout_ms, GError **error)
{
	return no_manager(error);
}

bool
gbe_unit_start(const char *unit, guint timeout_ms, GError **error)
{
	return no_manager(error);
}

/* Never called: no service was stopped for a restore. */

bool
gbe_displaced_discard(GbeApp *app, const char *name, const char *restored, guint seconds,
		      GError **error)
{
	return gbe_throw(error, GBE_ERROR_CANNOT_TELL, "no etcd runs in the initramfs");
}

/* Never called: prerun runs without a supervisor here. */

int
gbe_supervise_prerun(const char *root, GbeWork work, gpointer data, guint idle_seconds)
{
	return GBE_EXIT_HELD;
}

int
gbe_supervise_ask(GbeApp *app, gpointer data)
{
	return GBE_EXIT_HELD;
}

int
gbe_supervise_show(GbeApp *app, gpointer data)
{
	return 0;
}

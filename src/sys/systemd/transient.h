/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Looks at transient units and starts them (StartTransientUnit of systemd's D-Bus interface,
 * org.freedesktop.systemd1(5)), and tells the unit of this process. */
#pragma once

#include "core/units/member-unit.h"
#include "sys/systemd/bus.h"

/* The unit that this process runs in. NULL: no unit that systemd knows of. Newly allocated. */
char *gbe_own_unit(void);

/* Looks for a unit of that name, loaded or not. */
bool gbe_transient_find(GbeJobs *jobs, const char *unit, GbeFoundUnit *ret_found,
			GError **error) GBE_CHECKED;

/* The properties of the unit that etcd is to be bound to. */
typedef struct {
	char *load_state, *active_state;
	bool by_default; /* DefaultDependencies= */
} GbeParentUnit;

void gbe_parent_unit_clear(GbeParentUnit *parent);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(GbeParentUnit, gbe_parent_unit_clear)
bool gbe_transient_parent(GbeJobs *jobs, const char *unit, GbeParentUnit *ret_parent,
			  GError **error) GBE_CHECKED;

/* Makes the unit and queues its start; @properties: "a(sv)", in which a handle is the fd itself. *ret_exists: a unit of that name was made in the
 * meantime (the error says so, too). GBE_ERROR_FAILED: systemd refuses, and nothing is left of the unit. */
bool gbe_transient_start(GbeJobs *jobs, const char *unit, GVariant *properties, char **ret_job,
			 bool *ret_exists, GError **error) GBE_CHECKED;
/* Resets a failed unit, so that systemd removes it. */
void gbe_transient_forget(GbeJobs *jobs, const char *unit);

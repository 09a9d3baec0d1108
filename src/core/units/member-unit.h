/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The transient unit that etcd runs in: its properties, and what to do about an existing unit of its name. Pure;
 * src/sys/systemd/units.h does it. The unit is bound to its parent and ordered before it. After it, a parent that is
 * still starting and waits for etcd would wait for itself. So at a stop, etcd stops after its parent and before
 * finalize.
 */
#pragma once

#include "core/units/etcd-command.h"

#define GBE_PRERUN_UNIT "greenboot-etcd-prerun.service"
/* The default name of the unit. */
#define GBE_MEMBER_UNIT "greenboot-etcd-member.service"

typedef struct {
	const char *parent;
	/* DefaultDependencies= of the parent: a parent that starts early must not wait for units that wait for it. */
	bool parent_by_default;
	bool protect; /* prerun goes before each start */
	char **argv;  /* the program's absolute path, and its arguments */
	char **environment;
	guint64 timeout; /* seconds, for etcd's start after prerun */
} GbeMemberUnit;

/* The properties as StartTransientUnit takes them, "a(sv)", floating. GBE_ERROR_INVALID_CONFIG: [run] is wrong.
 * GBE_ERROR_USAGE: systemd takes no such argument. */
bool gbe_member_unit_properties(const GbeMemberUnit *unit, const GbeConfig *config,
				GVariant **ret_properties, GError **error) GBE_CHECKED;

/* systemd's answer about a unit of that name. */
typedef struct {
	char *load_state, *active_state;
	bool transient;
	char *job;	/* its job's object path; NULL: none */
	char *job_type; /* "start", "stop", ... */
	char **parents; /* BindsTo= */
	char **argv;	/* of the first ExecStart=; NULL: none */
	char **environment;
} GbeFoundUnit;

void gbe_found_unit_clear(GbeFoundUnit *found);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(GbeFoundUnit, gbe_found_unit_clear)

typedef enum {
	GBE_LEFTOVER_NONE,    /* no unit has the name: start one */
	GBE_LEFTOVER_SERVES,  /* the unit runs, or is being started (job), as wanted */
	GBE_LEFTOVER_OTHER,   /* the unit must be stopped */
	GBE_LEFTOVER_ENDED,   /* the unit is down, and not collected yet */
	GBE_LEFTOVER_FOREIGN, /* the unit has a unit file of another owner: leave it alone */
} GbeLeftover;

/* *ret_why (static) says what is different where the unit must be stopped, else it is NULL. */
GbeLeftover gbe_leftover_judge(const GbeFoundUnit *found, const char *parent,
			       const GbeEtcdCommand *wanted, const char **ret_why);

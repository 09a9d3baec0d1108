/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The transient unit that etcd runs in: its properties, and what is to be done about one of its name that is
 * there already. Pure; src/sys/transient.h does it.
 *
 * It is bound to its parent and ordered before it, never after: a parent that is still starting, and waits
 * for etcd, would wait for itself. Stopped, it goes after its parent, and before finalize.
 */
#pragma once

#include "core/etcd-command.h"

#define GBE_PRERUN_UNIT "greenboot-etcd-prerun.service"
/* What it is called, unless somebody wants it otherwise. */
#define GBE_MEMBER_UNIT "greenboot-etcd-member.service"

typedef struct {
	const char *parent;
	/* DefaultDependencies= of the parent: one that starts early must not wait for what waits for it. */
	gboolean parent_by_default;
	gboolean protect; /* prerun goes before each start */
	char **argv;	  /* the program's absolute path, and its arguments */
	char **environment;
	guint64 timeout; /* seconds, for its start, once prerun is through */
} GbeMemberUnit;

/* As StartTransientUnit takes them, "a(sv)", floating. GBE_ERROR_INVALID_CONFIG: [run] is wrong;
 * GBE_ERROR_USAGE: systemd takes no such argument. */
bool gbe_member_unit_properties(const GbeMemberUnit *unit, const GbeConfig *config,
				GVariant **ret_properties, GError **error) GBE_CHECKED;

/* What systemd says of a unit of that name. */
typedef struct {
	char *load_state, *active_state;
	gboolean transient;
	char *job;	/* its job's object path; NULL: none */
	char *job_type; /* "start", "stop", ... */
	char **parents; /* BindsTo= */
	char **argv;	/* of the first ExecStart=; NULL: none */
	char **environment;
} GbeFoundUnit;

void gbe_found_unit_clear(GbeFoundUnit *found);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(GbeFoundUnit, gbe_found_unit_clear)

typedef enum {
	GBE_LEFTOVER_NONE,    /* there is none: start */
	GBE_LEFTOVER_SERVES,  /* it runs, or is being started (job), as it is to */
	GBE_LEFTOVER_OTHER,   /* it has to be stopped */
	GBE_LEFTOVER_ENDED,   /* it is down, and not collected yet */
	GBE_LEFTOVER_FOREIGN, /* somebody's unit file: not ours to touch */
} GbeLeftover;

/* *ret_why, static, where it is to be stopped, else NULL: what is different. */
GbeLeftover gbe_leftover_judge(const GbeFoundUnit *found, const char *parent,
			       const GbeEtcdCommand *wanted, const char **ret_why);

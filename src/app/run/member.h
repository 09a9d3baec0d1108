/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Starts etcd for the unit that needs it, as a transient unit of systemd that lives and dies with that unit
 * (core/units/member-unit.h). From a shell, etcd replaces this program. prerun runs first in both cases. No process of
 * this program stays. A power cut leaves nothing: transient units are in memory.
 */
#pragma once

#include "app/device/context.h"
#include "core/units/etcd-command.h"

typedef struct {
	const char *parent; /* NULL: the unit that this program runs in, if any */
	const char *unit;   /* the name of etcd's unit */
	bool no_block;	    /* do not wait until etcd is ready */
	guint64 timeout;    /* seconds until etcd must be ready, without prerun's time */
	char **command;	    /* etcd and its arguments */
} GbeMemberOptions;

typedef enum { GBE_MEMBER_STARTED, GBE_MEMBER_ADOPTED, GBE_MEMBER_QUEUED } GbeMemberResult;

typedef struct {
	GbeApp *app;
	const GbeMemberOptions *options;
	char *parent;	    /* NULL: no unit; etcd runs in the place of this program */
	char **argv;	    /* an absolute path, and its arguments */
	char **environment; /* of etcd in our place: everything; else what is added to the unit */
	GbeEtcdCommand command;

	/* The results. */
	GbeMemberResult result;
	bool protected;	  /* prerun runs before etcd */
	char *replaced;	  /* why a unit of that name was stopped; NULL: none was */
	GPtrArray *notes; /* of char *: what people should know */
	GPtrArray *last;  /* of char *: the unit's last lines, when it failed */
} GbeMember;

/* Reads the configuration as the programs of the boot do; finds the program and the parent. GBE_ERROR_USAGE,
 * _INVALID_CONFIG, _NOT_FOUND (no such program), _REFUSED below --root. @options must outlive *ret_member. */
bool gbe_member_prepare(GbeApp *app, const GbeMemberOptions *options, GbeMember **ret_member,
			GError **error) GBE_CHECKED;
void gbe_member_free(GbeMember *member);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(GbeMember, gbe_member_free)

/* With a parent: starts the unit, or finds that it is already ready, and waits. GBE_ERROR_REFUSED: etcd would write to
 * unprotected data, prerun holds etcd back, or the parent is not running. _BUSY: another process starts and stops that
 * unit. _FAILED: etcd did not become ready and was stopped (->last), or systemd refuses. _CANNOT_TELL: systemd does not
 * answer, or etcd took too long and still starts. */
bool gbe_member_start(GbeMember *member, GError **error) GBE_CHECKED;
/* Without a parent: runs prerun, then etcd in the place of this process. Returns only when that is not possible. */
bool gbe_member_execute(GbeMember *member, GError **error) GBE_CHECKED;

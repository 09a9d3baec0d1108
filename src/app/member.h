/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * etcd, started for the unit that needs it: as a transient unit of systemd that lives and dies with that one
 * (core/member-unit.h), or, from a shell, in the place of this program. prerun goes first in both. Nothing of
 * this program stays behind.
 *
 * A power cut leaves nothing: transient units are in memory.
 */
#pragma once

#include "app/context.h"
#include "core/etcd-command.h"

typedef struct {
	const char *parent; /* NULL: the unit that this runs in, if there is one */
	const char *unit;   /* what etcd's is to be called */
	gboolean no_block;  /* do not wait until etcd is ready */
	guint64 timeout;    /* seconds, for etcd to get ready; what prerun takes does not count */
	char **command;	    /* etcd and its arguments */
} GbeMemberOptions;

typedef enum { GBE_MEMBER_STARTED, GBE_MEMBER_ADOPTED, GBE_MEMBER_QUEUED } GbeMemberResult;

typedef struct {
	GbeApp *app;
	const GbeMemberOptions *options;
	char *parent;	    /* NULL: there is none, etcd is to run in our place */
	char **argv;	    /* an absolute path, and its arguments */
	char **environment; /* in our place all of it, else what the unit gets */
	GbeEtcdCommand command;

	/* What came of it. */
	GbeMemberResult result;
	gboolean protected; /* prerun goes before etcd */
	char *replaced;	    /* why one of that name was stopped; NULL: none was */
	GPtrArray *notes;   /* of char *: what people should know */
	GPtrArray *last;    /* of char *: what the unit said last, where it failed */
} GbeMember;

/* Reads the configuration as what runs at boot does, finds the program and the parent. GBE_ERROR_USAGE,
 * _INVALID_CONFIG, _NOT_FOUND (no such program), _REFUSED below --root. @options has to outlive *ret_member. */
bool gbe_member_prepare(GbeApp *app, const GbeMemberOptions *options, GbeMember **ret_member,
			GError **error) GBE_CHECKED;
void gbe_member_free(GbeMember *member);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(GbeMember, gbe_member_free)

/* With a parent: starts the unit, or finds that it serves already, and waits. GBE_ERROR_REFUSED: etcd would
 * write to what is not protected, prerun holds it back, or the parent is not running; _BUSY: somebody else
 * listens there; _FAILED: etcd did not get ready, and was stopped (->last), or systemd refuses;
 * _CANNOT_TELL: systemd does not answer, or etcd took too long, and goes on. */
bool gbe_member_start(GbeMember *member, GError **error) GBE_CHECKED;
/* Without: prerun, then etcd in the place of this process. Returns only where that cannot be. */
bool gbe_member_execute(GbeMember *member, GError **error) GBE_CHECKED;

/* Is somebody else listening where etcd is to? GBE_ERROR_BUSY. */
bool gbe_member_check_addresses(const GbeMember *member, GError **error) GBE_CHECKED;

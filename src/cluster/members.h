/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The verbs member add, promote, update, remove and replace: single steps, each of which is refused if the cluster
 * would lose its quorum. etcd writes each as one entry of its log, so a power cut leaves it done or not done. If this
 * device's own etcd does not answer, the backup is a snapshot.
 */
#pragma once

#include "cluster/look.h"

typedef struct {
	bool dry_run;
	bool voter;	  /* add, replace: with a vote from the beginning, not as a learner */
	bool force;	  /* also if not all members answer, or the quorum would be lost */
	guint64 wait;	  /* seconds until etcd takes the change, and a learner has caught up */
	bool back_up;	  /* a backup comes first */
	const char *name; /* add, replace: the new member's name, for ->environment; NULL: "NAME" */
} GbeMembersOptions;

typedef struct {
	guint64 id;	   /* of the member that was added or changed; 0 with dry_run */
	bool unknown;	   /* etcd was asked, but the result is unknown */
	char *said;	   /* the change, as text for people */
	char *backup;	   /* as from gbe_live_etcd_back_up(); NULL */
	char *environment; /* add, replace: the new etcd's variables, a line each; NULL */
} GbeMembersResult;

void gbe_members_result_clear(GbeMembersResult *result);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(GbeMembersResult, gbe_members_result_clear)

/* @urls: the peer's addresses. GBE_ERROR_REFUSED: the quorum, or an address that another member has; _NOT_FOUND: no such
 * member; _CANNOT_TELL: no answer, or none about the change itself; _FAILED: etcd denies it. */
bool gbe_members_add(GbeApp *app, char *const *urls, const GbeMembersOptions *options,
		     GbeMembersResult *ret_result, GError **error) GBE_CHECKED;
bool gbe_members_promote(GbeApp *app, const char *name, const GbeMembersOptions *options,
			 GbeMembersResult *ret_result, GError **error) GBE_CHECKED;
bool gbe_members_update(GbeApp *app, const char *name, char *const *urls,
			const GbeMembersOptions *options, GbeMembersResult *ret_result,
			GError **error) GBE_CHECKED;
/* A leader first hands over to another member. */
bool gbe_members_remove(GbeApp *app, const char *name, const GbeMembersOptions *options,
			GbeMembersResult *ret_result, GError **error) GBE_CHECKED;
/* Removes a member and adds another one. GBE_ERROR_PARTIAL: the member was removed, but the new one was not added. */
bool gbe_members_replace(GbeApp *app, const char *name, char *const *urls,
			 const GbeMembersOptions *options, GbeMembersResult *ret_result,
			 GError **error) GBE_CHECKED;

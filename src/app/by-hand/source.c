/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "app/by-hand/source.h"

#include "app/backups/keys.h"
#include "core/decide/situation.h"

static bool
no_last_good(const GbeObserved *observed, GError **error)
{
	const GPtrArray *backups = observed->facts->backups;

	for (guint i = 0; i < backups->len; i++) {
		const GbeManifest *backup = backups->pdata[i];

		if (backup->grade == GBE_GRADE_GOOD && backup->voters > 1)
			return gbe_throw(error, GBE_ERROR_REFUSED,
					 "backup %s is good, and of a cluster of %u voters: remove "
					 "this member from the cluster and add it again, or name "
					 "the backup, with --force",
					 backup->name, backup->voters);
	}
	return gbe_throw(error, GBE_ERROR_NOT_FOUND,
			 "no good backup in %s; `greenboot-etcd list` shows what there is",
			 observed->store->path);
}

bool
gbe_source_resolve(GbeObserved *observed, const GbeByHandRestore *options,
		   const GbeManifest **ret_source, GError **error)
{
	const GbeFacts *facts = observed->facts;
	const GbeManifest *source;

	if (options->target == GBE_BY_HAND_NAMED)
		return gbe_session_find(observed, options->name, ret_source, error);
	if (options->target == GBE_BY_HAND_UNDO) {
		if (facts->undo.name == NULL && facts->unread != NULL)
			return gbe_throw(error, GBE_ERROR_CANNOT_TELL,
					 "what the last restore displaced cannot be told: %s",
					 facts->unread);
		if (facts->undo.name == NULL)
			return gbe_throw(error, GBE_ERROR_NOT_FOUND,
					 "nothing to undo: no restore has displaced anything; "
					 "`greenboot-etcd log` shows what was done");
		*ret_source = gbe_facts_backup_of(facts, &facts->undo);
		if (*ret_source == NULL && gbe_facts_backup(facts, facts->undo.name) != NULL)
			return gbe_throw(error, GBE_ERROR_NOT_FOUND,
					 "what the last restore displaced was deleted; %s is "
					 "another backup of that name",
					 facts->undo.name);
		return *ret_source != NULL ||
		       gbe_session_find(observed, facts->undo.name, ret_source, error);
	}
	source = gbe_situation_last_good(facts);
	if (source == NULL)
		return no_last_good(observed, error);
	*ret_source = source;
	return true;
}

/* Refuses for reasons in the backup: it has no data, is bad, is a cluster's, or is of another directory. */
static bool
check_source(GbeApp *app, const GbeFacts *facts, const GbeManifest *source,
	     const GbeByHandRestore *options, GError **error)
{
	if (source->consumed)
		return gbe_throw(error, GBE_ERROR_REFUSED,
				 "backup %s has no data of its own any more: a restore without "
				 "room took it; restore another one",
				 source->name);
	if (options->force)
		return true;
	/* An undo takes the data displaced last, even if it was graded bad. */
	if (source->grade == GBE_GRADE_BAD && options->target != GBE_BY_HAND_UNDO)
		return gbe_throw(
		    error, GBE_ERROR_REFUSED,
		    "backup %s is graded bad (%s); take another one, or --force", source->name,
		    source->grade_reason != NULL ? source->grade_reason : "no reason recorded");
	if (source->voters > 1)
		return gbe_throw(error, GBE_ERROR_REFUSED,
				 "backup %s is of a cluster of %u voters; remove this member from "
				 "the cluster and add it again, or --force",
				 source->name, source->voters);
	if (source->data_dir != NULL && facts->data_dir != NULL &&
	    !g_str_equal(source->data_dir, facts->data_dir))
		return gbe_throw(error, GBE_ERROR_REFUSED,
				 "backup %s is of %s, not of %s; take another one, or --force",
				 source->name, source->data_dir, facts->data_dir);
	return gbe_keys_check_backup(app, source, true, error);
}

/* Refuses for reasons in the data directory. */
static bool
check_place(const GbeObserved *observed, const GbeSituation *live, const GbeView *view, bool force,
	    GError **error)
{
	const GbeFacts *facts = observed->facts;

	if (facts->data == GBE_UNKNOWN && !(force && facts->deformed))
		return gbe_throw(error, GBE_ERROR_REFUSED,
				 "what is in %s cannot be read (%s); look at it first%s",
				 observed->data->path,
				 facts->data_why != NULL ? facts->data_why : "unknown",
				 facts->deformed ? ", or --force sets it aside as it is" : "");
	if (observed->data->parent_fd < 0)
		return gbe_throw(error, GBE_ERROR_NOT_FOUND,
				 "the directory that is to hold %s is not there; make it, or mount "
				 "it",
				 observed->data->path);
	if (force)
		return true;
	if (facts->ostree == GBE_YES && facts->booted.id == NULL)
		return gbe_throw(error, GBE_ERROR_REFUSED,
				 "the booted deployment cannot be told (%s), so nobody would own "
				 "the data: --force restores all the same",
				 facts->booted_why != NULL ? facts->booted_why : "unknown");
	if (live->mount_lost)
		return gbe_throw(error, GBE_ERROR_REFUSED,
				 "%s was a mount point and is none now; mount it, or --force to "
				 "have the data in the bare directory",
				 observed->data->path);
	if (view->voters > 1)
		return gbe_throw(error, GBE_ERROR_REFUSED,
				 "the data in %s is a member's of a cluster with more than one "
				 "voter: remove the member from the cluster and add it again, or "
				 "--force",
				 observed->data->path);
	return true;
}

/* The booted deployment's etcd must be able to read the backup. */
static bool
check_usable(const GbeFacts *facts, const GbeManifest *source, bool force, GError **error)
{
	GbeSituation situation;
	GbeView view;

	gbe_view_backup(facts, source, &view);
	gbe_situation_derive(facts, &view, true, &situation);
	if (situation.usable == GBE_NO && !force)
		return gbe_throw(error, GBE_ERROR_REFUSED,
				 "backup %s was written for %s %s, and this deployment's is older: "
				 "boot a deployment that reads it, or --force",
				 source->name, source->data_version != NULL ? "version" : "etcd",
				 source->data_version != NULL	      ? source->data_version
				 : gbe_manifest_needs(source) != NULL ? gbe_manifest_needs(source)
								      : "(unknown)");
	return true;
}

bool
gbe_source_check_itself(GbeSession *session, const GbeManifest *source,
			const GbeByHandRestore *options, GError **error)
{
	const GbeFacts *facts = session->observed->facts;

	return check_source(session->app, facts, source, options, error) &&
	       check_usable(facts, source, options->force, error);
}

bool
gbe_source_check(GbeSession *session, const GbeManifest *source, const GbeByHandRestore *options,
		 GError **error)
{
	const GbeObserved *observed = session->observed;
	const GbeFacts *facts = observed->facts;
	GbeSituation situation;
	GbeView view;

	gbe_view_live(facts, &view);
	gbe_situation_derive(facts, &view, true, &situation);
	return check_source(session->app, facts, source, options, error) &&
	       check_place(observed, &situation, &view, options->force, error) &&
	       check_usable(facts, source, options->force, error);
}

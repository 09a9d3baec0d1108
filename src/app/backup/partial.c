/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "app/backup/partial.h"

#include "app/backups/verify.h"
#include "base/fault.h"
#include "core/backup-name.h"
#include "etcd/directory/member.h"
#include "fs/copy/compare.h"
#include "fs/exchange.h"
#include "fs/sync.h"

void
gbe_partial_clear(GbePartial *partial)
{
	if (partial->fd >= 0)
		gbe_store_drop_partial(partial->store, partial->partial);
	gbe_close_fd(&partial->fd);
	g_clear_pointer(&partial->name, g_free);
	g_clear_pointer(&partial->partial, g_free);
}

bool
gbe_partial_make(const GbeObserved *observed, const char *name, GbePartial *ret_partial,
		 GError **error)
{
	const GbeFacts *facts = observed->facts;
	const GbeStore *store = observed->store;
	g_autofree char *at = g_strconcat(GBE_RUNG_PARTIAL, name, NULL);
	int fd = -1;

	if (facts->store == GBE_NO || store->fd < 0)
		return gbe_observed_no_store(observed, error);
	if (gbe_facts_backup(facts, name) != NULL ||
	    (facts->taken != NULL && g_hash_table_contains(facts->taken, name)))
		return gbe_throw(error, GBE_ERROR_FAILED,
				 "%s is there already in %s; take another name", name, store->path);
	if (!gbe_store_make_partial(store, at, &fd, error))
		return false;
	*ret_partial = (GbePartial){.store = store,
				    .name = g_strdup(name),
				    .partial = g_steal_pointer(&at),
				    .fd = fd};
	return true;
}

GbeManifest *
gbe_partial_manifest(const GbePartial *partial, const GbeObserved *observed,
		     const GbeDirectory *directory, const char *description)
{
	const GbeFacts *facts = observed->facts;
	GbeManifest *manifest = gbe_manifest_new();

	manifest->written_by = g_strdup(GBE_VERSION);
	manifest->name = g_strdup(partial->name);
	manifest->origin = GBE_ORIGIN_MANUAL;
	manifest->sequence = facts->next_sequence;
	manifest->lineage.line = manifest->sequence;
	manifest->trial.used = -1;
	manifest->grade = GBE_GRADE_UNPROVEN;
	manifest->method = GBE_METHOD_COPY;
	manifest->created = facts->now;
	manifest->data_dir = g_strdup(facts->data_dir);
	manifest->description = g_strdup(description);
	gbe_inside_record(directory, GBE_VERIFY_FULL, manifest);
	return manifest;
}

bool
gbe_partial_describe(const GbeApp *app, const GbePartial *partial, int data_fd,
		     const char *member_path, GbeManifest *manifest, GError **error)
{
	gbe_autofd int wal_fd = gbe_data_open_wal_of_copy(app, manifest->data_dir, data_fd);

	if (!gbe_member_fingerprint(data_fd, member_path, wal_fd, &manifest->fingerprint, error) ||
	    !gbe_compare_record(data_fd, gbe_data_exclude, true, manifest, error))
		return false;
	return gbe_store_write_manifest_at(partial->store, partial->fd, manifest, GBE_WRITE_LATER,
					   error) &&
	       !GBE_FAULT("partial-described", error);
}

bool
gbe_partial_publish(GbePartial *partial, GError **error)
{
	const GbeStore *store = partial->store;

	if (!gbe_sync_fs(store->fd, store->path, error) || GBE_FAULT("partial-synced", error) ||
	    !gbe_rename_new_at(store->fd, partial->partial, store->fd, partial->name, error))
		return false;
	gbe_close_fd(&partial->fd);
	return !GBE_FAULT("partial-renamed", error) && gbe_sync_dir(store->fd, store->path, error);
}

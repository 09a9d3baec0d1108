/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* manifest.json of an entry of the store, signed where there is a key. */
#include "app/backups/store.h"

#include "core/backup-name.h"
#include "fs/open.h"
#include "fs/write.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

bool
gbe_store_read_manifest(const GbeStore *store, int entry_fd, const char *name,
			GbeManifest **ret_manifest, GError **error)
{
	g_autoptr(GbeManifest) manifest = NULL;
	g_autofree char *bytes = NULL;
	gsize size = 0;

	if (!gbe_read_file_at(entry_fd, GBE_MANIFEST_NAME, GBE_JSON_MAX_SIZE, &bytes, &size,
			      error) ||
	    !gbe_manifest_parse(bytes, size, &manifest, error))
		return gbe_prefix(error, "backup %s", name);
	if (!g_str_equal(manifest->name, name))
		return gbe_throw(error, GBE_ERROR_CORRUPT,
				 "backup %s: its manifest is that of %s (renamed by hand?)", name,
				 manifest->name);
	if (store->keys != NULL)
		gbe_manifest_check_seal(manifest, store->keys);
	*ret_manifest = g_steal_pointer(&manifest);
	return true;
}

bool
gbe_store_write_manifest(GbeStore *store, const GbeManifest *manifest, GError **error)
{
	g_autofree char *text = gbe_manifest_print_signed(manifest, store->keys);
	gbe_autofd int entry_fd = -1;

	store = gbe_store_at(store, manifest->name);
	if (!gbe_open_dir_at(store->fd, manifest->name, &entry_fd, error) ||
	    !gbe_write_file_at(entry_fd, GBE_MANIFEST_NAME, text, strlen(text), 0600,
			       GBE_WRITE_DURABLE, error))
		return gbe_prefix(error, "manifest of %s", manifest->name);
	return true;
}

bool
gbe_store_prepare(GbeStore *store, const GbeManifest *manifest, GError **error)
{
	g_autofree char *pending = g_strconcat(GBE_RUNG_PENDING, manifest->name, NULL);
	g_autofree char *text = gbe_manifest_print_signed(manifest, store->keys);
	gbe_autofd int entry_fd = -1;

	if (mkdirat(store->fd, pending, 0700) < 0)
		return gbe_throw_errno(error, errno, "make %s in the store", pending);
	if (!gbe_open_dir_at(store->fd, pending, &entry_fd, error) ||
	    !gbe_write_file_at(entry_fd, GBE_MANIFEST_NAME, text, strlen(text), 0600,
			       GBE_WRITE_LATER, error))
		return gbe_prefix(error, "manifest of %s", manifest->name);
	return true;
}

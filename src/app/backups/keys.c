/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "app/backups/keys.h"

#include "app/device/endpoint.h"
#include "fs/open.h"

#include <errno.h>

bool
gbe_app_keys(GbeApp *app, const GbeKeys **ret_keys, GError **error)
{
	const char *path = app->config->store.key;
	char bytes[GBE_KEYS_FILE_MAX + 1];
	gbe_autofd int fd = -1;
	ssize_t size;
	bool ok;

	if (app->keys == NULL && path != NULL) {
		if (!gbe_key_file_open(app, path, true, &fd, error))
			return gbe_prefix(error, "[store] key %s", path);
		size = pread(fd, bytes, sizeof(bytes), 0);
		if (size < 0)
			ok = gbe_throw_errno(error, errno, "cannot read it");
		else if (size == sizeof(bytes))
			ok = gbe_throw(error, GBE_ERROR_INVALID_CONFIG, "it is too long");
		else
			ok = gbe_keys_parse(bytes, (gsize)size, &app->keys, error);
		explicit_bzero(bytes, sizeof(bytes));
		if (!ok)
			return gbe_prefix(error, "[store] key %s", path);
	}
	*ret_keys = app->keys;
	return true;
}

bool
gbe_keys_check_backup(GbeApp *app, const GbeManifest *manifest, bool by_hand, GError **error)
{
	g_autoptr(GError) local = NULL;
	const GbeKeys *keys = NULL;
	bool signed_right = manifest->seal == GBE_SEAL_RIGHT || manifest->seal == GBE_SEAL_NEW;

	if (!gbe_app_keys(app, &keys, &local)) {
		/* The key cannot be read, so the digest cannot be checked. */
		if (!by_hand && !manifest->outside)
			return true;
		return gbe_pass(error, &local);
	}
	if (keys == NULL || (signed_right && (!manifest->outside || manifest->proved)))
		return true;
	if (manifest->outside)
		return gbe_throw(
		    error, GBE_ERROR_REFUSED,
		    "backup %s came from outside, and %s: import what was pulled from a "
		    "store that is signed with [store] key, or --force",
		    manifest->name,
		    signed_right ? "no keyed digest came with it"
				 : "its own keyed digest is missing or wrong");
	return manifest->seal != GBE_SEAL_WRONG || !by_hand ||
	       gbe_throw(
		   error, GBE_ERROR_REFUSED,
		   "the manifest of backup %s is not what was signed with [store] key: take "
		   "another one; where the key was exchanged, add the old one behind the new; "
		   "or --force",
		   manifest->name);
}

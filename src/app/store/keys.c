/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "app/store/keys.h"

#include "fs/open.h"
#include "fs/write.h"

#include <errno.h>
#include <fcntl.h>

/* @others: the mode bits that give users other than root access. */
static bool
check_file(int fd, mode_t others, GError **error)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return gbe_throw_errno(error, errno, "cannot look at it");
	if (!S_ISREG(st.st_mode))
		return gbe_throw(error, GBE_ERROR_UNSAFE_SOURCE, "it is not a regular file");
	if (st.st_uid != geteuid() || (st.st_mode & others) != 0)
		return gbe_throw(error, GBE_ERROR_UNSAFE_SOURCE,
				 "it is not root's alone (owner %u, mode %04o): chown it to root, "
				 "chmod %04o",
				 (unsigned)st.st_uid, (unsigned)(st.st_mode & 07777),
				 0644 & ~(unsigned)others);
	return true;
}

bool
gbe_keys_open(GbeApp *app, const char *path, bool secret, int *ret_fd, GError **error)
{
	mode_t others = secret ? S_IRWXG | S_IRWXO : S_IWGRP | S_IWOTH;
	gbe_autofd int fd = -1;

	if (!gbe_check_parents(app->root_fd, path, error) ||
	    !gbe_open_in_root(app->root_fd, path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK, &fd, error) ||
	    !check_file(fd, others, error))
		return false;
	*ret_fd = gbe_steal_fd(&fd);
	return true;
}

static bool
read_keys(GbeApp *app, GError **error)
{
	const char *path = app->config->store.key;
	char bytes[GBE_KEYS_FILE_MAX + 1];
	gbe_autofd int fd = -1;
	ssize_t size;
	bool ok;

	if (!gbe_keys_open(app, path, true, &fd, error))
		return false;
	size = pread(fd, bytes, sizeof(bytes), 0);
	if (size < 0)
		return gbe_throw_errno(error, errno, "cannot read it");
	if (size == sizeof(bytes))
		return gbe_throw(error, GBE_ERROR_INVALID_CONFIG, "it is too long");
	ok = gbe_keys_parse(bytes, (gsize)size, &app->keys, error);
	explicit_bzero(bytes, sizeof(bytes));
	return ok;
}

bool
gbe_app_keys(GbeApp *app, const GbeKeys **ret_keys, GError **error)
{
	if (app->keys == NULL && app->config->store.key != NULL && !read_keys(app, error))
		return gbe_prefix(error, "[store] key %s", app->config->store.key);
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

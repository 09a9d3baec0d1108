/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "app/snapshot/sidecar.h"

#include "fs/open.h"

#include <string.h>

/* A longer file is not a digest and the end of its line. */
#define SIZE_MAX_READ 256

static char *
read_digest(int dir_fd, const char *name)
{
	char *bytes = NULL;
	gsize size = 0;

	if (!gbe_read_file_at(dir_fd, name, SIZE_MAX_READ, &bytes, &size, NULL))
		return NULL;
	return g_strchomp(bytes);
}

bool
gbe_sidecar_begin(int dir_fd, const char *name, GbePart *ret_part, GError **error)
{
	g_autofree char *sidecar = g_strconcat(name, GBE_SIDECAR_SUFFIX, NULL);

	return gbe_part_begin(dir_fd, sidecar, false, ret_part, error);
}

bool
gbe_sidecar_sign(GbeApp *app, GbePart *part, const char *sha256, GError **error)
{
	g_autofree char *digest = NULL;
	const GbeKeys *keys = NULL;

	if (!gbe_app_keys(app, &keys, error))
		return false;
	if (keys == NULL)
		return true;
	digest = gbe_keys_sign(keys, GBE_KEYED_FILE, sha256);
	return gbe_part_write(part, digest, strlen(digest), error) &&
	       gbe_part_write(part, "\n", 1, error);
}

bool
gbe_sidecar_publish(GbePart *part, GError **error)
{
	return part->written == 0 || gbe_part_publish(part, error);
}

bool
gbe_sidecar_prove_file(GbeApp *app, const char *path, const char *sha256, bool *ret_proved,
		       GError **error)
{
	g_autofree char *absolute =
	    app->below_root ? g_strdup(path) : g_canonicalize_filename(path, NULL);
	g_autofree char *sidecar = g_strconcat(absolute, GBE_SIDECAR_SUFFIX, NULL);
	g_autofree char *name = NULL, *digest = NULL;
	const GbeKeys *keys = NULL;
	gbe_autofd int dir_fd = -1;

	*ret_proved = false;
	if (!gbe_app_keys(app, &keys, error))
		return false;
	if (keys == NULL)
		return true;
	if (!gbe_open_parent_in_root(app->root_fd, sidecar, &dir_fd, &name, error))
		return false;
	digest = read_digest(dir_fd, name);
	*ret_proved = gbe_keys_prove(keys, GBE_KEYED_FILE, sha256, digest);
	return *ret_proved || digest == NULL ||
	       gbe_throw(error, GBE_ERROR_VERIFY_FAILED,
			 "%s is not what %s.hmac was signed for with a key of [store] key: pull it "
			 "again; or remove %s.hmac, and restore what was imported with --force",
			 path, path, path);
}

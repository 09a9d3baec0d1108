/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "app/backup/discard.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "core/backup-name.h"
#include "core/record/take-over.h"
#include "fs/exchange.h"
#include "fs/own-dir.h"
#include "fs/remove.h"

bool
gbe_discard_staging(GbeApp *app, int stage_fd, const char *name, GError **error)
{
	g_autofree char *swept = NULL;

	/* A half-removed ".restore-" tree must not be taken for a whole one. */
	if (g_str_has_prefix(name, GBE_RUNG_RESTORE)) {
		swept = g_strconcat(GBE_RUNG_STAGING, name + strlen(GBE_RUNG_RESTORE), NULL);
		if (!gbe_remove_tree_at(stage_fd, swept, error) ||
		    !gbe_rename_new_at(stage_fd, name, stage_fd, swept, error))
			return false;
		name = swept;
	}
	return gbe_remove_tree_within_at(stage_fd, name, app->patience, error);
}

static bool
set_aside(const GbeData *data, const char *name, GError **error)
{
	gbe_autofd int hidden_fd = -1;
	g_autofree char *aside = NULL;
	struct stat st;

	if (fstatat(data->fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0 || !S_ISDIR(st.st_mode))
		return true;
	if (data->mount_point &&
	    !gbe_own_dir_open_at(data->fd, gbe_data_hidden, true, &hidden_fd, error))
		return false;
	aside = g_strdup_printf(GBE_DISCARD_NONCE "%" G_GUINT64_FORMAT, (guint64)st.st_ino);
	return gbe_rename_new_at(data->fd, name, hidden_fd >= 0 ? hidden_fd : data->parent_fd,
				 aside, error);
}

bool
gbe_discard_nonce_directory(GbeData *data, GError **error)
{
	if (data->fd < 0 || data->parent_fd < 0)
		return true;
	return set_aside(data, GBE_NONCE_NAME, error) &&
	       set_aside(data, GBE_TMP_PREFIX GBE_NONCE_NAME, error);
}

bool
gbe_discard_has_number(const char *name, const char *prefix)
{
	const char *digits = name + strlen(prefix);

	return g_str_has_prefix(name, prefix) && *digits != '\0' && *digits != '0' &&
	       strspn(digits, "0123456789") == strlen(digits);
}

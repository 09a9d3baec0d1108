/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Imports a directory: a raw copy of a data directory that another program made, as MicroShift does below
 * microshift-backups/. A name of the form <deployment>_<boot id> tells whose data it was. */
#include "app/snapshot/import-private.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fault.h"
#include "core/backup-name.h"
#include "core/record/manifest.h"
#include "core/space.h"
#include "etcd/directory/member.h"
#include "fs/copy/clone.h"
#include "fs/copy/extents.h"
#include "fs/copy/metadata.h"
#include "fs/open.h"
#include "fs/probe.h"
#include "fs/subvolume.h"
#include "fs/tree.h"
#include "sys/enabled.h"

#define MAX_VERSION_FILE (64 * 1024)

static bool
step(guint64 bytes, gpointer data)
{
	const GbeImport *options = data;

	return options->progress == NULL || options->progress(bytes, 0, options->progress_data);
}

bool
gbe_import_tree_open(GbeImporting *importing, GError **error)
{
	const GbeImport *options = importing->options;
	g_autofree char *absolute = importing->app->below_root
					? g_strdup(options->path)
					: g_canonicalize_filename(options->path, NULL);
	struct stat st;

	if (!gbe_open_parent_in_root(importing->app->root_fd, absolute, &importing->tree_parent_fd,
				     &importing->tree_name, error))
		return false;
	if (fstatat(importing->tree_parent_fd, importing->tree_name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return gbe_throw_errno(error, errno, "cannot look at %s", options->path);
	/* A file, or a link to one, which the import follows. */
	return !S_ISDIR(st.st_mode) ||
	       gbe_open_dir_at(importing->tree_parent_fd, importing->tree_name, &importing->tree_fd,
			       error);
}

/* No etcd starts on the directory while *ret_lock_fd is open. */
static bool
check_at_rest(const GbeImporting *importing, int *ret_lock_fd, GError **error)
{
	const char *path = importing->options->path;
	const char *data_dir = importing->session->observed->data->path;
	const char *wal = gbe_data_wal_below(importing->app, data_dir);
	gbe_autofd int wal_fd =
	    gbe_data_open_wal_of_copy(importing->app, data_dir, importing->tree_fd);
	bool has = false;

	if (wal != NULL && wal_fd < 0)
		return gbe_throw(error, GBE_ERROR_REFUSED,
				 "there is no log of etcd in %s/%s, where [etcd] wal-dir has it",
				 path, wal);
	if (!gbe_member_has_data(importing->tree_fd, importing->member_path, &has, error))
		return false;
	if (!has)
		return gbe_throw(
		    error, GBE_ERROR_REFUSED,
		    "there is no data of etcd in %s%s%s, where [etcd] member-dir has it", path,
		    *importing->member_path != '\0' ? "/" : "", importing->member_path);
	switch (
	    gbe_in_use(importing->tree_fd, importing->member_path, wal_fd, ret_lock_fd, error)) {
	case GBE_NO:
		return true;
	case GBE_YES:
		return gbe_throw(error, GBE_ERROR_BUSY, "etcd has %s open: stop it first", path);
	case GBE_UNKNOWN:
	default:
		return false;
	}
}

/* Checks the space before the first byte, rather than failing on a full disk. */
static bool
check_room(const GbeImporting *importing, GError **error)
{
	const GbeStore *store = importing->session->observed->store;
	GbeSpace space = {0};
	g_autofree char *missing = NULL;

	if (!gbe_extents_space(importing->tree_fd, store->fd, false, &space, error))
		return false;
	if (gbe_space_fits(&space) || (gbe_same_filesystem(importing->tree_fd, store->fd) &&
				       gbe_probe_clone(store->fd, store->fd) == GBE_YES))
		return true;
	missing = gbe_size_to_text(gbe_space_missing(&space));
	return gbe_throw(error, GBE_ERROR_NO_SPACE,
			 "no room for %s in %s: %s more are needed; `greenboot-etcd list "
			 "--exclusive` shows what could go",
			 importing->options->path, store->path, missing);
}

bool
gbe_import_tree(GbeImporting *importing, int *ret_data_fd, GbeMethod *ret_method, GError **error)
{
	const GbeCloneOptions options = {
	    .allowed = GBE_METHOD_SNAPSHOT,
	    .read_only = importing->options->keep_owners,
	    .compare = true,
	    .cold = GBE_COLD_COPY,
	    .exclude = gbe_data_exclude,
	    .progress = step,
	    .progress_data = (gpointer)importing->options,
	};
	g_auto(GbeCloneResult) result = {0};
	gbe_autofd int lock_fd = -1;

	if (!check_at_rest(importing, &lock_fd, error) || !check_room(importing, error))
		return false;
	if (!gbe_clone_tree_at(importing->tree_parent_fd, importing->tree_name,
			       importing->partial.fd, GBE_STORE_DATA, &options, &result, error))
		return gbe_prefix(error, "copy %s", importing->options->path);
	*ret_method = result.method;
	return !GBE_FAULT("import-copied", error) &&
	       gbe_open_dir_at(importing->partial.fd, GBE_STORE_DATA, ret_data_fd, error) &&
	       gbe_import_hand_over(importing, *ret_data_fd, error) &&
	       (result.method != GBE_METHOD_SNAPSHOT ||
		gbe_subvolume_set_read_only(*ret_data_fd, true, error));
}

static bool
hand_over(const char *path, int dir_fd, const char *name, const struct stat *st, gpointer data,
	  GError **error)
{
	const struct stat *owner = data;

	return gbe_metadata_hand_over_at(dir_fd, name, st, owner->st_uid, owner->st_gid, path,
					 error);
}

bool
gbe_import_hand_over(const GbeImporting *importing, int data_fd, GError **error)
{
	const GbeData *present = importing->session->observed->data;
	const char *service = importing->app->config->etcd.service;
	struct stat owner = {.st_mode = S_IFDIR | 0700, .st_uid = geteuid(), .st_gid = getegid()};

	if (importing->options->keep_owners)
		return true;
	if (present->fd >= 0 && fstat(present->fd, &owner) < 0)
		return gbe_throw_errno(error, errno, "cannot look at %s", present->path);
	if (present->member_path == NULL && service != NULL)
		(void)gbe_unit_owner(importing->app->root_fd, service, &owner.st_uid,
				     &owner.st_gid);
	return gbe_tree_walk(data_fd, NULL, hand_over, &owner, error) &&
	       gbe_metadata_hand_over_at(importing->partial.fd, GBE_STORE_DATA, &owner,
					 owner.st_uid, owner.st_gid, "the data", error);
}

void
gbe_import_tree_tell(const GbeImporting *importing, int data_fd, GbeManifest *manifest)
{
	const char *name = importing->app->config->etcd.version_file;
	g_autofree char *bytes = NULL;
	gsize size = 0;

	(void)gbe_backup_name_parse(importing->tree_name, &manifest->deployment.id, &manifest->run,
				    NULL);
	if (name == NULL || *name == '\0' ||
	    !gbe_read_file_at(data_fd, name, MAX_VERSION_FILE, &bytes, &size, NULL))
		return;
	{
		GbeVersion version = gbe_version_from_file(bytes, size);

		if (version.known)
			manifest->data_version =
			    g_strdup_printf("%u.%u", version.major, version.minor);
	}
}

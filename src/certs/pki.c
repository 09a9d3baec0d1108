/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "certs/pki.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>

#include "app/health/certificates.h"
#include "base/fault.h"
#include "core/units/cluster-env.h"
#include "fs/exchange.h"
#include "fs/open.h"
#include "fs/remove.h"
#include "fs/sync.h"
#include "fs/write.h"

#define LIVE "live"
#define NEXT ".next"
#define PARTIAL ".partial"
#define RECORD "record"
#define AUTHORITY "authority"
#define SEALED ".cred"

static const char *const leaf_names[GBE_LEAVES] = {"server", "peer", "client"};

const char *
gbe_leaf_name(GbeLeafName leaf)
{
	return leaf_names[leaf];
}

void
gbe_authority_clear(GbeAuthority *authority)
{
	g_clear_pointer(&authority->certificate, g_bytes_unref);
	g_clear_pointer(&authority->sealed, g_bytes_unref);
	g_clear_pointer(&authority->key, gbe_private_key_free);
}

GbePki *
gbe_pki_new(void)
{
	return g_new0(GbePki, 1);
}

void
gbe_pki_free(GbePki *pki)
{
	if (pki == NULL)
		return;
	gbe_pki_record_clear(&pki->record);
	gbe_authority_clear(&pki->signer);
	gbe_authority_clear(&pki->other);
	for (guint i = 0; i < GBE_LEAVES; i++) {
		g_clear_pointer(&pki->certificates[i], g_bytes_unref);
		g_clear_pointer(&pki->keys[i], gbe_private_key_free);
	}
	g_free(pki);
}

/* ---- reading ---- */

/* *ret_bytes NULL: there is no such file. */
static bool
read_bytes(int fd, const char *name, const char *suffix, GBytes **ret_bytes, GError **error)
{
	g_autofree char *file = g_strconcat(name, suffix, NULL);
	g_autoptr(GError) local = NULL;
	char *bytes = NULL;
	gsize size = 0;

	if (gbe_read_file_at(fd, file, GBE_CERTS_FILE_MAX, &bytes, &size, &local)) {
		*ret_bytes = g_bytes_new_take(bytes, size);
		return true;
	}
	if (g_error_matches(local, GBE_ERROR, GBE_ERROR_NOT_FOUND))
		return true;
	g_propagate_error(error, g_steal_pointer(&local));
	return gbe_prefix(error, GBE_PKI_LIVE);
}

static bool
read_authority(int fd, const char *name, GbeAuthority *authority, GError **error)
{
	return read_bytes(fd, name, ".crt", &authority->certificate, error) &&
	       read_bytes(fd, name, ".key", &authority->key, error) &&
	       read_bytes(fd, name, ".key" SEALED, &authority->sealed, error);
}

static bool
read_record(int place_fd, const char *name, GbePkiRecord *ret_record, GError **error)
{
	g_autofree char *path = g_strconcat(GBE_PKI_DIR "/", name, "/" RECORD, NULL);
	gbe_autofd int fd = -1;
	g_autofree char *bytes = NULL;
	gsize size = 0;

	return gbe_open_dir_at(place_fd, name, &fd, error) &&
	       gbe_read_file_at(fd, RECORD, GBE_CERTS_FILE_MAX, &bytes, &size, error) &&
	       gbe_pki_record_read(bytes, size, path, ret_record, error);
}

/* A leaf that cannot be read is made anew; an authority cannot be. */
static bool
read_live(int place_fd, int fd, GbePki *pki, GError **error)
{
	gbe_autofd int authority_fd = -1;

	if (!read_record(place_fd, LIVE, &pki->record, error) ||
	    !gbe_open_dir_at(fd, AUTHORITY, &authority_fd, error) ||
	    !read_authority(authority_fd, "ca", &pki->signer, error) ||
	    !read_authority(authority_fd, "other", &pki->other, error))
		return gbe_rethrow_if(error, GBE_ERROR_NOT_FOUND, GBE_ERROR_CORRUPT);
	for (guint i = 0; i < GBE_LEAVES; i++)
		if (!read_bytes(fd, leaf_names[i], ".crt", &pki->certificates[i], NULL) ||
		    !read_bytes(fd, leaf_names[i], ".key", &pki->keys[i], NULL))
			g_debug("%s is not readable", leaf_names[i]);
	if (pki->signer.certificate == NULL ||
	    (pki->signer.key == NULL && pki->signer.sealed == NULL))
		return gbe_throw(error, GBE_ERROR_CORRUPT,
				 GBE_PKI_LIVE "/" AUTHORITY " lacks the authority's %s",
				 pki->signer.certificate == NULL ? "certificate" : "key");
	return true;
}

bool
gbe_pki_read(GbeApp *app, GbePki **ret_pki, GError **error)
{
	g_autoptr(GbePki) pki = gbe_pki_new();
	g_autoptr(GError) local = NULL;
	gbe_autofd int place_fd = -1;
	gbe_autofd int fd = -1;

	if (!gbe_app_open_pki(app, false, &place_fd, &local) ||
	    !gbe_open_dir_at(place_fd, LIVE, &fd, &local)) {
		if (!g_error_matches(local, GBE_ERROR, GBE_ERROR_NOT_FOUND)) {
			g_propagate_error(error, g_steal_pointer(&local));
			return gbe_prefix(error, GBE_PKI_DIR);
		}
		*ret_pki = NULL;
		return true;
	}
	/* A program that has read a key leaves no core. */
	(void)prctl(PR_SET_DUMPABLE, 0);
	if (!read_live(place_fd, fd, pki, error))
		return false;
	*ret_pki = g_steal_pointer(&pki);
	return true;
}

/* ---- writing ---- */

/* etcd's user, as the data has it; root: no etcd was here yet. */
static void
find_etcd(GbeApp *app, struct stat *ret_st)
{
	gbe_autofd int fd = -1;

	*ret_st = (struct stat){0};
	if (gbe_open_in_root(app->root_fd, app->config->etcd.data_dir, O_PATH, &fd, NULL) &&
	    fstat(fd, ret_st) < 0)
		*ret_st = (struct stat){0};
}

static bool
write_bytes(int fd, const char *name, const char *suffix, GBytes *bytes, mode_t mode,
	    GError **error)
{
	g_autofree char *file = g_strconcat(name, suffix, NULL);

	return bytes == NULL ||
	       gbe_write_file_at(fd, file, g_bytes_get_data(bytes, NULL), g_bytes_get_size(bytes),
				 mode, GBE_WRITE_LATER, error);
}

static bool
write_authority(int fd, const char *name, const GbeAuthority *authority, GError **error)
{
	return write_bytes(fd, name, ".crt", authority->certificate, 0644, error) &&
	       /* Opened or not, a sealed key stays sealed on the disk. */
	       (authority->sealed != NULL
		    ? write_bytes(fd, name, ".key" SEALED, authority->sealed, 0600, error)
		    : write_bytes(fd, name, ".key", authority->key, 0600, error));
}

/* etcd's group may read the keys of the server and of the peer; its user, where that group is root's. */
static bool
give_to_etcd(int fd, const char *key, const struct stat *etcd, GError **error)
{
	bool by_group = etcd->st_gid != 0;

	return (fchownat(fd, key, by_group ? (uid_t)-1 : etcd->st_uid, etcd->st_gid,
			 AT_SYMLINK_NOFOLLOW) == 0 &&
		fchmodat(fd, key, by_group ? 0640 : 0600, 0) == 0) ||
	       gbe_throw_errno(error, errno, "let etcd read %s", key);
}

static bool
write_leaf(int fd, const GbePki *pki, guint leaf, const struct stat *etcd, GError **error)
{
	g_autofree char *key = g_strconcat(leaf_names[leaf], ".key", NULL);

	return write_bytes(fd, leaf_names[leaf], ".crt", pki->certificates[leaf], 0644, error) &&
	       write_bytes(fd, leaf_names[leaf], ".key", pki->keys[leaf], 0600, error) &&
	       (leaf == GBE_LEAF_CLIENT || give_to_etcd(fd, key, etcd, error));
}

GBytes *
gbe_pki_bundle(const GbePki *pki)
{
	GByteArray *bundle = g_byte_array_new();
	GBytes *const parts[] = {pki->signer.certificate, pki->record.rotation != GBE_ROTATION_NONE
							      ? pki->other.certificate
							      : NULL};

	for (guint i = 0; i < G_N_ELEMENTS(parts); i++)
		if (parts[i] != NULL)
			g_byte_array_append(bundle, g_bytes_get_data(parts[i], NULL),
					    (guint)g_bytes_get_size(parts[i]));
	return g_byte_array_free_to_bytes(bundle);
}

static bool
write_files(GbeApp *app, int fd, const GbePki *pki, GError **error)
{
	g_autoptr(GBytes) bundle = gbe_pki_bundle(pki);
	g_autofree char *record = gbe_pki_record_print(&pki->record);
	gbe_autofd int authority_fd = -1;
	struct stat etcd;

	find_etcd(app, &etcd);
	if (fchmod(fd, 0755) < 0 || mkdirat(fd, AUTHORITY, 0700) < 0)
		return gbe_throw_errno(error, errno, "make " AUTHORITY);
	if (!gbe_open_dir_at(fd, AUTHORITY, &authority_fd, error) ||
	    !write_authority(authority_fd, "ca", &pki->signer, error) ||
	    !write_authority(authority_fd, "other", &pki->other, error))
		return false;
	for (guint i = 0; i < GBE_LEAVES; i++)
		if (!write_leaf(fd, pki, i, &etcd, error))
			return false;
	return write_bytes(fd, "ca", ".crt", bundle, 0644, error) &&
	       gbe_write_file_at(fd, "etcd.env", GBE_TLS_VARIABLES, strlen(GBE_TLS_VARIABLES), 0644,
				 GBE_WRITE_LATER, error) &&
	       gbe_write_file_at(fd, RECORD, record, strlen(record), 0600, GBE_WRITE_LATER,
				 error) &&
	       !GBE_FAULT("pki-filled", error) && gbe_sync_fs(fd, GBE_PKI_DIR, error);
}

static bool
discard(int place_fd, const char *name, GError **error)
{
	return gbe_remove_tree_at(place_fd, PARTIAL, error) &&
	       gbe_rename_new_at(place_fd, name, place_fd, PARTIAL, error) &&
	       gbe_sync_dir(place_fd, GBE_PKI_DIR, error) && !GBE_FAULT("pki-dropped", error) &&
	       gbe_remove_tree_at(place_fd, PARTIAL, error);
}

static bool
exists(int place_fd, const char *name)
{
	return faccessat(place_fd, name, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

/* Where a power cut falls: before the first rename .partial is swept; before the exchange .next is newer than live, and
 * dropped; after it .next is what was live before. */
static bool
make_live(int place_fd, GError **error)
{
	if (!exists(place_fd, LIVE))
		return gbe_rename_new_at(place_fd, PARTIAL, place_fd, LIVE, error) &&
		       gbe_sync_dir(place_fd, GBE_PKI_DIR, error);
	return gbe_rename_new_at(place_fd, PARTIAL, place_fd, NEXT, error) &&
	       gbe_sync_dir(place_fd, GBE_PKI_DIR, error) && !GBE_FAULT("pki-written", error) &&
	       gbe_exchange_at(place_fd, NEXT, place_fd, LIVE, error) &&
	       gbe_sync_dir(place_fd, GBE_PKI_DIR, error) && !GBE_FAULT("pki-exchanged", error);
}

bool
gbe_pki_put(GbeApp *app, GbePki *pki, GError **error)
{
	gbe_autofd int place_fd = -1;
	gbe_autofd int fd = -1;

	pki->record.sequence++;
	if (!gbe_app_open_pki(app, true, &place_fd, error) ||
	    !gbe_remove_tree_at(place_fd, PARTIAL, error))
		return false;
	if (mkdirat(place_fd, PARTIAL, 0700) < 0)
		return gbe_throw_errno(error, errno, "make a directory in " GBE_PKI_DIR);
	return (gbe_open_dir_at(place_fd, PARTIAL, &fd, error) &&
		write_files(app, fd, pki, error) && make_live(place_fd, error)) ||
	       gbe_prefix(error, GBE_PKI_DIR);
}

/* ---- what was live before ---- */

bool
gbe_pki_is_unproved(GbeApp *app, bool *ret_unproved, GError **error)
{
	g_auto(GbePkiRecord) live = {0}, next = {0};
	g_autoptr(GError) local = NULL;
	gbe_autofd int place_fd = -1;

	*ret_unproved = false;
	if (!gbe_app_open_pki(app, false, &place_fd, &local))
		return gbe_pass_unless(error, &local, GBE_ERROR_NOT_FOUND);
	if (!gbe_remove_tree_at(place_fd, PARTIAL, error))
		return false;
	if (!exists(place_fd, NEXT))
		return true;
	/* Before live is moved (app/backup/settings.c), what was live before it is removed. */
	if (!exists(place_fd, LIVE))
		return discard(place_fd, NEXT, error);
	if (!read_record(place_fd, LIVE, &live, error) ||
	    !read_record(place_fd, NEXT, &next, error))
		return false;
	*ret_unproved = next.sequence < live.sequence;
	return *ret_unproved || discard(place_fd, NEXT, error);
}

bool
gbe_pki_keep(GbeApp *app, GError **error)
{
	gbe_autofd int place_fd = -1;

	return gbe_app_open_pki(app, false, &place_fd, error) &&
	       (!exists(place_fd, NEXT) || discard(place_fd, NEXT, error));
}

bool
gbe_pki_put_back(GbeApp *app, GError **error)
{
	gbe_autofd int place_fd = -1;

	return gbe_app_open_pki(app, false, &place_fd, error) &&
	       gbe_exchange_at(place_fd, NEXT, place_fd, LIVE, error) &&
	       gbe_sync_dir(place_fd, GBE_PKI_DIR, error) && !GBE_FAULT("pki-put-back", error) &&
	       discard(place_fd, NEXT, error);
}

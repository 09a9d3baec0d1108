/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "certs/pki.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>

#include "app/certs/certs.h"
#include "app/health/certificates.h"
#include "base/fault.h"
#include "core/units/cluster-env.h"
#include "fs/exchange.h"
#include "fs/open.h"
#include "fs/sync.h"
#include "fs/tree.h"
#include "fs/write.h"
#include "sys/child.h"

#define LIVE "live"
#define NEXT ".next"
#define PARTIAL ".partial"
#define RECORD "record"
#define AUTHORITY "authority"
#define SEALED ".cred"
#define ROTATION "rotation: "
#define CREDS_PROGRAM "/usr/bin/systemd-creds"
#define CREDENTIAL "--name=greenboot-etcd-ca"
/* A TPM answers within seconds. */
#define CREDS_SECONDS 60

const char *const gbe_leaf_names[GBE_LEAVES] = {"server", "peer", "client"};

void
gbe_authority_clear(GbeAuthority *authority)
{
	g_clear_pointer(&authority->certificate, g_bytes_unref);
	g_clear_pointer(&authority->sealed, g_bytes_unref);
	g_clear_pointer(&authority->key, gbe_private_key_free);
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

/* *ret_bytes NULL: the file is missing. */
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

/* A leaf that cannot be read is made again; an authority cannot be. */
bool
gbe_pki_read(GbeApp *app, GbePki **ret_pki, GError **error)
{
	g_autoptr(GbePki) pki = g_new0(GbePki, 1);
	g_autoptr(GError) local = NULL;
	gbe_autofd int place_fd = -1;
	gbe_autofd int fd = -1;
	gbe_autofd int authority_fd = -1;

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
	if (!read_record(place_fd, LIVE, &pki->record, error) ||
	    !gbe_open_dir_at(fd, AUTHORITY, &authority_fd, error) ||
	    !read_authority(authority_fd, "ca", &pki->signer, error) ||
	    !read_authority(authority_fd, "other", &pki->other, error))
		return gbe_rethrow_if(error, GBE_ERROR_NOT_FOUND, GBE_ERROR_CORRUPT);
	for (guint i = 0; i < GBE_LEAVES; i++)
		if (!read_bytes(fd, gbe_leaf_names[i], ".crt", &pki->certificates[i], NULL) ||
		    !read_bytes(fd, gbe_leaf_names[i], ".key", &pki->keys[i], NULL))
			g_debug("%s is not readable", gbe_leaf_names[i]);
	if (pki->signer.certificate == NULL ||
	    (pki->signer.key == NULL && pki->signer.sealed == NULL))
		return gbe_throw(error, GBE_ERROR_CORRUPT,
				 GBE_PKI_LIVE "/" AUTHORITY " lacks the authority's %s",
				 pki->signer.certificate == NULL ? "certificate" : "key");
	*ret_pki = g_steal_pointer(&pki);
	return true;
}

/* ---- writing ---- */

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
	gbe_autofd int data_fd = -1;
	struct stat etcd = {0};
	bool by_group;

	/* etcd's user, from the owner of the data; root: no data yet. */
	if (gbe_open_in_root(app->root_fd, app->config->etcd.data_dir, O_PATH, &data_fd, NULL) &&
	    fstat(data_fd, &etcd) < 0)
		etcd = (struct stat){0};
	by_group = etcd.st_gid != 0;
	if (fchmod(fd, 0755) < 0 || mkdirat(fd, AUTHORITY, 0700) < 0)
		return gbe_throw_errno(error, errno, "make " AUTHORITY);
	if (!gbe_open_dir_at(fd, AUTHORITY, &authority_fd, error) ||
	    !write_authority(authority_fd, "ca", &pki->signer, error) ||
	    !write_authority(authority_fd, "other", &pki->other, error))
		return false;
	for (guint i = 0; i < GBE_LEAVES; i++) {
		g_autofree char *key = g_strconcat(gbe_leaf_names[i], ".key", NULL);

		if (!write_bytes(fd, gbe_leaf_names[i], ".crt", pki->certificates[i], 0644,
				 error) ||
		    !write_bytes(fd, gbe_leaf_names[i], ".key", pki->keys[i], 0600, error))
			return false;
		/* etcd's group may read the keys of the server and of the peer; its user, where that group is root's. */
		if (i != GBE_LEAF_CLIENT && (fchownat(fd, key, by_group ? (uid_t)-1 : etcd.st_uid,
						      etcd.st_gid, AT_SYMLINK_NOFOLLOW) < 0 ||
					     fchmodat(fd, key, by_group ? 0640 : 0600, 0) < 0))
			return gbe_throw_errno(error, errno, "let etcd read %s", key);
	}
	if (!write_bytes(fd, "ca", ".crt", bundle, 0644, error) ||
	    !gbe_write_file_at(fd, "etcd.env", GBE_TLS_VARIABLES, strlen(GBE_TLS_VARIABLES), 0644,
			       GBE_WRITE_LATER, error) ||
	    !gbe_write_file_at(fd, RECORD, record, strlen(record), 0600, GBE_WRITE_LATER, error))
		return false;
	return !GBE_FAULT("pki-filled", error) && gbe_sync_fs(fd, GBE_PKI_DIR, error);
}

static bool
discard_directory(int place_fd, const char *name, GError **error)
{
	if (!gbe_remove_tree_at(place_fd, PARTIAL, error) ||
	    !gbe_rename_new_at(place_fd, name, place_fd, PARTIAL, error))
		return false;
	return gbe_sync_dir(place_fd, GBE_PKI_DIR, error) && !GBE_FAULT("pki-dropped", error) &&
	       gbe_remove_tree_at(place_fd, PARTIAL, error);
}

static bool
is_there(int place_fd, const char *name)
{
	return faccessat(place_fd, name, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

/* A power cut before the first rename leaves .partial, which is swept. Before the exchange, .next is newer than live,
 * and dropped. After it, .next is the former directory. */
bool
gbe_pki_put(GbeApp *app, GbePki *pki, GError **error)
{
	gbe_autofd int place_fd = -1;
	gbe_autofd int fd = -1;
	bool first, ok;

	pki->record.sequence++;
	if (!gbe_app_open_pki(app, true, &place_fd, error) ||
	    !gbe_remove_tree_at(place_fd, PARTIAL, error))
		return false;
	if (mkdirat(place_fd, PARTIAL, 0700) < 0)
		return gbe_throw_errno(error, errno, "make a directory in " GBE_PKI_DIR);
	ok = gbe_open_dir_at(place_fd, PARTIAL, &fd, error) && write_files(app, fd, pki, error);
	first = !is_there(place_fd, LIVE);
	ok = ok && gbe_rename_new_at(place_fd, PARTIAL, place_fd, first ? LIVE : NEXT, error);
	ok = ok && gbe_sync_dir(place_fd, GBE_PKI_DIR, error);
	if (!first) {
		ok = ok && !GBE_FAULT("pki-written", error);
		ok = ok && gbe_exchange_at(place_fd, NEXT, place_fd, LIVE, error);
		ok = ok && gbe_sync_dir(place_fd, GBE_PKI_DIR, error);
		ok = ok && !GBE_FAULT("pki-exchanged", error);
	}
	return ok || gbe_prefix(error, GBE_PKI_DIR);
}

/* ---- the former directory ---- */

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
	if (!is_there(place_fd, NEXT))
		return true;
	/* Remove the former directory before live is moved (app/backup/settings.c). */
	if (!is_there(place_fd, LIVE))
		return discard_directory(place_fd, NEXT, error);
	if (!read_record(place_fd, LIVE, &live, error) ||
	    !read_record(place_fd, NEXT, &next, error))
		return false;
	*ret_unproved = next.sequence < live.sequence;
	return *ret_unproved || discard_directory(place_fd, NEXT, error);
}

bool
gbe_pki_keep(GbeApp *app, GError **error)
{
	gbe_autofd int place_fd = -1;

	return gbe_app_open_pki(app, false, &place_fd, error) &&
	       (!is_there(place_fd, NEXT) || discard_directory(place_fd, NEXT, error));
}

bool
gbe_pki_put_back(GbeApp *app, GError **error)
{
	gbe_autofd int place_fd = -1;

	if (!gbe_app_open_pki(app, false, &place_fd, error) ||
	    !gbe_exchange_at(place_fd, NEXT, place_fd, LIVE, error))
		return false;
	return gbe_sync_dir(place_fd, GBE_PKI_DIR, error) && !GBE_FAULT("pki-put-back", error) &&
	       discard_directory(place_fd, NEXT, error);
}

/* ---- a key that only this machine can open ---- */

/* Runs systemd-creds as a filter of @in. The files are in memory alone. */
static bool
run_creds(GbeApp *app, const char *const *argv, GBytes *in, GBytes **ret_out, GError **error)
{
	g_auto(GbeChild) child = {0};
	gbe_autofd int program_fd = -1;
	gbe_autofd int in_fd = memfd_create("in", MFD_CLOEXEC);
	gbe_autofd int out_fd = memfd_create("out", MFD_CLOEXEC);
	const GbeChildStreams streams = {in_fd, out_fd, in_fd};
	g_autofree char *bytes = g_malloc0(GBE_CERTS_FILE_MAX);
	gsize size = in != NULL ? g_bytes_get_size(in) : 0;
	ssize_t n;

	if (in_fd < 0 || out_fd < 0)
		return gbe_throw_errno(error, errno, "make a file in memory");
	if (size > 0 && pwrite(in_fd, g_bytes_get_data(in, NULL), size, 0) != (ssize_t)size)
		return gbe_throw_errno(error, errno, "write a file in memory");
	if (!gbe_open_in_root(app->root_fd, CREDS_PROGRAM, O_RDONLY, &program_fd, NULL))
		return gbe_throw(error, GBE_ERROR_REFUSED,
				 "there is no " CREDS_PROGRAM ", which seals keys and opens them");
	if (!gbe_child_start_filter(program_fd, argv, &streams, &child, error) ||
	    !gbe_child_wait(&child, CREDS_SECONDS, error))
		return false;
	if (ret_out == NULL)
		return true;
	n = pread(out_fd, bytes, GBE_CERTS_FILE_MAX, 0);
	if (n <= 0)
		return gbe_throw_errno(error, errno, "read what systemd-creds printed");
	*ret_out = g_bytes_new(bytes, (gsize)n);
	explicit_bzero(bytes, (gsize)n);
	return true;
}

bool
gbe_seal_is_there(GbeApp *app)
{
	static const char *const argv[] = {"systemd-creds", "has-tpm2", NULL};

	return !app->below_root && run_creds(app, argv, NULL, NULL, NULL);
}

bool
gbe_seal(GbeApp *app, GbePrivateKey *key, GBytes **ret_sealed, GError **error)
{
	/* Values of PCRs change with firmware and kernels: no update, and no rollback, may lock the key away. */
	static const char *const argv[] = {
	    "systemd-creds", "encrypt", CREDENTIAL, "--with-key=auto",
	    "--tpm2-pcrs=",  "-",	"-",	    NULL};

	if (app->below_root)
		return gbe_throw(error, GBE_ERROR_REFUSED,
				 "below --root no key is sealed: another machine will have to open "
				 "it");
	return run_creds(app, argv, key, ret_sealed, error) || gbe_prefix(error, "seal the key");
}

bool
gbe_unseal(GbeApp *app, GbeAuthority *authority, GError **error)
{
	static const char *const argv[] = {"systemd-creds", "decrypt", CREDENTIAL, "-", "-", NULL};

	if (authority->key != NULL || authority->sealed == NULL)
		return true;
	return run_creds(app, argv, authority->sealed, &authority->key, error) ||
	       gbe_prefix(error, "open the authority's sealed key");
}

/* ---- the token ---- */

bool
gbe_authority_equal(const GbeAuthority *one, const GbeAuthority *other)
{
	return one->certificate != NULL && other->certificate != NULL &&
	       g_bytes_equal(one->certificate, other->certificate);
}

/* The first private key in @text, as PEM; NULL: it has none. */
static const char *
find_key(const char *text, gsize size, gsize *ret_length)
{
	const char *end = text + size, *begin = text;

	while ((begin = g_strstr_len(begin, end - begin, "-----BEGIN ")) != NULL) {
		const char *last = g_strstr_len(begin, end - begin, "-----END ");
		const char *next = last != NULL ? memchr(last, '\n', (gsize)(end - last)) : NULL;

		if (last == NULL)
			return NULL;
		next = next != NULL ? next + 1 : end;
		if (g_strstr_len(last, next - last, "PRIVATE KEY") != NULL) {
			*ret_length = (gsize)(next - begin);
			return begin;
		}
		begin = next;
	}
	return NULL;
}

/* The file of the key may also hold certificates. */
static bool
append_authority(GbeApp *app, GByteArray *to, GbeAuthority *authority, GError **error)
{
	const char *text, *key;
	gsize size = 0, length = 0;

	if (!gbe_unseal(app, authority, error))
		return false;
	text = g_bytes_get_data(authority->key, &size);
	key = find_key(text, size, &length);
	if (key == NULL)
		return gbe_throw(error, GBE_ERROR_CORRUPT,
				 GBE_PKI_LIVE "/authority has no private key");
	g_byte_array_append(to, g_bytes_get_data(authority->certificate, NULL),
			    (guint)g_bytes_get_size(authority->certificate));
	g_byte_array_append(to, (const guint8 *)key, (guint)length);
	if (key[length - 1] != '\n')
		g_byte_array_append(to, (const guint8 *)"\n", 1);
	return true;
}

bool
gbe_token_write(GbeApp *app, const char *path, GError **error)
{
	g_autoptr(GbePki) pki = NULL;
	g_autoptr(GbePrivateKey) token = NULL;
	GByteArray *bytes = g_byte_array_new();
	bool ok;

	ok = gbe_pki_read(app, &pki, error) &&
	     (pki != NULL || gbe_throw(error, GBE_ERROR_NOT_FOUND,
				       "the authority is missing in " GBE_PKI_LIVE
				       "; run `greenboot-etcd cluster init`"));
	if (ok && pki->record.rotation != GBE_ROTATION_NONE) {
		g_autofree char *line = g_strdup_printf(
		    ROTATION "%s\n", gbe_words_get(&gbe_rotation_words, pki->record.rotation));

		g_byte_array_append(bytes, (const guint8 *)line, (guint)strlen(line));
	}
	ok = ok && append_authority(app, bytes, &pki->signer, error) &&
	     (pki->record.rotation == GBE_ROTATION_NONE ||
	      append_authority(app, bytes, &pki->other, error));
	token = g_byte_array_free_to_bytes(bytes);
	return ok && gbe_certs_write_file(app, token, path, error);
}

/* @key: the private key of the authority that @text begins with. */
static bool
take_authority(const char *text, gsize size, const char *key, gsize length, const char *path,
	       GbeAuthority *authority, GError **error)
{
	g_autoptr(GbePrivateKey) all = g_bytes_new(text, size);
	g_autoptr(GbePrivateKey) one = g_bytes_new(key, length);
	g_autoptr(GbeIssuer) issuer = NULL;

	if (!gbe_issuer_open(all, one, path, &issuer, error))
		return false;
	authority->certificate = g_bytes_ref(issuer->chain);
	authority->key = g_steal_pointer(&one);
	return true;
}

bool
gbe_token_read(GbeApp *app, const char *path, GbePki *ret_pki, GError **error)
{
	g_autoptr(GbePrivateKey) token = NULL;
	const char *text, *key, *rest, *other;
	gsize size = 0, length = 0;

	if (!gbe_certs_read_file(app, path, true, &token, error))
		return false;
	text = g_bytes_get_data(token, &size);
	key = find_key(text, size, &length);
	if (key == NULL)
		return gbe_throw(error, GBE_ERROR_REFUSED,
				 "%s has no private key, so this file is not a token; run "
				 "`greenboot-etcd cluster token FILE` on a member",
				 path);
	if (!g_str_has_prefix(text, ROTATION))
		return take_authority(text, size, key, length, path, &ret_pki->signer, error);
	rest = key + length;
	if (!take_authority(text, (gsize)(rest - text), key, length, path, &ret_pki->signer, error))
		return false;
	size -= (gsize)(rest - text);
	other = find_key(rest, size, &length);
	if (other == NULL)
		return gbe_throw(error, GBE_ERROR_REFUSED,
				 "%s is cut off: its second key is missing", path);
	ret_pki->record.rotation = g_str_has_prefix(text, ROTATION "reissued\n")
				       ? GBE_ROTATION_REISSUED
				       : GBE_ROTATION_TRUSTED;
	return take_authority(rest, size, other, length, path, &ret_pki->other, error);
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The certificates that this program makes: one directory, which is replaced as a whole. Every change makes a complete,
 * durable directory next to it and exchanges the two. A power cut leaves the old one or the new one. The old one stays
 * until etcd was healthy with the new one. The directory is in /var, because a rollback must not bring back an expired
 * certificate. Callers that change the directory hold the program's lock.
 */
#pragma once

#include "app/device/context.h"
#include "certs/core/pki-record.h"
#include "certs/issue.h"
#include "core/config/lists.h"

/*
 *   /var/lib/greenboot-etcd-pki/     root's
 *     live/                          what etcd and the clients on this device use
 *       record                       certs/core/pki-record.h
 *       ca.crt                       the authorities that are trusted
 *       server.crt server.key        (a key's group, or user, is that of etcd's data)
 *       peer.crt peer.key
 *       client.crt client.key        root's; for this program, etcdctl and their like
 *       etcd.env                     the variables that tell etcd of them
 *       authority/                   0700
 *         ca.crt ca.key              the authority that signs; sealed: ca.key.cred
 *         other.crt other.key        from a rotation: the next authority, or the former one
 *     .next/                         complete. Newer than live: a change that did not come to its exchange. Older: what
 *                                    was live before, until its successor is proved or moved
 *     .partial/                      being made, or removed; swept
 *     of-<cluster>-<member>/         what was live with that member's data (app/backup/settings.h)
 *     ownerless-<number>/            the same, where no member was known
 */
typedef enum { GBE_LEAF_SERVER, GBE_LEAF_PEER, GBE_LEAF_CLIENT, GBE_LEAVES } GbeLeafName;

typedef struct {
	GBytes *certificate; /* NULL: this authority is missing */
	GbePrivateKey *key;  /* NULL: sealed, and not opened yet */
	GBytes *sealed;	     /* NULL: not sealed */
} GbeAuthority;

typedef struct {
	GbePkiRecord record;
	GbeAuthority signer, other;
	GBytes *certificates[GBE_LEAVES]; /* NULL: missing */
	GbePrivateKey *keys[GBE_LEAVES];
} GbePki;

void gbe_pki_free(GbePki *pki);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(GbePki, gbe_pki_free)
void gbe_authority_clear(GbeAuthority *authority);

/* The names of the leaves' files, without their suffix: server peer client. */
extern const char *const gbe_leaf_names[GBE_LEAVES];

/* The trusted authorities. */
GBytes *gbe_pki_bundle(const GbePki *pki);

/* Reads live/. *ret_pki NULL: live/ is missing. A missing or too large leaf is NULL. GBE_ERROR_CORRUPT: the record or
 * the authority is damaged; _UNSAFE_SOURCE: other users have access to the directory. */
bool gbe_pki_read(GbeApp *app, GbePki **ret_pki, GError **error) GBE_CHECKED;
/* Writes @pki, whose record gets the next sequence number, and makes it live. The directory that was live is kept. */
bool gbe_pki_put(GbeApp *app, GbePki *pki, GError **error) GBE_CHECKED;

/* Is the former directory still kept? Sweeps an unfinished change or removal. */
bool gbe_pki_is_unproved(GbeApp *app, bool *ret_unproved, GError **error) GBE_CHECKED;
/* Removes the former directory. */
bool gbe_pki_keep(GbeApp *app, GError **error) GBE_CHECKED;
/* Makes the former directory live again, and removes the present one. */
bool gbe_pki_put_back(GbeApp *app, GError **error) GBE_CHECKED;

/* The sorted names and addresses for server and peer certificates. They are this machine's, those of [etcd] endpoint
 * and peer-urls, a cluster member's advertised ones, and [certs] names. Below --root the machine has none. Newly
 * allocated. */
char **gbe_pki_hosts(GbeApp *app);
/* Does the machine have a TPM? A key that it seals cannot be opened with the disk alone. */
bool gbe_seal_is_there(GbeApp *app);
/* Both run systemd-creds. Sealed to the TPM where there is one, else to systemd's host key; to no PCR, which an update
 * would change. */
bool gbe_seal(GbeApp *app, GbePrivateKey *key, GBytes **ret_sealed, GError **error) GBE_CHECKED;
/* Opens the key of @authority where it is sealed and not opened yet. */
bool gbe_unseal(GbeApp *app, GbeAuthority *authority, GError **error) GBE_CHECKED;

/* The token of `cluster token`: a cluster's authority with its key, as PEM. During a rotation, a line "rotation: trusted"
 * or "rotation: reissued" comes first, and the other authority with its key follows. */
/* Writes a new file, 0600: its holder can issue certificates. */
bool gbe_token_write(GbeApp *app, const char *path, GError **error) GBE_CHECKED;
/* Sets the authorities and the rotation of @ret_pki. GBE_ERROR_NOT_FOUND: no such file; _REFUSED: it is not a token, or
 * other users have access to it. */
bool gbe_token_read(GbeApp *app, const char *path, GbePki *ret_pki, GError **error) GBE_CHECKED;
/* Are both the same authority? */
bool gbe_authority_equal(const GbeAuthority *one, const GbeAuthority *other);

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Lists every certificate and private key below [certs] directories, and what is wrong with each. Follows no symlink
 * inside those directories, waits for no FIFO, changes nothing. It looks at GBE_CERTS_MAX files, certificates and
 * keys at most, and says when there are more.
 */
#pragma once

#include "app/device/context.h"
#include "core/health/health.h"
#include "core/tri.h"
#include "etcd/tls/pem.h"

#include <sys/types.h>

#define GBE_CERTS_MAX 4096		 /* files, and certificates and keys in them */
#define GBE_CERTS_FILE_MAX (1024 * 1024) /* bytes; bundles of CAs are some hundred KiB */

typedef enum {
	GBE_CHAIN_SELF_SIGNED,
	GBE_CHAIN_SIGNED,  /* by a CA found here: ->ca */
	GBE_CHAIN_WRONG,   /* a CA found here has the issuer's name, but did not sign it */
	GBE_CHAIN_UNKNOWN, /* no CA of the issuer's name was found */
} GbeChain;

typedef struct GbeCert GbeCert;
struct GbeCert {
	char *path;
	GbePem *pem;	/* never GBE_PEM_DAMAGED: such a file is in ->unread */
	guint position; /* in the file, from 1 */
	mode_t mode;	/* without the type */
	uid_t owner;
	gid_t group;
	/* Of certificates. */
	const GbeCert *key, *ca; /* among the others; NULL: not found */
	GbeChain chain;
	GbeTri endpoint; /* does it have the endpoint's name? Unknown when it is no server's */
	bool dated;	 /* its end and the time are known */
	gint64 seconds_left;
	bool soon; /* less than cert-warn= is left, or it has expired */
	/* Of keys: the certificate. */
	const GbeCert *certificate;
	char *problem; /* the problem that a person must solve; NULL */
};

typedef struct {
	char *path; /* of a directory or a file */
	char *why;
} GbeCertUnread;

typedef struct {
	GPtrArray *certs;  /* of GbeCert, by directory and name */
	GPtrArray *unread; /* of GbeCertUnread */
	guint directories; /* configured */
	guint files;	   /* seen */
	bool truncated;
} GbeCerts;

/* ->unread has what could not be read. Fails only when the configuration does. */
bool gbe_certs_look(GbeApp *app, GbeCerts **ret_certs, GError **error) GBE_CHECKED;
void gbe_certs_free(GbeCerts *certs);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(GbeCerts, gbe_certs_free)

/* Adds the expiry of the certificates below [certs] directories to the health facts; nothing when none are
 * configured. */
void gbe_certs_add_to_health(GbeApp *app, GbeHealthFacts *facts);

const char *gbe_chain_to_string(GbeChain chain); /* self-signed signed wrong unknown */

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Every certificate and private key below [certs] directories, and what is wrong with them. Read below each
 * directory without following a symlink and without waiting for a FIFO; changes nothing. Bounded: what lies
 * beyond GBE_CERTS_MAX is not looked at, and that is said.
 */
#pragma once

#include "app/context.h"
#include "core/health.h"
#include "core/tri.h"
#include "etcd/pem.h"

#include <sys/types.h>

#define GBE_CERTS_MAX 4096		 /* files, and certificates and keys in them */
#define GBE_CERTS_FILE_MAX (1024 * 1024) /* bytes; bundles of CAs are some hundred KiB */

typedef enum {
	GBE_CHAIN_SELF_SIGNED,
	GBE_CHAIN_SIGNED,  /* by a CA found here: ->ca */
	GBE_CHAIN_WRONG,   /* one here has the issuer's name, and has not signed it */
	GBE_CHAIN_UNKNOWN, /* no CA of that name is here */
} GbeChain;

typedef struct GbeCert GbeCert;
struct GbeCert {
	char *path;
	GbePem *pem;	/* never GBE_PEM_DAMAGED: that is unread */
	guint position; /* in the file, from 1 */
	mode_t mode;	/* without the type */
	uid_t owner;
	gid_t group;
	/* Of certificates. */
	const GbeCert *key, *ca; /* among the others; NULL: not here */
	GbeChain chain;
	GbeTri endpoint; /* is the endpoint's name in it? Unknown where it is no server's */
	gint64 seconds_left;
	gboolean soon; /* less than cert-warn= is left, or nothing */
	/* Of keys: the certificate. */
	const GbeCert *certificate;
	char *problem; /* what a person has to see to; NULL */
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
	gboolean truncated;
} GbeCerts;

/* What could not be read is in ->unread; fails where the configuration does only. */
bool gbe_certs_look(GbeApp *app, GbeCerts **ret_certs, GError **error) GBE_CHECKED;
void gbe_certs_free(GbeCerts *certs);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(GbeCerts, gbe_certs_free)

/* When the files below [certs] directories end, for who looks at etcd's health; nothing where none are configured. */
void gbe_certs_add_to_health(GbeApp *app, GbeHealthFacts *facts);

const char *gbe_chain_to_string(GbeChain chain); /* self-signed signed wrong unknown */

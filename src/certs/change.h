/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The verbs that change the certificates made here (pki.h): init, renew, rotate-ca. Each makes one new directory, makes
 * it live, and checks the health of etcd. If etcd was healthy before and is not now, the old directory is put back.
 * After a kill or a power cut, the next of these verbs first finishes that look. Implemented in change.c, leaves.c,
 * rotate.c, command.c.
 */
#pragma once

#include "app/certs/archive.h"
#include "app/device/change.h"
#include "certs/pki.h"
#include "core/tri.h"

#define GBE_AUTHORITY_VALIDITY (G_GUINT64_CONSTANT(3650) * 24 * 3600)

typedef struct {
	bool dry_run, force, undo;
	guint64 timeout;  /* seconds for etcd to become healthy */
	guint64 validity; /* seconds, of a new authority; 0: GBE_AUTHORITY_VALIDITY */
	/* init, rotate-ca: the files of an existing authority; NULL: a new one is made. */
	const char *ca_cert, *ca_key;
	/* init, rotate-ca: the file of `cluster token` on another member; NULL: none. */
	const char *token;
	bool seal; /* init: seal the key even without a TPM */
} GbePkiOptions;

typedef struct {
	GbePki *pki;	/* as it is now, with dry_run as it would be; NULL: none is made here */
	bool done;	/* something was changed, and stays so */
	bool put_back;	/* etcd was unhealthy with the change, and the old certificates are back */
	GbeTri healthy; /* etcd, with the present files; UNKNOWN: it does not run, or no change */
	char *reason;	/* of the change, made or planned, or of the way back; NULL */
	bool restarted; /* etcd was restarted, or has to be */
	GPtrArray *notes; /* of char * */
} GbePkiResult;

GbePkiResult *gbe_pki_result_new(void);
void gbe_pki_result_free(GbePkiResult *result);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(GbePkiResult, gbe_pki_result_free)

typedef enum {
	GBE_PKI_INIT,
	GBE_PKI_RENEW, /* replaces the leaves if one is due (certs/core/renewal.h), or with force */
	/* The same by the program of [certs] renew-command, for the certificates in [certs] directories. */
	GBE_PKI_RENEW_BY_COMMAND,
	GBE_PKI_ROTATE, /* one step towards a new authority, or with undo one step back */
} GbePkiVerb;

/* Needs root. @result is also filled in on failure. GBE_ERROR_REFUSED: unsafe, and the message names the remedy;
 * _NOT_FOUND: no certificates are made here; _FAILED: the old ones were put back, and etcd is healthy;
 * _VERIFY_FAILED: they were put back, but etcd is unhealthy; _PARTIAL: they could not be put back, and the next call
 * retries. */
bool gbe_pki_change(GbeApp *app, GbePkiVerb verb, const GbePkiOptions *options,
		    GbePkiResult *result, GError **error) GBE_CHECKED;

/* ---- for these verbs ---- */

typedef struct {
	GbeChange change;
	const GbePkiOptions *options;
	GbePkiResult *result;
	bool running;	/* etcd's service is active, or on its way there or away from it */
	bool failed;	/* etcd's service has failed */
	bool unproved;	/* the former directory is kept until etcd is healthy with the live one */
	bool unwell;	/* etcd was healthy before, and is not with the new certificates */
	bool restart;	/* etcd has to be restarted for result->pki */
	guint members;	/* of its cluster, as far as they were listed */
	char *with_old; /* why etcd is unhealthy with the old certificates, which were put back */
	/* By a command: */
	GbeTri before; /* etcd's health before it */
	char **directories;
	GbeCertsArchive *archive; /* what @directories had */
} GbePkiChange;

extern const GbeStep gbe_pki_command_steps[], gbe_pki_rotate_steps[];

#define GBE_PKI_MISSING                                                                            \
	"certificates are missing in " GBE_PKI_LIVE "; run `greenboot-etcd certs init`"

/* Is etcd healthy? Looks for @seconds at most. UNKNOWN: the service does not run, or the reason is in *ret_why. */
GbeTri gbe_pki_change_look(const GbePkiChange *change, guint64 seconds, char **ret_why);

/* Steps: fills in @change and reads result->pki; finishes what an earlier change left. */
bool gbe_pki_look(gpointer change, GError **error) GBE_CHECKED;
/* Makes result->pki live. */
bool gbe_pki_replace(gpointer change, GError **error) GBE_CHECKED;
/* Is etcd healthy with the live certificates? Its undo puts back the former ones. */
bool gbe_pki_prove(gpointer change, GError **error) GBE_CHECKED;
bool gbe_pki_unprove(gpointer change, GError **error) GBE_CHECKED;

/* Makes the authority, or reads the files of the options' one. */
bool gbe_pki_make_authority(const GbePkiChange *change, GbeAuthority *authority,
			    GError **error) GBE_CHECKED;
/* Seals the key, if there is one, where that is asked for or the machine has a TPM. */
bool gbe_pki_seal(const GbePkiChange *change, GbeAuthority *authority, GError **error) GBE_CHECKED;
/* Issues new leaf certificates, all of them, by ->signer. */
bool gbe_pki_issue_leaves(GbeApp *app, GbePki *pki, GError **error) GBE_CHECKED;
/* Why a leaf has to be replaced, with its name before it. Newly allocated; NULL: none has to be. *ret_renew_at (may
 * be NULL): when the first one will have to be; -1: unknown. */
char *gbe_pki_due(GbeApp *app, const GbePki *pki, gint64 *ret_renew_at);
/* GBE_ERROR_REFUSED: the clock is slow, so due certificates cannot be recognized. */
bool gbe_pki_check_clock(const GbePki *pki, GError **error) GBE_CHECKED;

/* ---- `certs issue` and `certs sign`: for another machine, by this device's authority. No list is kept. ---- */

typedef struct {
	GBytes *certificate;
	char *certificate_path, *key_path; /* of issue */
	gint64 not_after;
} GbeOthersResult;

void gbe_others_result_clear(GbeOthersResult *result);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(GbeOthersResult, gbe_others_result_clear)

/* Both set the times of @order, by its ->validity. */
/* Writes NAME.key and NAME.crt (0600) in @directory, the caller's, and replaces none. GBE_ERROR_NOT_FOUND: no
 * certificates are made here; _USAGE: not a name. */
bool gbe_others_issue(GbeApp *app, GbeCertOrder *order, const char *directory,
		      GbeOthersResult *ret_result, GError **error) GBE_CHECKED;
/* For the request in the file @path. */
bool gbe_others_sign(GbeApp *app, GbeCertOrder *order, const char *path,
		     GbeOthersResult *ret_result, GError **error) GBE_CHECKED;

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* `certs issue` and `certs sign`: certificates by this device's authority for somebody else. No list is kept. */
#pragma once

#include "certs/pki.h"

typedef struct {
	const char *name; /* issue: the subject, and the files' name */
	GbeCertUse use;
	char *const *hosts; /* NULL-terminated; NULL: none, or those of the request */
	guint64 validity;   /* seconds */
} GbeOthersOrder;

typedef struct {
	GBytes *certificate;
	char *certificate_path, *key_path; /* of issue */
	gint64 not_after;
} GbeOthersResult;

void gbe_others_result_clear(GbeOthersResult *result);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(GbeOthersResult, gbe_others_result_clear)

/* Writes NAME.key and NAME.crt (0600) in @directory, the caller's, and replaces none. GBE_ERROR_NOT_FOUND: no
 * certificates are made here; _USAGE: not a name. */
bool gbe_others_issue(GbeApp *app, const GbeOthersOrder *order, const char *directory,
		      GbeOthersResult *ret_result, GError **error) GBE_CHECKED;
/* For the request in the file @path. */
bool gbe_others_sign(GbeApp *app, const GbeOthersOrder *order, const char *path,
		     GbeOthersResult *ret_result, GError **error) GBE_CHECKED;

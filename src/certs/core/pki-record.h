/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The record in a directory of certificates that this program has made (certs/pki.h). A sealed file. */
#pragma once

#include "base/auto.h"
#include "base/error.h"
#include "core/tri.h"
#include "core/words.h"

#include <json-glib/json-glib.h>

/* The state of a rotation of the authority. */
typedef enum {
	GBE_ROTATION_NONE,     /* one authority is trusted, and signs */
	GBE_ROTATION_TRUSTED,  /* the next one is also trusted, but does not sign yet */
	GBE_ROTATION_REISSUED, /* it has signed the certificates; the former one is still trusted */
} GbeRotation;

extern const GbeWords gbe_rotation_words; /* none trusted reissued */

typedef struct {
	guint64 sequence; /* of two directories, the one with the higher number is newer */
	char *made_by;	  /* "certs renew" */
	gint64 made_at;
	GbeRotation rotation;
	bool restart;	    /* the authorities have changed, which etcd reads only when it starts */
	GbeTri was_healthy; /* etcd, before this directory got its name; UNKNOWN: it did not run */
	bool was_taken;	    /* by most members with a vote: the certificates of then */
} GbePkiRecord;

void gbe_pki_record_clear(GbePkiRecord *record);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(GbePkiRecord, gbe_pki_record_clear)
/* GBE_ERROR_CORRUPT. */
bool gbe_pki_record_read(const char *bytes, gsize size, const char *what, GbePkiRecord *ret_record,
			 GError **error) GBE_CHECKED;
/* Newly allocated, sealed. */
char *gbe_pki_record_print(const GbePkiRecord *record);

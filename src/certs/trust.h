/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Asks members of a cluster by new TLS connections whether they take certificates. These need not be on the disk: libcurl
 * reads them from memory. Changes nothing.
 */
#pragma once

#include "certs/pki.h"

typedef struct {
	guint members; /* this one among them */
	guint voters;
	guint taken;   /* voters that take the certificates */
	char *refusal; /* the first member that is not known to take them, and why; NULL: all do */
} GbeTrust;

void gbe_trust_clear(GbeTrust *trust);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(GbeTrust, gbe_trust_clear)

/* Would each member accept a connection with @pki's certificates, and show one that @pki trusts? Peer and client
 * addresses are asked for @seconds each, also those of this member. With one member, no address is asked.
 * GBE_ERROR_CANNOT_TELL: the configured etcd does not list the members. */
bool gbe_trust_ask(GbeApp *app, const GbePki *pki, guint64 seconds, GbeTrust *ret_trust,
		   GError **error) GBE_CHECKED;
/* Does the member that answers clients at @url list the members to @pki's client? GBE_ERROR_CANNOT_TELL: no. */
bool gbe_trust_check_cluster(GbeApp *app, const GbePki *pki, const char *url,
			     GError **error) GBE_CHECKED;

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The verb certs, in two files: verb-certs.c works on certificates wherever they come from, verb-certs-make.c on those
 * that this program makes. */
#pragma once

#include "cli/verb.h"

typedef struct {
	gboolean undo, dry_run, force, seal, client, server, peer;
	char *timeout, *ca_cert, *ca_key, *token, *valid, *out;
	char **hosts;
} GbeCertsArguments;

extern GbeCertsArguments gbe_certs_arguments;

#define GBE_CERTS_TIMEOUT_MOST 86400

/* One of init, renew, rotate-ca, issue, sign; @argument as the usage line has it. */
bool gbe_certs_verb_init(GbeCli *cli, const char *argument, GError **error);
bool gbe_certs_verb_renew(GbeCli *cli, const char *argument, GError **error);
bool gbe_certs_verb_rotate(GbeCli *cli, const char *argument, GError **error);
bool gbe_certs_verb_issue(GbeCli *cli, const char *argument, GError **error);
bool gbe_certs_verb_sign(GbeCli *cli, const char *argument, GError **error);
/* The authority here; NULL: there is none. One that cannot be read is complained of. Not root: it cannot be read. */
JsonObject *gbe_certs_authority_json(GbeCli *cli);
void gbe_certs_print_authority(GbeCli *cli);

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A deployment's name as ostree and MicroShift write it: "<stateroot>-<checksum>.<serial>". The
 * checksum has 64 lower-case hex digits, so that the text is parsed from its end and a stateroot may
 * hold '-', '_' and '.'. The serial is decimal without leading zeros. Compared exactly, never by
 * prefix: ".1" is not ".10" (peers.md M7).
 *
 * A GbeDeployment is the name plus, where the kernel gave one, the file handle of the deployment's
 * directory: ostree gives a serial out again once its directory is gone, and then the handle is
 * another one.
 */
#pragma once

#include "base/auto.h"
#include "base/error.h"
#include "core/tri.h"

#include <glib.h>

#define GBE_CHECKSUM_LEN 64

typedef struct {
	char *id;     /* NULL: not known */
	char *handle; /* "<file system>:<hex of name_to_handle_at>"; NULL: not known */
} GbeDeployment;

/* True when @id is well-formed (stateroot not empty, no '/' or control character, 255 bytes at
 * most); the out parameters may be NULL. @ret_checksum points into @id. */
bool gbe_deployment_id_parse(const char *id, char **ret_stateroot, const char **ret_checksum,
			     guint *ret_serial);
/* Newly allocated. */
char *gbe_deployment_id_format(const char *stateroot, const char *checksum, guint serial);
/* For people: the checksum cut to 12 digits. Newly allocated; @id itself where it does not parse. */
char *gbe_deployment_id_short(const char *id);

/* The same deployment: ids equal and, where they can be compared, handles equal. False when an id is
 * NULL. */
bool gbe_deployment_same(const GbeDeployment *a, const GbeDeployment *b);
/* By their handles, which say it for certain on one file system; unknown where they cannot be compared. */
GbeTri gbe_deployment_same_directory(const GbeDeployment *a, const GbeDeployment *b);
/* Equal checksum, whatever stateroot and serial: the same commit. */
bool gbe_deployment_same_commit(const char *id_a, const char *id_b);

void gbe_deployment_copy(GbeDeployment *to, const GbeDeployment *from);
void gbe_deployment_clear(GbeDeployment *deployment);

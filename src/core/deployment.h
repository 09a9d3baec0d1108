/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A deployment: its id as ostree and MicroShift write it, "<stateroot>-<checksum>.<serial>", plus the file
 * handle of its directory where the kernel gave one. ostree gives a serial out again once its directory is
 * gone; the handle is then another one. Ids are compared exactly, never by prefix: ".1" is not ".10"
 * (peers.md M7).
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

/* The checksum has 64 lower-case hex digits, so the text is parsed from its end and a stateroot may hold '-', '_' and
 * '.'. The serial is decimal without leading zeros. True when @id is well-formed (stateroot not empty, no '/' or
 * control character, 255 bytes at most). The out parameters may be NULL. @ret_checksum points into @id. */
bool gbe_deployment_id_parse(const char *id, char **ret_stateroot, const char **ret_checksum,
			     guint *ret_serial);
/* Newly allocated. */
char *gbe_deployment_id_format(const char *stateroot, const char *checksum, guint serial);
/* For people: the checksum cut to 12 digits. Newly allocated. A copy of @id where it does not parse. */
char *gbe_deployment_id_short(const char *id);

/* True for the same deployment: equal ids and, where handles can be compared, equal handles. False when an id is
 * NULL. */
bool gbe_deployment_same(const GbeDeployment *a, const GbeDeployment *b);
/* Compares by handles, which are certain on one file system. GBE_UNKNOWN where they cannot be compared. */
GbeTri gbe_deployment_same_directory(const GbeDeployment *a, const GbeDeployment *b);
/* True for equal checksums: the same commit, whatever stateroot and serial. */
bool gbe_deployment_same_commit(const char *id_a, const char *id_b);

void gbe_deployment_copy(GbeDeployment *to, const GbeDeployment *from);
void gbe_deployment_clear(GbeDeployment *deployment);

/* One entry of ostree's list of deployments, as data: src/sys/deployment/deployments.h fills it; the decision reads it. */
typedef struct {
	GbeDeployment ref;
	guint index; /* in ostree's boot order; a staged deployment comes first */
	bool booted, staged, rollback, pinned;
	bool is_default; /* the first that is not staged: a plain boot takes it */
	bool locked;	 /* staged, and locked against finalization */
	/* "development", "hotfix" or "transient": its /usr can be written to, so its id does not say what runs. NULL: it
	 * is not unlocked. */
	char *unlocked;
	GbeTri has_program; /* its tree carries libexec/greenboot-etcd/prerun */
	gint64 timestamp;   /* of the commit; a label, and the only hint of age */
	char *version;	    /* as people know it; a label. NULL: unknown */
} GbeListed;

void gbe_listed_free(GbeListed *listed);

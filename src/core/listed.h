/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* One entry of ostree's list of deployments, as data. src/sys/deployment/deployments.h fills it; the decision reads it. */
#pragma once

#include "core/deployment.h"
#include "core/tri.h"

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
} GbeListed;

void gbe_listed_free(GbeListed *listed);

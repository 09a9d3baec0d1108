/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* One entry of ostree's list of deployments, as data: filled by src/sys/deployments.h, read by the
 * decision. */
#pragma once

#include "core/deployment.h"
#include "core/tri.h"

typedef struct {
	GbeDeployment ref;
	guint index; /* in ostree's boot order; a staged one comes first */
	gboolean booted, staged, rollback, pinned;
	gboolean
	    is_default; /* what a boot without anybody's doing takes: the first that is not staged */
	gboolean locked; /* staged, and locked against finalization */
	/* "development", "hotfix" or "transient": its /usr can be written, so that its id does not tell what
	 * runs. NULL: it is not. */
	char *unlocked;
	GbeTri has_program; /* its tree carries libexec/greenboot-etcd/prerun */
	gint64 timestamp;   /* of the commit; a label, and the only hint of which is older */
} GbeListed;

void gbe_listed_free(GbeListed *listed);

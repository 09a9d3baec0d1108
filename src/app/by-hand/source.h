/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The backup that a person means, and the reasons not to restore it. The backup's data is not read. */
#pragma once

#include "app/by-hand/by-hand.h"
#include "app/by-hand/session.h"

/* Finds the backup that @options mean now. It belongs to @observed. */
bool gbe_source_resolve(GbeObserved *observed, const GbeByHandRestore *options,
			const GbeManifest **ret_source, GError **error) GBE_CHECKED;
/* Refuses a backup that is unfit wherever it goes, or that this deployment's etcd cannot read. */
bool gbe_source_check_itself(GbeSession *session, const GbeManifest *source,
			     const GbeByHandRestore *options, GError **error) GBE_CHECKED;
/* Refuses the same, and a data directory that nothing can be restored into. */
bool gbe_source_check(GbeSession *session, const GbeManifest *source,
		      const GbeByHandRestore *options, GError **error) GBE_CHECKED;

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Which backup a person means, and what stands against restoring it. Nothing of its data is read. */
#pragma once

#include "app/by-hand-session.h"
#include "app/by-hand.h"

/* What a request or a restore means now. Borrowed from @observed. */
bool gbe_source_resolve(GbeObserved *observed, const GbeByHandRestore *options,
			const GbeManifest **ret_source, GError **error) GBE_CHECKED;
/* What the backup itself is, wherever it goes, and whether this deployment's etcd can use it. */
bool gbe_source_check_itself(GbeSession *session, const GbeManifest *source,
			     const GbeByHandRestore *options, GError **error) GBE_CHECKED;
/* The same, and the place where it goes. */
bool gbe_source_check(GbeSession *session, const GbeManifest *source,
		      const GbeByHandRestore *options, GError **error) GBE_CHECKED;

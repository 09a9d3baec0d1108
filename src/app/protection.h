/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What core/protection.h decides by, looked at. Changes nothing and never fails: what cannot be told is unknown. */
#pragma once

#include "app/health-look.h"
#include "app/observe.h"
#include "core/protection.h"

/* Does prerun run before etcd? For everybody, not for root alone. @look: at etcd just now; NULL: systemd is not
 * asked, as in a program of the boot. Texts are borrowed from the configuration. */
void gbe_protection_observe_units(const GbeApp *app, const GbeHealthLook *look,
				  GbeProtectionFacts *ret_facts);

typedef struct {
	GbeProtectionFacts facts;
	GPtrArray *texts; /* what they borrow */
} GbeProtectionView;

/* All of it but ->warning and ->holds, which whoever prints them knows. Borrows from @observed as well. */
void gbe_protection_observe(GbeApp *app, GbeObserved *observed, const GbeHealthLook *look,
			    GbeProtectionView *ret_view);
void gbe_protection_view_clear(GbeProtectionView *view);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(GbeProtectionView, gbe_protection_view_clear)

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Observes the facts for core/decide/protection.h. Changes nothing and never fails: a fact that cannot be told is
 * unknown. */
#pragma once

#include "app/backup/observe.h"
#include "app/health/look.h"
#include "core/decide/protection.h"

/* Does prerun run before etcd? Works for every user, not only root. @look: at etcd just now; NULL: systemd is not
 * asked, as in a program of the boot. Texts are borrowed from the configuration. */
void gbe_protection_observe_units(const GbeApp *app, const GbeHealthLook *look,
				  GbeProtectionFacts *ret_facts);

typedef struct {
	GbeProtectionFacts facts;
	GPtrArray *texts; /* the texts that ->facts borrow */
} GbeProtectionView;

/* Fills all of ->facts except ->warning and ->holds, which the caller that prints them knows. Borrows from
 * @observed as well. */
void gbe_protection_observe(GbeApp *app, GbeObserved *observed, const GbeHealthLook *look,
			    GbeProtectionView *ret_view);
void gbe_protection_view_clear(GbeProtectionView *view);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(GbeProtectionView, gbe_protection_view_clear)

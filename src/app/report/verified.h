/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A backup that verify found damaged is graded bad at once, and the advice names another one (app/backup/damage.h). */
#pragma once

#include "app/backup/observe.h"
#include "app/backups/verify.h"

/* Records each damaged backup among @verifications (of GbeVerification) and sets ->advice to name another one; then
 * writes what people see anew (gbe_status_refresh()). A record that fails is reported on stderr. */
void gbe_verified_record(GbeApp *app, GbeObserved *observed, const GPtrArray *verifications);

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The facts of a decision, as explain shows them. */
#pragma once

#include "app/backup/observe.h"

#include <json-glib/json-glib.h>

/* The facts in the order in which a person asks. An unknown fact is null, with its reason in "<key>_why" when
 * there is a reason. */
JsonObject *gbe_explain_facts(GbeApp *app, const GbeObserved *observed);

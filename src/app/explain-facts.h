/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The facts of a decision, as explain shows them. */
#pragma once

#include "app/observe.h"

#include <json-glib/json-glib.h>

/* In the order in which a person asks. Unknown is null, with the reason in "<key>_why" where there is
 * one. */
JsonObject *gbe_explain_facts(const GbeObserved *observed);

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The verb member. */
#pragma once

#include "cli/verb.h"

GBE_VERB(member);
extern const GOptionEntry gbe_options_member[];

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "cli/verb.h"

extern const GOptionEntry gbe_options_global[];

/* To stdout. @verb NULL: of the command as a whole. */
void gbe_help(const GbeVerb *verb);

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The help text of the command and of each verb, and the options that all verbs share. */
#pragma once

#include "cli/verb.h"

extern const GOptionEntry gbe_options_global[];

/* Prints to stdout. @verb NULL: the help of the whole command. */
void gbe_help(const GbeVerb *verb);

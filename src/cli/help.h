/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The help text of the command and of each verb, and the options that all verbs share. */
#pragma once

#include "cli/verb.h"

extern const GOptionEntry gbe_options_global[];

/* Print to stdout: the help of the whole command with that of the optional programs; one line for each verb; the help of
 * a verb. */
void gbe_help_all(const GbeVerb *verbs);
void gbe_help_lines(const GbeVerb *verbs);
void gbe_help_verb(const GbeVerb *verb);

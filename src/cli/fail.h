/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The end of a command that failed. */
#pragma once

#include "cli/verb.h"

/* Prints the sentence to stderr, and with @json an object with the same to stdout, unless the verb printed JSON already.
 * The sentence ends with the next step: a usage error with the command whose help says more. Below @root (NULL: none)
 * it says so where it has a path. @verb NULL: there is none yet. */
void gbe_cli_fail(const GbeVerb *verb, bool json, const char *root, const GError *error);
/* Prints one line to stderr, whatever @message holds. */
void gbe_cli_say(const char *message);

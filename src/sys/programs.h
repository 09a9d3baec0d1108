/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The optional programs. They lie beside the library of all programs, as greenboot-etcd-VERB: neither PATH nor another
 * variable of the environment leads elsewhere. A verb may be a symlink to the program that has it.
 */
#pragma once

#include "core/tri.h"

#define GBE_PROGRAM_PREFIX "greenboot-etcd-"
/* The name of the library has the version in it (Makefile). */
#define GBE_PROGRAM_LIBRARY "libgreenboot-etcd-"

/* The directory of the library; newly allocated. NULL: the library is part of this program. */
char *gbe_programs_directory(void);
/* Lower-case letters and hyphens, with a letter first. */
bool gbe_program_is_verb(const char *word);
/* GBE_UNKNOWN: the library is part of this program. *ret_path, which may be NULL, is newly allocated; NULL: not found. */
GbeTri gbe_program_find(const char *verb, char **ret_path);

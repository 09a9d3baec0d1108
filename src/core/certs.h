/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * [certs]: where certificates lie, and which of those the application makes anew. Lists as in run-words.h.
 * Pure.
 */
#pragma once

#include "base/auto.h"
#include "base/error.h"

/* directories: absolute, canonical, never "/". GBE_ERROR_INVALID_CONFIG. */
bool gbe_certs_directories(const char *text, char ***ret_directories, GError **error) GBE_CHECKED;
/* regenerated: shell patterns in which "*" matches "/", too, so that "server/" and a star is all below it.
 * GBE_ERROR_INVALID_CONFIG: one is empty, or has ".." in it. */
bool gbe_certs_patterns(const char *text, char ***ret_patterns, GError **error) GBE_CHECKED;
/* Is the file at @path below @directory one of them? A pattern that begins with "/" is compared with the whole
 * path, another one with what is below the directory. */
bool gbe_certs_match(char *const *patterns, const char *directory, const char *path);

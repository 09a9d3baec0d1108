/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The lists of [run]: words as a shell has them, quoted where they hold blanks; and the files of variables that
 * env-file names. Each gives a NULL-terminated vector, newly allocated, empty for NULL and for empty text;
 * GBE_ERROR_INVALID_CONFIG names the key. Pure.
 */
#pragma once

#include "base/auto.h"
#include "base/error.h"

/* Of any key; @key is for the message: "[run] args". */
bool gbe_words(const char *key, const char *text, char ***ret_words, GError **error) GBE_CHECKED;
/* args: further arguments of etcd. */
bool gbe_run_args(const char *text, char ***ret_words, GError **error) GBE_CHECKED;
/* env-file: absolute paths; "-" before one: it need not be there. */
bool gbe_run_files(const char *text, char ***ret_words, GError **error) GBE_CHECKED;
/* credentials: "NAME:/PATH", as systemd's LoadCredential= (systemd.exec(5)). */
bool gbe_run_credentials(const char *text, char ***ret_words, GError **error) GBE_CHECKED;

/* What systemd would make of a file named by EnvironmentFile=: "NAME=value" a line, blanks around both left
 * out, "#" and ";" begin a comment, values may be quoted. What is no such line is left out, as there. Sets
 * what it finds in @environment, which it takes, and returns. */
char **gbe_run_environment(char **environment, const char *text);

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The lists of [run] and [certs]: words as in a shell, quoted where they hold blanks, and the files of variables
 * that env-file names. Each function gives a newly allocated NULL-terminated vector, empty for NULL and for empty
 * text. GBE_ERROR_INVALID_CONFIG names the key. Pure.
 */
#pragma once

#include "base/auto.h"
#include "base/error.h"

/* The words of any key. @key is for the message: "[run] args". */
bool gbe_words(const char *key, const char *text, char ***ret_words, GError **error) GBE_CHECKED;
/* args: further arguments of etcd. */
bool gbe_run_args(const char *text, char ***ret_words, GError **error) GBE_CHECKED;
/* env-file: absolute paths. A "-" before a path: the file need not exist. */
bool gbe_run_files(const char *text, char ***ret_words, GError **error) GBE_CHECKED;
/* credentials: "NAME:/PATH", as systemd's LoadCredential= (systemd.exec(5)). */
bool gbe_run_credentials(const char *text, char ***ret_words, GError **error) GBE_CHECKED;

/* Reads @text as systemd reads a file of EnvironmentFile=. A line is "NAME=value", blanks around both are dropped, "#"
 * and ";" begin a comment, and values may be quoted. Other lines are ignored, as systemd ignores them. Takes
 * @environment, sets the variables in it and returns it. */
char **gbe_run_environment(char **environment, const char *text);

/* The certificates that this program makes (certs/pki.h). */
#define GBE_PKI_DIR "/var/lib/greenboot-etcd-pki"
#define GBE_PKI_LIVE GBE_PKI_DIR "/live"

/* directories: absolute, canonical, never "/". GBE_ERROR_INVALID_CONFIG. */
bool gbe_certs_directories(const char *text, char ***ret_directories, GError **error) GBE_CHECKED;
/* regenerated: shell patterns. "*" also matches "/", so "server/" and a star match everything below it.
 * GBE_ERROR_INVALID_CONFIG: a pattern is empty, or contains "..". */
bool gbe_certs_patterns(const char *text, char ***ret_patterns, GError **error) GBE_CHECKED;
/* An address (without a zone), or a host's name, which may begin with "*". */
bool gbe_certs_is_host(const char *text);
/* names: hosts. GBE_ERROR_INVALID_CONFIG. */
bool gbe_certs_names(const char *text, char ***ret_names, GError **error) GBE_CHECKED;
/* Does a pattern match the file at @path below @directory? A pattern that begins with "/" is compared with the whole
 * path, any other pattern with the part below @directory. */
bool gbe_certs_match(char *const *patterns, const char *directory, const char *path);

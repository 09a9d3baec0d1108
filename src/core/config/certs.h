/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * [certs]: the directories of certificates, and the files in them that the application makes anew.
 * Lists as in run-words.h. Pure.
 */
#pragma once

#include "base/auto.h"
#include "base/error.h"

/* The certificates that this program makes (app/certs/pki.h). */
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

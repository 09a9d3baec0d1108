/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * `certs export`: writes what a client on another machine needs into one gzipped tar: ca.crt, client.crt, client.key
 * (those that [etcd] names), etcdctl.env for a shell, README. The file appears as a whole, with mode 0600, and never
 * replaces another file (fs/part.h).
 */
#pragma once

#include "app/device/context.h"

/* @path as the user typed it. GBE_ERROR_REFUSED: no credentials are configured, or one cannot be used. */
bool gbe_certs_export(GbeApp *app, const char *path, GError **error) GBE_CHECKED;
/* Writes a new file of the caller's, 0600, whole or not at all; replaces none. */
bool gbe_certs_write_file(const GbeApp *app, GBytes *content, const char *path,
			  GError **error) GBE_CHECKED;
/* Reads a file of the user's. @secret: it has a private key. GBE_ERROR_REFUSED: other users have access to it, which ssh
 * refuses, too. */
bool gbe_certs_read_file(const GbeApp *app, const char *path, bool secret, GBytes **ret_content,
			 GError **error) GBE_CHECKED;
/* Removes a file that the same has written, as well as that can be done. */
void gbe_certs_remove_file(const GbeApp *app, const char *path);

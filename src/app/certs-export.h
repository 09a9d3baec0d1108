/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * `certs export`: what a client on another machine needs, in one gzipped tar: ca.crt, client.crt, client.key (those
 * of them that [etcd] names), etcdctl.env for a shell, README. It appears as a whole, 0600, and never in the place of
 * another file (fs/part.h).
 */
#pragma once

#include "app/context.h"

/* @path as a user has it. GBE_ERROR_REFUSED: no credentials are configured, or one cannot be used. */
bool gbe_certs_export(GbeApp *app, const char *path, GError **error) GBE_CHECKED;

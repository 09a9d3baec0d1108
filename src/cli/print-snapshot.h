/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The description of a snapshot file, in etcdctl's terms. */
#pragma once

#include "app/backups/verify.h"
#include "cli/verb.h"

JsonObject *gbe_snapshot_json(const GbeVerification *verification);
/* Prints it as JSON or text. */
void gbe_print_snapshot(const GbeCli *cli, const GbeVerification *verification);
/* Of a file that was just written: adds path, size, SHA-256 and the command that copies it to another machine to
 * @object; NULL: prints them as text. A failure is reported, and the file stays. */
void gbe_print_snapshot_file(const GbeCli *cli, const char *path, JsonObject *object);

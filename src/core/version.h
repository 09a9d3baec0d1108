/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Version numbers of etcd ("3.5.16", "3.6.0-rc.1") and of a `version-file` (a number, or MicroShift's
 * JSON {"version":"4.19.0", ...}). Only X.Y decides anything. */
#pragma once

#include "core/tri.h"

typedef struct {
	guint major, minor;
	gboolean known;
} GbeVersion;

GbeVersion gbe_version_parse(const char *text); /* NULL and nonsense: not known */
/* Contents of a version file: the number on its first line, or "version" of a JSON object. */
GbeVersion gbe_version_from_file(const char *bytes, gsize size);
/* >0: a is newer. Only for two known ones. */
int gbe_version_compare(GbeVersion a, GbeVersion b);
/* YES when a's X.Y is above b's; unknown when one is not known. */
GbeTri gbe_version_above(GbeVersion a, GbeVersion b);

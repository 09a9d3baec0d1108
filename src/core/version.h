/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Version numbers of etcd ("3.5.16", "3.6.0-rc.1"). Only X.Y is compared. */
#pragma once

#include "core/tri.h"

typedef struct {
	guint major, minor;
	bool known;
} GbeVersion;

GbeVersion gbe_version_parse(const char *text); /* NULL or no version: not known */
/* >0: a is newer. Both must be known. */
int gbe_version_compare(GbeVersion a, GbeVersion b);
/* YES when a's X.Y is above b's. Unknown when a or b is not known. */
GbeTri gbe_version_above(GbeVersion a, GbeVersion b);

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

/*
 * Can the etcd of an update start on today's data, and can today's etcd start on what it leaves? By versions alone
 * (reference etcd.md, section 11). Pure.
 */

/* Any of them may be not known. */
typedef struct {
	GbeVersion update;  /* of the update's etcd */
	GbeVersion server;  /* of today's etcd */
	GbeVersion cluster; /* in the data: the version that all members had */
	GbeVersion storage; /* in the data, from 3.6 on */
} GbeRehearseVersions;

/* NO: etcd refuses the data, or it leaves out a minor, which etcd does not support. *ret_why says which version
 * refuses what, and what to do; NULL with YES. Newly allocated. */
GbeTri gbe_rehearse_starts(const GbeRehearseVersions *versions, char **ret_why);
/* NO: a rollback has to restore a backup. *ret_why says why; NULL with YES. Newly allocated. */
GbeTri gbe_rehearse_goes_back(const GbeRehearseVersions *versions, char **ret_why);

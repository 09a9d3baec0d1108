/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Can the etcd of an update start on today's data, and can today's etcd start on what it leaves? By versions alone
 * (reference etcd.md, section 11). Pure.
 */
#pragma once

#include "core/version.h"

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

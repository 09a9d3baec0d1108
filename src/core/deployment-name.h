/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The name of a deployment for people: the version that `rpm-ostree status` or `bootc status` shows, else the first 12
 * digits of its checksum. Programs get the id in full. Pure text: no error, nothing on disk.
 */
#pragma once

#include "core/deployment.h"

/* A listed deployment. Texts are owned. */
typedef struct {
	char *id;
	char *version; /* NULL: unknown */
	char *place;   /* "booted", "staged", "rollback" or "pinned"; NULL: unknown */
} GbeDeploymentName;

void gbe_deployment_name_free(GbeDeploymentName *name);

/* The version in an os-release file: OSTREE_VERSION, VERSION up to its first blank, or VERSION_ID. Newly allocated.
 * NULL: the file has none of them. */
char *gbe_os_release_version(const char *text);

/* @names: of GbeDeploymentName, the listed deployments; NULL: the list is unknown. @version: of a deployment that is
 * not listed any more, or NULL. Two deployments of one version also show the first 7 digits, and two of one commit also
 * their serial. Newly allocated; "unknown" where @id is NULL, and a copy of an @id that does not parse. */
char *gbe_deployment_name(const GPtrArray *names, const char *id, const char *version);
/* The same with the place in parentheses, if it is known: "43.20261203.0 (staged)". */
char *gbe_deployment_name_placed(const GPtrArray *names, const char *id);
/* @text with the names of listed deployments in place of their ids. Names of backups, which begin with an id, stay.
 * Newly allocated. */
char *gbe_deployment_names_in(const GPtrArray *names, const char *text);

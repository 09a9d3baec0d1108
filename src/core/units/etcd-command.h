/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Reads the data directory and the addresses of an etcd from its command line and environment: enough to distinguish
 * two etcds. The rules are etcd's (its pkg/flags): one dash or two, "--flag=value" or "--flag value". The last flag
 * counts. A variable that is not empty counts if there is no flag. With a configuration file, only the file counts.
 * Pure.
 */
#pragma once

#include "core/config/config.h"

typedef struct {
	char *data_dir;	   /* absolute; etcd's default where none is named */
	char *wal_dir;	   /* absolute; NULL: below data_dir */
	char *config_file; /* absolute; NULL: none. With one, the other fields are not known */
	bool has_quota;	   /* the command line names a quota */
	bool has_data_dir; /* a data directory is named */
	/* URLs for clients, peers and metrics: normalized, sorted, each once. Never NULL */
	char **listens;
} GbeEtcdCommand;

/* @arguments: after the program's name. @environment: of "NAME=value", may be NULL. @directory: the absolute directory
 * that relative paths start from. */
void gbe_etcd_command_parse(char *const *arguments, char *const *environment, const char *directory,
			    GbeEtcdCommand *ret_command);
void gbe_etcd_command_clear(GbeEtcdCommand *command);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(GbeEtcdCommand, gbe_etcd_command_clear)

/* Does parsing look at @variable? */
bool gbe_etcd_command_knows(const char *variable);

/* true for the same data, served at the same addresses. A configuration file's contents are not known: false. */
bool gbe_etcd_command_same(const GbeEtcdCommand *a, const GbeEtcdCommand *b);

/* Does etcd write only to the protected directories, [etcd] data-dir, member-dir and wal-dir? GBE_ERROR_REFUSED says
 * what would put it right. A configuration file is not read. */
bool gbe_etcd_command_check(const GbeEtcdCommand *command, const GbeConfig *config,
			    GError **error) GBE_CHECKED;

/* The settings that point etcdctl at the configured etcd. They go into its environment, which other users of the
 * machine cannot see. An argument of the same meaning must not be given also (etcdctl ends then). Pure. */

typedef struct {
	const char *name;  /* of the variable: static */
	const char *flag;  /* of the same meaning; NULL: none */
	const char *value; /* NULL: not to be set; owned by the configuration */
} GbeEtcdctlVariable;

#define GBE_N_ETCDCTL_VARIABLES 5

/* @arguments: etcdctl's own, NULL-terminated, or NULL. A variable that they set already gets no value. */
void gbe_etcdctl_environment(const GbeConfig *config, char **arguments,
			     GbeEtcdctlVariable ret_variables[GBE_N_ETCDCTL_VARIABLES]);

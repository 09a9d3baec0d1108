/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What a command line of etcd, with its environment, says of where its data lies and where it listens: enough
 * to tell two of them apart. Read as etcd does (its pkg/flags): one dash or two, "--flag=value" or "--flag
 * value", the last one counts, a variable where there is no flag, an empty variable is none; with a
 * configuration file, nothing but that. Pure.
 */
#pragma once

#include "core/config.h"

typedef struct {
	char *data_dir;	    /* absolute; where none is named, etcd's default */
	char *wal_dir;	    /* absolute; NULL: below data_dir */
	char *config_file;  /* absolute; NULL: none. With one, nothing else is known */
	gboolean has_quota; /* it names one */
	/* URLs, normalized and sorted, each once: clients', peers' and metrics'. Never NULL */
	char **listens;
} GbeEtcdCommand;

/* @arguments: behind the program's name. @environment: of "NAME=value", may be NULL. @directory: what a
 * relative path begins at, absolute. */
void gbe_etcd_command_parse(char *const *arguments, char *const *environment, const char *directory,
			    GbeEtcdCommand *ret_command);
void gbe_etcd_command_clear(GbeEtcdCommand *command);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(GbeEtcdCommand, gbe_etcd_command_clear)

/* Is that a variable which parsing looks at? */
gboolean gbe_etcd_command_knows(const char *variable);

/* The same data, served at the same addresses. What a configuration file says is not known: never the same. */
gboolean gbe_etcd_command_same(const GbeEtcdCommand *a, const GbeEtcdCommand *b);

/* Does all that it writes lie in what is protected, [etcd] data-dir, member-dir and wal-dir?
 * GBE_ERROR_REFUSED with what would put it right. What a configuration file says is not looked into. */
bool gbe_etcd_command_check(const GbeEtcdCommand *command, const GbeConfig *config,
			    GError **error) GBE_CHECKED;

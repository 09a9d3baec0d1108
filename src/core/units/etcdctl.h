/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The settings that point etcdctl at the configured etcd. They go into its environment, which other users of the
 * machine cannot see, and never beside an argument of the same meaning (etcdctl ends then). Pure. */
#pragma once

#include "core/config/config.h"

typedef struct {
	const char *name;  /* of the variable: static */
	const char *flag;  /* of the same meaning; NULL: none */
	const char *value; /* NULL: not to be set; owned by the configuration */
} GbeEtcdctlVariable;

#define GBE_N_ETCDCTL_VARIABLES 5

/* @arguments: etcdctl's own, NULL-terminated, or NULL. A variable that they set already gets no value. */
void gbe_etcdctl_environment(const GbeConfig *config, char **arguments,
			     GbeEtcdctlVariable ret_variables[GBE_N_ETCDCTL_VARIABLES]);

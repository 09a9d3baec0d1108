/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What etcdctl has to be told about the configured etcd: in its environment, where other users of the machine
 * do not see it, and never beside an argument that says the same (etcdctl ends then). Pure. */
#pragma once

#include "core/config.h"

typedef struct {
	const char *name;  /* of the variable: static */
	const char *flag;  /* that says the same; NULL: none */
	const char *value; /* NULL: is not to be set; owned by the configuration */
} GbeEtcdctlVariable;

#define GBE_N_ETCDCTL_VARIABLES 5

/* @arguments: etcdctl's own, NULL-terminated, or NULL. What they set has no value here. */
void gbe_etcdctl_environment(const GbeConfig *config, char **arguments,
			     GbeEtcdctlVariable ret_variables[GBE_N_ETCDCTL_VARIABLES]);

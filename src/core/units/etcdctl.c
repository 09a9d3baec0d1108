/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "core/units/etcdctl.h"

#include <string.h>

/* Flags as etcdctl takes them: --flag VALUE, --flag=VALUE. Behind "--" there are keys and values. */
static bool
is_given(char **arguments, const char *flag)
{
	gsize length = strlen(flag);

	for (guint i = 0; arguments != NULL && arguments[i] != NULL; i++) {
		if (g_str_equal(arguments[i], "--"))
			return false;
		if (strncmp(arguments[i], flag, length) == 0 &&
		    (arguments[i][length] == '\0' || arguments[i][length] == '='))
			return true;
	}
	return false;
}

static const char *
or_null(const char *value)
{
	return value != NULL && *value != '\0' ? value : NULL;
}

void
gbe_etcdctl_environment(const GbeConfig *config, char **arguments,
			GbeEtcdctlVariable ret_variables[GBE_N_ETCDCTL_VARIABLES])
{
	const GbeEtcdctlVariable all[GBE_N_ETCDCTL_VARIABLES] = {
	    {"ETCDCTL_API", NULL, NULL},
	    {"ETCDCTL_ENDPOINTS", "--endpoints", or_null(config->etcd.endpoint)},
	    {"ETCDCTL_CACERT", "--cacert", or_null(config->etcd.cacert)},
	    {"ETCDCTL_CERT", "--cert", or_null(config->etcd.cert)},
	    {"ETCDCTL_KEY", "--key", or_null(config->etcd.key)},
	};

	for (guint i = 0; i < GBE_N_ETCDCTL_VARIABLES; i++) {
		ret_variables[i] = all[i];
		if (all[i].flag != NULL && is_given(arguments, all[i].flag))
			ret_variables[i].value = NULL;
	}
}

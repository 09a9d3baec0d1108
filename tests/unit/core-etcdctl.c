/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "core/units/etcd-command.h"
#include "lib/unit.h"

static char *
text(const GbeConfig *config, char **arguments)
{
	GbeEtcdctlVariable variables[GBE_N_ETCDCTL_VARIABLES];
	GString *all = g_string_new(NULL);

	gbe_etcdctl_environment(config, arguments, variables);
	for (guint i = 0; i < GBE_N_ETCDCTL_VARIABLES; i++)
		if (variables[i].value != NULL)
			g_string_append_printf(all, "%s=%s ", variables[i].name,
					       variables[i].value);
	return g_string_free(all, false);
}

static GbeConfig *
with_certificates(void)
{
	GbeConfig *config = gbe_config_new();

	g_free(config->etcd.endpoint);
	config->etcd.endpoint = g_strdup("https://localhost:2379");
	g_free(config->etcd.cacert);
	config->etcd.cacert = g_strdup("/ca");
	g_free(config->etcd.cert);
	config->etcd.cert = g_strdup("/cert");
	g_free(config->etcd.key);
	config->etcd.key = g_strdup("/key");
	return config;
}

START_TEST(what_is_configured_is_set)
{
	g_autoptr(GbeConfig) plain = gbe_config_new();
	g_autoptr(GbeConfig) config = with_certificates();
	g_autofree char *few = text(plain, NULL);
	g_autofree char *all = text(config, NULL);

	ck_assert_str_eq(few, "ETCDCTL_ENDPOINTS=http://127.0.0.1:2379 ");
	ck_assert_str_eq(all, "ETCDCTL_ENDPOINTS=https://localhost:2379 "
			      "ETCDCTL_CACERT=/ca ETCDCTL_CERT=/cert ETCDCTL_KEY=/key ");
}
END_TEST

/* etcdctl fails where a flag and a variable set the same option. */
START_TEST(what_is_given_is_not_set)
{
	static const struct {
		const char *arguments[5];
		const char *expected;
	} cases[] = {
	    {{"get", "--endpoints", "x", NULL},
	     "ETCDCTL_CACERT=/ca ETCDCTL_CERT=/cert "
	     "ETCDCTL_KEY=/key "},
	    {{"--endpoints=x", "get", "a", NULL},
	     "ETCDCTL_CACERT=/ca "
	     "ETCDCTL_CERT=/cert ETCDCTL_KEY=/key "},
	    {{"--cert=a", "--key", "b", NULL},
	     "ETCDCTL_ENDPOINTS=https://localhost:2379 ETCDCTL_CACERT=/ca "},
	    {{"get", "--keys-only", "--certificate", NULL},
	     "ETCDCTL_ENDPOINTS=https://localhost:2379 ETCDCTL_CACERT=/ca "
	     "ETCDCTL_CERT=/cert ETCDCTL_KEY=/key "},
	    {{"put", "--", "--key", "value", NULL},
	     "ETCDCTL_ENDPOINTS=https://localhost:2379 ETCDCTL_CACERT=/ca "
	     "ETCDCTL_CERT=/cert ETCDCTL_KEY=/key "},
	};
	g_autoptr(GbeConfig) config = with_certificates();

	for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
		g_autofree char *seen = text(config, (char **)cases[i].arguments);

		ck_assert_str_eq(seen, cases[i].expected);
	}
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("core-etcdctl");
	TCase *tcase = tcase_create("etcdctl");

	tcase_add_test(tcase, what_is_configured_is_set);
	tcase_add_test(tcase, what_is_given_is_not_set);
	suite_add_tcase(suite, tcase);
	return gbe_unit_main(suite);
}

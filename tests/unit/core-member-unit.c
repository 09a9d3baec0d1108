/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "core/units/member-unit.h"
#include "lib/unit.h"

#include <string.h>

static GbeConfig *
config_of(const char *text)
{
	GbeConfig *config = gbe_config_new();

	ck_assert(gbe_config_merge(config, "test", text, strlen(text), true, NULL, NULL, NULL));
	return config;
}

static char *arguments[] = {(char *)"/usr/bin/etcd", (char *)"--data-dir=/d", NULL};
static char *variables[] = {(char *)"ETCD_NAME=a", NULL};
static const GbeMemberUnit usual = {.parent = "app.service",
				    .parent_by_default = true,
				    .protect = true,
				    .argv = arguments,
				    .environment = variables,
				    .timeout = 300};

/* Each property with its value, as text. */
static GVariant *
properties(const GbeMemberUnit *unit, const char *conf)
{
	g_autoptr(GbeConfig) config = config_of(conf);
	g_autoptr(GError) error = NULL;
	GVariant *all = NULL;

	if (!gbe_member_unit_properties(unit, config, &all, &error))
		ck_abort_msg("%s", error->message);
	return g_variant_ref_sink(all);
}

static char *
value(GVariant *all, const char *name)
{
	GVariantIter iter;
	const char *key;
	GVariant *one;
	char *text = NULL;

	g_variant_iter_init(&iter, all);
	while (g_variant_iter_next(&iter, "(&sv)", &key, &one)) {
		if (g_str_equal(key, name)) {
			ck_assert_msg(text == NULL, "%s is there twice", name);
			text = g_variant_print(one, true);
		}
		g_variant_unref(one);
	}
	return text != NULL ? text : g_strdup("-");
}

typedef struct {
	const char *name, *value;
} Property;

static void
check(GVariant *all, const Property *expected)
{
	for (; expected->name != NULL; expected++) {
		g_autofree char *seen = value(all, expected->name);

		ck_assert_msg(g_str_equal(seen, expected->value), "%s: %s", expected->name, seen);
	}
}

START_TEST(the_usual_unit)
{
	static const Property expected[] = {
	    {"Description", "'etcd of app.service'"},
	    {"CollectMode", "'inactive-or-failed'"},
	    {"BindsTo", "['app.service']"},
	    {"Before", "['app.service']"},
	    {"DefaultDependencies", "-"},
	    {"Requires", "['greenboot-etcd-prerun.service']"},
	    {"After", "['greenboot-etcd-prerun.service', 'greenboot-etcd-finalize.service']"},
	    {"Wants", "['greenboot-etcd-finalize.service', 'greenboot-etcd-preflight.path', "
		      "'greenboot-etcd-scrub.timer', 'greenboot-etcd-used.timer', "
		      "'greenboot-etcd-monitor.timer']"},
	    {"Type", "'notify'"},
	    {"NotifyAccess", "'main'"},
	    {"Restart", "'on-failure'"},
	    {"RestartUSec", "uint64 1000000"},
	    {"StartLimitIntervalUSec", "uint64 300000000"},
	    {"StartLimitBurst", "uint32 5"},
	    {"TimeoutStartUSec", "uint64 300000000"},
	    {"TimeoutStopUSec", "uint64 90000000"},
	    {"LimitNOFILE", "uint64 65536"},
	    {"ExecStart", "[('/usr/bin/etcd', ['/usr/bin/etcd', '--data-dir=/d'], false)]"},
	    {"Environment", "['ETCD_NAME=a']"},
	    {"EnvironmentFiles", "-"},
	    {"LoadCredential", "-"},
	    {"MemoryHigh", "-"},
	    {"IOWeight", "-"},
	    {NULL, NULL},
	};
	g_autoptr(GVariant) all = properties(&usual, "");

	ck_assert_str_eq(g_variant_get_type_string(all), "a(sv)");
	check(all, expected);
}
END_TEST

START_TEST(what_is_configured)
{
	static const Property expected[] = {
	    {"EnvironmentFiles", "[('/etc/etcd.env', false), ('/run/more', true)]"},
	    {"LoadCredential", "[('ca', '/etc/ca.crt'), ('key', '/a:b')]"},
	    {"MemoryHigh", "uint64 268435456"},
	    {"IOWeight", "uint64 50"},
	    {"Wants", "['greenboot-etcd-finalize.service', 'greenboot-etcd-preflight.path', "
		      "'greenboot-etcd-scrub.timer', 'greenboot-etcd-used.timer']"},
	    {NULL, NULL},
	};
	g_autoptr(GVariant) all =
	    properties(&usual, "[run]\nenv-file=/etc/etcd.env -/run/more\n"
			       "credentials=ca:/etc/ca.crt key:/a:b\nmemory-high=256MiB\n"
			       "io-weight=50\n[health]\nmonitor=0\n");

	check(all, expected);
}
END_TEST

START_TEST(without_prerun)
{
	static const Property expected[] = {
	    {"Requires", "-"},	  {"After", "-"},
	    {"Wants", "-"},	  {"DefaultDependencies", "false"},
	    {"Environment", "-"}, {"BindsTo", "['early.service']"},
	    {NULL, NULL},
	};
	const GbeMemberUnit unit = {.parent = "early.service", .argv = arguments, .timeout = 1};
	g_autoptr(GVariant) all = properties(&unit, "");

	check(all, expected);
}
END_TEST

START_TEST(what_systemd_would_not_take)
{
	char *wrong[] = {(char *)"/usr/bin/etcd", (char *)"--name=\xff", NULL};
	GbeMemberUnit unit = usual;
	g_autoptr(GbeConfig) config = config_of("");
	g_autoptr(GbeConfig) bad = config_of("");
	g_autoptr(GError) error = NULL;
	g_autoptr(GError) other = NULL;
	GVariant *all = NULL;

	unit.argv = wrong;
	ck_assert(!gbe_member_unit_properties(&unit, config, &all, &error));
	ck_assert(g_error_matches(error, GBE_ERROR, GBE_ERROR_USAGE));
	g_free(bad->run.credentials);
	bad->run.credentials = g_strdup("nonsense");
	ck_assert(!gbe_member_unit_properties(&usual, bad, &all, &other));
	ck_assert(g_error_matches(other, GBE_ERROR, GBE_ERROR_INVALID_CONFIG));
	ck_assert_ptr_null(all);
}
END_TEST

START_TEST(leftovers)
{
	static char *ours[] = {(char *)"app.service", NULL};
	static char *others[] = {(char *)"other.service", NULL};
	static char *same[] = {(char *)"/opt/etcd", (char *)"--data-dir", (char *)"/d", NULL};
	static char *different[] = {(char *)"/opt/etcd", (char *)"--data-dir=/e", NULL};
	static char *none[] = {NULL};
	static char *by_variable[] = {(char *)"ETCD_DATA_DIR=/d", NULL};
	static char *bare[] = {(char *)"/opt/etcd", NULL};
#define JOB (char *)"/job/1"
#define WORD(text) (char *)text
	static const struct {
		GbeFoundUnit found;
		GbeLeftover expected;
	} cases[] = {
	    {{WORD("not-found"), WORD("inactive")}, GBE_LEFTOVER_NONE},
	    /* A person's files: present, broken, masked; or gone while the unit runs. */
	    {{WORD("loaded"), WORD("inactive")}, GBE_LEFTOVER_FOREIGN},
	    {{WORD("loaded"), WORD("active")}, GBE_LEFTOVER_FOREIGN},
	    {{WORD("masked"), WORD("inactive")}, GBE_LEFTOVER_FOREIGN},
	    {{WORD("bad-setting"), WORD("inactive")}, GBE_LEFTOVER_FOREIGN},
	    {{WORD("not-found"), WORD("active")}, GBE_LEFTOVER_FOREIGN},
	    /* Down, and not yet removed by systemd. */
	    {{WORD("loaded"), WORD("failed"), true}, GBE_LEFTOVER_ENDED},
	    {{WORD("loaded"), WORD("inactive"), true}, GBE_LEFTOVER_ENDED},
	    /* Up. */
	    {{WORD("loaded"), WORD("active"), true, NULL, NULL, ours, same, none},
	     GBE_LEFTOVER_SERVES},
	    {{WORD("loaded"), WORD("active"), true, NULL, NULL, ours, bare, by_variable},
	     GBE_LEFTOVER_SERVES},
	    {{WORD("loaded"), WORD("active"), true, NULL, NULL, ours, different, none},
	     GBE_LEFTOVER_OTHER},
	    {{WORD("loaded"), WORD("active"), true, NULL, NULL, others, same, none},
	     GBE_LEFTOVER_OTHER},
	    {{WORD("loaded"), WORD("active"), true, NULL, NULL, none, same, none},
	     GBE_LEFTOVER_OTHER},
	    {{WORD("loaded"), WORD("active"), true, NULL, NULL, ours, NULL, none},
	     GBE_LEFTOVER_OTHER},
	    /* On the way up: waiting for prerun, starting. */
	    {{WORD("loaded"), WORD("inactive"), true, JOB, WORD("start"), ours, same, none},
	     GBE_LEFTOVER_SERVES},
	    {{WORD("loaded"), WORD("activating"), true, JOB, WORD("start"), ours, same, none},
	     GBE_LEFTOVER_SERVES},
	    {{WORD("loaded"), WORD("activating"), true, JOB, WORD("start"), ours, different, none},
	     GBE_LEFTOVER_OTHER},
	    /* etcd died, and waits for its next start. */
	    {{WORD("loaded"), WORD("activating"), true, NULL, NULL, ours, same, none},
	     GBE_LEFTOVER_OTHER},
	    /* On the way down. */
	    {{WORD("loaded"), WORD("active"), true, JOB, WORD("stop"), ours, same, none},
	     GBE_LEFTOVER_OTHER},
	    {{WORD("loaded"), WORD("deactivating"), true, JOB, WORD("stop"), ours, same, none},
	     GBE_LEFTOVER_OTHER},
	    {{WORD("loaded"), WORD("deactivating"), true, NULL, NULL, ours, same, none},
	     GBE_LEFTOVER_OTHER},
	    {{WORD("loaded"), WORD("inactive"), true, JOB, WORD("stop"), ours, same, none},
	     GBE_LEFTOVER_OTHER},
	};
	g_auto(GbeEtcdCommand) wanted = {NULL};

	gbe_etcd_command_parse(arguments + 1, NULL, "/", &wanted);
	for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
		const char *why = NULL;
		GbeLeftover seen =
		    gbe_leftover_judge(&cases[i].found, "app.service", &wanted, &why);

		ck_assert_msg(seen == cases[i].expected, "case %u: %d", i, (int)seen);
		ck_assert_msg((why != NULL) == (seen == GBE_LEFTOVER_OTHER), "case %u", i);
	}
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("core-member-unit");
	TCase *tcase = tcase_create("member-unit");

	tcase_add_test(tcase, the_usual_unit);
	tcase_add_test(tcase, what_is_configured);
	tcase_add_test(tcase, without_prerun);
	tcase_add_test(tcase, what_systemd_would_not_take);
	tcase_add_test(tcase, leftovers);
	suite_add_tcase(suite, tcase);
	return gbe_unit_main(suite);
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "core/units/member-unit.h"

#include "core/config/lists.h"

#include <string.h>

#define USEC_PER_SEC G_GUINT64_CONSTANT(1000000)
/* An etcd that cannot start is tried five times, then its parent decides. systemd's own limit, five starts within ten
 * seconds, is never reached where prerun and etcd's start take more than a second together: slow devices would try for
 * ever. */
#define RESTART_SECONDS 1
#define START_LIMIT_BURST 5
#define START_LIMIT_SECONDS 300
/* systemd's own default, set here so that a machine's shorter one does not cut off a last commit. */
#define STOP_SECONDS 90
#define OPEN_FILES 65536

static void
add_property(GVariantBuilder *builder, const char *name, GVariant *value)
{
	g_variant_builder_add(builder, "(sv)", name, value);
}

static void
add_text(GVariantBuilder *builder, const char *name, const char *value)
{
	add_property(builder, name, g_variant_new_string(value));
}

static void
add_number(GVariantBuilder *builder, const char *name, guint64 value)
{
	add_property(builder, name, g_variant_new_uint64(value));
}

static void
add_names(GVariantBuilder *builder, const char *name, const char *const *names)
{
	add_property(builder, name, g_variant_new_strv(names, -1));
}

static void
add_dependencies(GVariantBuilder *builder, const GbeMemberUnit *unit, const GbeConfig *config)
{
	const char *const parent[] = {unit->parent, NULL};
	const char *const prerun[] = {GBE_PRERUN_UNIT, NULL};
	const char *const after[] = {GBE_PRERUN_UNIT, "greenboot-etcd-finalize.service", NULL};
	const char *const wants[] = {"greenboot-etcd-finalize.service",
				     "greenboot-etcd-preflight.path",
				     "greenboot-etcd-scrub.timer",
				     "greenboot-etcd-used.timer",
				     config->health.monitor > 0 ? "greenboot-etcd-monitor.timer"
								: NULL,
				     NULL};

	add_names(builder, "BindsTo", parent);
	add_names(builder, "Before", parent);
	if (!unit->parent_by_default)
		add_property(builder, "DefaultDependencies", g_variant_new_boolean(false));
	if (!unit->protect)
		return;
	add_names(builder, "Requires", prerun);
	add_names(builder, "After", after);
	add_names(builder, "Wants", wants);
}

static void
add_command(GVariantBuilder *builder, const GbeMemberUnit *unit)
{
	GVariantBuilder commands;

	g_variant_builder_init(&commands, G_VARIANT_TYPE("a(sasb)"));
	g_variant_builder_add(&commands, "(s@asb)", unit->argv[0],
			      g_variant_new_strv((const char *const *)unit->argv, -1), false);
	add_property(builder, "ExecStart", g_variant_builder_end(&commands));
	if (unit->environment != NULL && unit->environment[0] != NULL)
		add_names(builder, "Environment", (const char *const *)unit->environment);
}

static bool
add_configured(GVariantBuilder *builder, const GbeConfig *config, GError **error)
{
	g_auto(GStrv) files = NULL;
	g_auto(GStrv) credentials = NULL;
	GVariantBuilder list;

	if (!gbe_run_files(config->run.env_file, &files, error) ||
	    !gbe_run_credentials(config->run.credentials, &credentials, error))
		return false;
	if (files[0] != NULL) {
		g_variant_builder_init(&list, G_VARIANT_TYPE("a(sb)"));
		for (guint i = 0; files[i] != NULL; i++)
			g_variant_builder_add(&list, "(sb)",
					      files[i] + (files[i][0] == '-' ? 1 : 0),
					      files[i][0] == '-');
		add_property(builder, "EnvironmentFiles", g_variant_builder_end(&list));
	}
	if (credentials[0] != NULL) {
		g_variant_builder_init(&list, G_VARIANT_TYPE("a(ss)"));
		for (guint i = 0; credentials[i] != NULL; i++) {
			const char *path = strchr(credentials[i], ':') + 1;
			g_autofree char *name =
			    g_strndup(credentials[i], (gsize)(path - credentials[i] - 1));

			g_variant_builder_add(&list, "(ss)", name, path);
		}
		add_property(builder, "LoadCredential", g_variant_builder_end(&list));
	}
	if (config->run.memory_high > 0)
		add_number(builder, "MemoryHigh", config->run.memory_high);
	if (config->run.io_weight > 0)
		add_number(builder, "IOWeight", config->run.io_weight);
	return true;
}

/* D-Bus only transports UTF-8. */
static bool
check_texts(char **texts, const char *what, GError **error)
{
	for (guint i = 0; texts != NULL && texts[i] != NULL; i++)
		if (!g_utf8_validate(texts[i], -1, NULL))
			return gbe_throw(error, GBE_ERROR_USAGE,
					 "%s %u of etcd is not UTF-8, which systemd would not take",
					 what, i);
	return true;
}

bool
gbe_member_unit_properties(const GbeMemberUnit *unit, const GbeConfig *config,
			   GVariant **ret_properties, GError **error)
{
	g_autofree char *description = g_strdup_printf("etcd of %s", unit->parent);
	GVariantBuilder builder;

	if (!check_texts(unit->argv, "argument", error) ||
	    !check_texts(unit->environment, "variable", error))
		return false;
	g_variant_builder_init(&builder, G_VARIANT_TYPE("a(sv)"));
	add_text(&builder, "Description", description);
	add_text(&builder, "CollectMode", "inactive-or-failed");
	add_dependencies(&builder, unit, config);
	add_text(&builder, "Type", "notify");
	add_text(&builder, "NotifyAccess", "main");
	add_text(&builder, "Restart", "on-failure");
	add_number(&builder, "RestartUSec", RESTART_SECONDS * USEC_PER_SEC);
	add_number(&builder, "StartLimitIntervalUSec", START_LIMIT_SECONDS * USEC_PER_SEC);
	add_property(&builder, "StartLimitBurst", g_variant_new_uint32(START_LIMIT_BURST));
	add_number(&builder, "TimeoutStartUSec", unit->timeout * USEC_PER_SEC);
	add_number(&builder, "TimeoutStopUSec", STOP_SECONDS * USEC_PER_SEC);
	add_number(&builder, "LimitNOFILE", OPEN_FILES);
	add_command(&builder, unit);
	if (!add_configured(&builder, config, error)) {
		g_variant_builder_clear(&builder);
		return false;
	}
	*ret_properties = g_variant_builder_end(&builder);
	return true;
}

void
gbe_found_unit_clear(GbeFoundUnit *found)
{
	g_clear_pointer(&found->load_state, g_free);
	g_clear_pointer(&found->active_state, g_free);
	g_clear_pointer(&found->job, g_free);
	g_clear_pointer(&found->job_type, g_free);
	g_clear_pointer(&found->parents, g_strfreev);
	g_clear_pointer(&found->argv, g_strfreev);
	g_clear_pointer(&found->environment, g_strfreev);
}

static bool
is_one_of(const char *text, const char *const *words)
{
	return text != NULL && g_strv_contains(words, text);
}

static GbeLeftover
must_stop(const char *why, const char **ret_why)
{
	*ret_why = why;
	return GBE_LEFTOVER_OTHER;
}

/* The unit runs, or is about to run: is its command the wanted one? */
static GbeLeftover
judge_command(const GbeFoundUnit *found, const char *parent, const GbeEtcdCommand *wanted,
	      const char **ret_why)
{
	g_auto(GbeEtcdCommand) command = {NULL};

	if (found->parents == NULL || !g_strv_contains((const char *const *)found->parents, parent))
		return must_stop("it belongs to another unit", ret_why);
	if (found->argv == NULL || found->argv[0] == NULL)
		return must_stop("what it runs is not known", ret_why);
	gbe_etcd_command_parse(found->argv + 1, found->environment, "/", &command);
	if (!gbe_etcd_command_same(&command, wanted))
		return must_stop("it has other data or listens elsewhere", ret_why);
	return GBE_LEFTOVER_SERVES;
}

GbeLeftover
gbe_leftover_judge(const GbeFoundUnit *found, const char *parent, const GbeEtcdCommand *wanted,
		   const char **ret_why)
{
	static const char *const down[] = {"inactive", "failed", NULL};
	static const char *const starts[] = {"start", "restart", "verify-active", NULL};
	bool is_down = is_one_of(found->active_state, down);

	*ret_why = NULL;
	if (!found->transient && g_strcmp0(found->load_state, "not-found") == 0 && is_down)
		return GBE_LEFTOVER_NONE;
	if (!found->transient)
		return GBE_LEFTOVER_FOREIGN;
	if (is_down && found->job == NULL)
		return GBE_LEFTOVER_ENDED;
	if (found->job != NULL && !is_one_of(found->job_type, starts))
		return must_stop("it is being stopped", ret_why);
	/* The unit is alive, or a job makes it so. "auto-restart" is neither. */
	if (found->job == NULL && g_strcmp0(found->active_state, "active") != 0)
		return must_stop("it is not up", ret_why);
	return judge_command(found, parent, wanted, ret_why);
}

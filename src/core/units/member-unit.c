/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "core/units/member-unit.h"

#include "core/config/lists.h"

#include <string.h>

#define USEC_PER_SEC G_GUINT64_CONSTANT(1000000)
/* An etcd that cannot start is tried five times, then its parent decides. systemd's own limit is five starts within ten
 * seconds. Slow devices never reach it, because prerun and etcd's start take more than a second together: they would
 * try for ever. */
#define RESTART_SECONDS 1
#define START_LIMIT_BURST 5U
#define START_LIMIT_SECONDS 300
/* systemd's own default, set here so that a machine's shorter one does not cut off a last commit. */
#define STOP_SECONDS 90
#define OPEN_FILES G_GUINT64_CONSTANT(65536)

static void
add_dependencies(GVariantBuilder *builder, const GbeMemberUnit *unit, const GbeConfig *config)
{
	const char *const wants[] = {"greenboot-etcd-finalize.service",
				     "greenboot-etcd-preflight.path",
				     "greenboot-etcd-scrub.timer",
				     "greenboot-etcd-used.timer",
				     config->health.monitor > 0 ? "greenboot-etcd-monitor.timer"
								: NULL,
				     NULL};

	g_variant_builder_add_parsed(builder, "('BindsTo', <[%s]>)", unit->parent);
	g_variant_builder_add_parsed(builder, "('Before', <[%s]>)", unit->parent);
	if (!unit->parent_by_default)
		g_variant_builder_add_parsed(builder, "('DefaultDependencies', <false>)");
	if (!unit->protect)
		return;
	g_variant_builder_add_parsed(builder, "('Requires', <[%s]>)", GBE_PRERUN_UNIT);
	g_variant_builder_add_parsed(
	    builder, "('After', <[%s, 'greenboot-etcd-finalize.service']>)", GBE_PRERUN_UNIT);
	g_variant_builder_add_parsed(builder, "('Wants', <%^as>)", wants);
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
		g_variant_builder_add_parsed(builder, "('EnvironmentFiles', <%*>)",
					     g_variant_builder_end(&list));
	}
	if (credentials[0] != NULL) {
		g_variant_builder_init(&list, G_VARIANT_TYPE("a(ss)"));
		for (guint i = 0; credentials[i] != NULL; i++) {
			const char *path = strchr(credentials[i], ':') + 1;
			g_autofree char *name =
			    g_strndup(credentials[i], (gsize)(path - credentials[i] - 1));

			g_variant_builder_add(&list, "(ss)", name, path);
		}
		g_variant_builder_add_parsed(builder, "('LoadCredential', <%*>)",
					     g_variant_builder_end(&list));
	}
	if (config->run.memory_high > 0)
		g_variant_builder_add_parsed(builder, "('MemoryHigh', <%t>)",
					     config->run.memory_high);
	if (config->run.io_weight > 0)
		g_variant_builder_add_parsed(builder, "('IOWeight', <%t>)",
					     (guint64)config->run.io_weight);
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
	g_variant_builder_add_parsed(&builder, "('Description', <%s>)", description);
	g_variant_builder_add_parsed(&builder, "('CollectMode', <'inactive-or-failed'>)");
	add_dependencies(&builder, unit, config);
	g_variant_builder_add_parsed(&builder, "('Type', <'notify'>)");
	g_variant_builder_add_parsed(&builder, "('NotifyAccess', <'main'>)");
	g_variant_builder_add_parsed(&builder, "('Restart', <'on-failure'>)");
	g_variant_builder_add_parsed(&builder, "('RestartUSec', <%t>)",
				     RESTART_SECONDS * USEC_PER_SEC);
	g_variant_builder_add_parsed(&builder, "('StartLimitIntervalUSec', <%t>)",
				     START_LIMIT_SECONDS * USEC_PER_SEC);
	g_variant_builder_add_parsed(&builder, "('StartLimitBurst', <%u>)", START_LIMIT_BURST);
	g_variant_builder_add_parsed(&builder, "('TimeoutStartUSec', <%t>)",
				     unit->timeout * USEC_PER_SEC);
	g_variant_builder_add_parsed(&builder, "('TimeoutStopUSec', <%t>)",
				     STOP_SECONDS * USEC_PER_SEC);
	g_variant_builder_add_parsed(&builder, "('LimitNOFILE', <%t>)", OPEN_FILES);
	g_variant_builder_add_parsed(&builder, "('ExecStart', <[(%s, %^as, false)]>)",
				     unit->argv[0], unit->argv);
	if (unit->environment != NULL && unit->environment[0] != NULL)
		g_variant_builder_add_parsed(&builder, "('Environment', <%^as>)",
					     unit->environment);
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

GbeLeftover
gbe_leftover_judge(const GbeFoundUnit *found, const char *parent, const GbeEtcdCommand *wanted,
		   const char **ret_why)
{
	static const char *const down[] = {"inactive", "failed", NULL};
	static const char *const starts[] = {"start", "restart", "verify-active", NULL};
	g_auto(GbeEtcdCommand) command = {NULL};
	bool is_down = found->active_state != NULL && g_strv_contains(down, found->active_state);

	*ret_why = NULL;
	if (!found->transient)
		return is_down && g_strcmp0(found->load_state, "not-found") == 0
			   ? GBE_LEFTOVER_NONE
			   : GBE_LEFTOVER_FOREIGN;
	if (is_down && found->job == NULL)
		return GBE_LEFTOVER_ENDED;
	if (found->argv != NULL && found->argv[0] != NULL)
		gbe_etcd_command_parse(found->argv + 1, found->environment, "/", &command);
	/* The unit is alive, or a job makes it so. Not so in "auto-restart". */
	if (found->job != NULL &&
	    (found->job_type == NULL || !g_strv_contains(starts, found->job_type)))
		*ret_why = "it is being stopped";
	else if (found->job == NULL && g_strcmp0(found->active_state, "active") != 0)
		*ret_why = "it is not up";
	else if (found->parents == NULL ||
		 !g_strv_contains((const char *const *)found->parents, parent))
		*ret_why = "it belongs to another unit";
	else if (command.data_dir == NULL)
		*ret_why = "what it runs is not known";
	else if (!gbe_etcd_command_same(&command, wanted))
		*ret_why = "it has other data or listens elsewhere";
	return *ret_why != NULL ? GBE_LEFTOVER_OTHER : GBE_LEFTOVER_SERVES;
}

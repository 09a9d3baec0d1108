/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "core/units/walled-unit.h"

#define USEC_PER_SEC G_GUINT64_CONSTANT(1000000)
#define TASKS 128
#define STOP_SECONDS 10
/* Of sched(7) and ioprio_set(2): both mean idle. */
#define SCHEDULE_IDLE 5
#define IO_IDLE 3

static void
add(GVariantBuilder *builder, const char *name, GVariant *value)
{
	g_variant_builder_add(builder, "(sv)", name, value);
}

static void
add_all(GVariantBuilder *builder, const GVariantType *type, const char *const *names,
	guint64 number)
{
	for (guint i = 0; names[i] != NULL; i++)
		add(builder, names[i],
		    g_variant_type_equal(type, G_VARIANT_TYPE_BOOLEAN)
			? g_variant_new_boolean(number != 0)
			: g_variant_new_uint64(number));
}

static void
add_limits(GVariantBuilder *builder, const GbeWalledUnit *unit)
{
	add(builder, "RuntimeMaxUSec", g_variant_new_uint64(unit->seconds * USEC_PER_SEC));
	add(builder, "TimeoutStopUSec", g_variant_new_uint64(STOP_SECONDS * USEC_PER_SEC));
	add(builder, "MemoryMax", g_variant_new_uint64(unit->memory));
	add(builder, "MemorySwapMax", g_variant_new_uint64(0));
	add(builder, "TasksMax", g_variant_new_uint64(TASKS));
	add(builder, "LimitFSIZE", g_variant_new_uint64(unit->largest));
	add(builder, "OOMPolicy", g_variant_new_string("kill"));
	add(builder, "CPUSchedulingPolicy", g_variant_new_int32(SCHEDULE_IDLE));
	add(builder, "IOSchedulingClass", g_variant_new_int32(IO_IDLE));
}

/* Sockets of this system lie below /run, or in the directory that is hidden. */
static void
add_view(GVariantBuilder *builder, const GbeWalledUnit *unit)
{
	const char *const no_see[] = {"-/dev/shm", "-/dev/mqueue",
				      unit->tree == NULL ? unit->hidden : NULL, NULL};

	if (unit->tree != NULL)
		add(builder, "RootDirectory", g_variant_new_string(unit->tree));
	add(builder, "MountAPIVFS", g_variant_new_boolean(TRUE));
	add(builder, "ProtectSystem", g_variant_new_string("strict"));
	add(builder, "ProtectHome", g_variant_new_string("yes"));
	add(builder, "ProtectProc", g_variant_new_string("invisible"));
	add(builder, "TemporaryFileSystem",
	    g_variant_new_parsed("[('/run', 'ro'), ('/var/tmp', 'ro'), ('/tmp', 'ro')]"));
	add(builder, "BindPaths",
	    g_variant_new_parsed("[(%s, %s, false, %t)]", unit->work, GBE_WALLED_PLACE,
				 G_GUINT64_CONSTANT(0)));
	add(builder, "InaccessiblePaths", g_variant_new_strv(no_see, -1));
	add(builder, "ReadWritePaths",
	    g_variant_new_strv((const char *const[]){GBE_WALLED_PLACE, NULL}, -1));
	add(builder, "WorkingDirectory", g_variant_new_string(GBE_WALLED_PLACE));
}

static void
add_rights(GVariantBuilder *builder, const GbeWalledUnit *unit)
{
	static const char *const yes[] = {"PrivateNetwork",	   "PrivateDevices",
					  "PrivateIPC",		   "NoNewPrivileges",
					  "ProtectKernelTunables", "ProtectKernelModules",
					  "ProtectKernelLogs",	   "ProtectControlGroups",
					  "ProtectClock",	   "ProtectHostname",
					  "LockPersonality",	   "RestrictRealtime",
					  "RestrictSUIDSGID",	   NULL};
	static const char *const none[] = {"CapabilityBoundingSet", "AmbientCapabilities",
					   "RestrictNamespaces", NULL};
	g_autofree char *user = g_strdup_printf("%u", unit->uid);
	g_autofree char *group = g_strdup_printf("%u", unit->gid);

	add(builder, "User", g_variant_new_string(user));
	add(builder, "Group", g_variant_new_string(group));
	add(builder, "UMask", g_variant_new_uint32(077));
	add_all(builder, G_VARIANT_TYPE_BOOLEAN, yes, 1);
	add_all(builder, G_VARIANT_TYPE_UINT64, none, 0);
	add(builder, "SystemCallArchitectures",
	    g_variant_new_strv((const char *const[]){"native", NULL}, -1));
	add(builder, "SystemCallFilter", g_variant_new_parsed("(true, ['@system-service'])"));
}

GVariant *
gbe_walled_unit_properties(const GbeWalledUnit *unit)
{
	GVariantBuilder builder, commands;

	g_variant_builder_init(&builder, G_VARIANT_TYPE("a(sv)"));
	add(&builder, "Description", g_variant_new_string("A program on a copy of etcd's data"));
	if (unit->bound_to != NULL)
		add(&builder, "BindsTo",
		    g_variant_new_strv((const char *const[]){unit->bound_to, NULL}, -1));
	add(&builder, "Type", g_variant_new_string("exec"));
	g_variant_builder_init(&commands, G_VARIANT_TYPE("a(sasb)"));
	g_variant_builder_add(&commands, "(s@asb)", unit->argv[0],
			      g_variant_new_strv(unit->argv, -1), FALSE);
	add(&builder, "ExecStart", g_variant_builder_end(&commands));
	add(&builder, "Environment",
	    g_variant_new_strv((const char *const[]){"ETCDCTL_API=3", "LC_ALL=C", NULL}, -1));
	add(&builder, "StandardOutputFileDescriptor", g_variant_new_handle(unit->output_fd));
	add(&builder, "StandardErrorFileDescriptor", g_variant_new_handle(unit->output_fd));
	add_limits(&builder, unit);
	add_view(&builder, unit);
	add_rights(&builder, unit);
	return g_variant_builder_end(&builder);
}

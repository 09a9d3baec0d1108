/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "core/units/walled-unit.h"

#define USEC_PER_SEC G_GUINT64_CONSTANT(1000000)

/* Both idle classes are 5 and 3 in sched(7) and ioprio_set(2). Sockets of this system lie below /run, or in the
 * directory that is hidden. A "+" makes a path that of the unit's own root. systemd takes a number without an account as
 * User= only with DynamicUser=. kill() and tgkill() stay: etcd sends itself signals. The user of its own keeps it from
 * other processes. */
static const char limits[] =
    "{'Description': <'A program on a copy of the data of etcd'>, 'Type': <'exec'>,"
    " 'DynamicUser': <true>, 'RuntimeMaxUSec': <%t>, 'MemoryMax': <%t>, 'LimitFSIZE': <%t>, "
    "'User': <%s>,"
    " 'Group': <%s>, 'StandardOutputFileDescriptor': <%h>, 'StandardErrorFileDescriptor': <%h>,"
    " 'TimeoutStopUSec': <uint64 10000000>, 'MemorySwapMax': <uint64 0>, 'TasksMax': <uint64 128>,"
    " 'OOMPolicy': <'kill'>, 'OOMScoreAdjust': <1000>, 'CPUSchedulingPolicy': <5>, "
    "'IOSchedulingClass': <3>,"
    " 'UMask': <uint32 63>, 'Environment': <['LC_ALL=C']>,"
    " 'BindPaths': <[(%s, '" GBE_WALLED_PLACE "', false, uint64 0)]>,"
    " 'ReadWritePaths': <['+" GBE_WALLED_PLACE "']>, 'WorkingDirectory': <'" GBE_WALLED_PLACE "'>,"
    " 'InaccessiblePaths': <['-+/dev/shm', '-+/dev/mqueue', %s]>,"
    " 'TemporaryFileSystem': <[('/run', 'ro'), ('/var/tmp', 'ro'), ('/tmp', 'ro')]>,"
    " 'MountAPIVFS': <true>, 'ProtectSystem': <'strict'>, 'ProtectHome': <'yes'>,"
    " 'ProtectProc': <'invisible'>, 'PrivateNetwork': <true>, 'PrivateDevices': <true>,"
    " 'PrivateIPC': <true>, 'NoNewPrivileges': <true>, 'ProtectKernelTunables': <true>,"
    " 'ProtectKernelModules': <true>, 'ProtectKernelLogs': <true>, 'ProtectControlGroups': <true>,"
    " 'ProtectClock': <true>, 'ProtectHostname': <true>, 'LockPersonality': <true>,"
    " 'RestrictRealtime': <true>, 'RestrictSUIDSGID': <true>, 'CapabilityBoundingSet': <uint64 0>,"
    " 'AmbientCapabilities': <uint64 0>, 'RestrictNamespaces': <uint64 0>,"
    " 'SystemCallArchitectures': <['native']>, 'SystemCallErrorNumber': <1>}";
GVariant *
gbe_walled_unit_properties(const GbeWalledUnit *unit)
{
	g_autofree char *user = g_strdup_printf("%u", unit->user);
	g_autofree char *hidden =
	    unit->tree == NULL ? g_strconcat("-", unit->hidden, NULL) : g_strdup("-+/sysroot");
	g_autoptr(GVariant) fixed = g_variant_ref_sink(
	    g_variant_new_parsed(limits, unit->seconds * USEC_PER_SEC, unit->memory, unit->largest,
				 user, user, unit->output_fd, unit->output_fd, unit->work, hidden));
	GVariantBuilder builder;
	GVariantIter iter;
	GVariant *value;
	char *name;

	g_variant_builder_init(&builder, G_VARIANT_TYPE("a(sv)"));
	g_variant_iter_init(&iter, fixed);
	while (g_variant_iter_loop(&iter, "{sv}", &name, &value))
		g_variant_builder_add(&builder, "(sv)", name, value);
	/* In this order: the second filter takes from what the first one allows. */
	g_variant_builder_add_parsed(&builder,
				     "('SystemCallFilter', <(true, ['@system-service'])>)");
	g_variant_builder_add_parsed(
	    &builder, "('SystemCallFilter', <(false, ['@debug', 'kcmp', 'pidfd_getfd',"
		      " 'pidfd_send_signal', 'process_madvise', 'process_mrelease',"
		      " 'process_vm_readv', 'process_vm_writev', 'rt_sigqueueinfo',"
		      " 'rt_tgsigqueueinfo', 'tkill'])>)");
	if (unit->own_users)
		g_variant_builder_add_parsed(&builder, "('PrivateUsers', <true>)");
	if (unit->own_pids) {
		g_variant_builder_add_parsed(&builder, "('PrivatePIDs', <'yes'>)");
		g_variant_builder_add_parsed(&builder, "('BindLogSockets', <false>)");
	}
	if (unit->tree != NULL)
		g_variant_builder_add_parsed(&builder, "('RootDirectory', <%s>)", unit->tree);
	if (unit->bound_to != NULL)
		g_variant_builder_add_parsed(&builder, "('BindsTo', <[%s]>)", unit->bound_to);
	g_variant_builder_add_parsed(&builder, "('ExecStart', <[(%s, %^as, false)]>)",
				     unit->argv[0], unit->argv);
	return g_variant_builder_end(&builder);
}

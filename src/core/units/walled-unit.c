/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "core/units/walled-unit.h"

#include <linux/capability.h>
#include <sched.h>

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
    " 'RestrictRealtime': <true>, 'RestrictSUIDSGID': <true>, 'CapabilityBoundingSet': <%t>,"
    " 'AmbientCapabilities': <%t>, 'RestrictNamespaces': <%t>,"
    " 'SystemCallArchitectures': <['native']>, 'SystemCallErrorNumber': <1>}";
/* Before version 257 of systemd, unshare(1) makes the namespace of process ids. Its capability belongs to the unit's
 * own user namespace, which has no file system and no network. setpriv(1) gives the capability up before the program
 * begins. /proc stays that of the system: ProtectProc= shows the program only processes of its own user. */
static const char *const shut_in_argv[] = {
    GBE_WALLED_UNSHARE,
    "--pid",
    "--fork",
    "--kill-child",
    "--",
    GBE_WALLED_SETPRIV,
    "--inh-caps=-all",
    "--ambient-caps=-all",
    "--",
};

GVariant *
gbe_walled_unit_properties(const GbeWalledUnit *unit)
{
	g_autofree char *user = g_strdup_printf("%u", unit->user);
	g_autofree char *hidden =
	    unit->tree == NULL ? g_strconcat("-", unit->hidden, NULL) : g_strdup("-+/sysroot");
	bool shut_in = unit->own_users && !unit->own_pids && unit->util_linux;
	guint64 capabilities = shut_in ? G_GUINT64_CONSTANT(1) << CAP_SYS_ADMIN : 0;
	guint64 namespaces = shut_in ? CLONE_NEWPID : 0;
	g_autoptr(GVariant) fixed = g_variant_ref_sink(
	    g_variant_new_parsed(limits, unit->seconds * USEC_PER_SEC, unit->memory, unit->largest,
				 user, user, unit->output_fd, unit->output_fd, unit->work, hidden,
				 capabilities, capabilities, namespaces));
	g_autoptr(GPtrArray) argv = g_ptr_array_new();
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
	for (guint i = 0; shut_in && i < G_N_ELEMENTS(shut_in_argv); i++)
		g_ptr_array_add(argv, (gpointer)shut_in_argv[i]);
	for (guint i = 0; i == 0 || unit->argv[i - 1] != NULL; i++)
		g_ptr_array_add(argv, (gpointer)unit->argv[i]);
	g_variant_builder_add_parsed(&builder, "('ExecStart', <[(%s, %^as, false)]>)",
				     argv->pdata[0], argv->pdata);
	return g_variant_builder_end(&builder);
}

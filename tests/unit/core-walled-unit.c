/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The walls around a program that works on a copy. */
#include <stdbool.h>

#include "lib/unit.h"

#include "core/units/walled-unit.h"

static GVariant *
property(GVariant *properties, const char *wanted)
{
	GVariantIter iter;
	const char *name;
	GVariant *value;

	g_variant_iter_init(&iter, properties);
	while (g_variant_iter_next(&iter, "(&sv)", &name, &value)) {
		if (g_str_equal(name, wanted))
			return value;
		g_variant_unref(value);
	}
	return NULL;
}

static void
must_be(GVariant *properties, const char *name, const char *text)
{
	g_autoptr(GVariant) value = property(properties, name);
	g_autofree char *printed = value != NULL ? g_variant_print(value, true) : NULL;

	if (text == NULL)
		ck_assert_ptr_null(value);
	else
		ck_assert_str_eq(printed, text);
}

START_TEST(walls)
{
	const char *const argv[] = {"/usr/bin/etcd", "--data-dir=data", NULL};
	GbeWalledUnit unit = {.tree = "/sysroot/os",
			      .hidden = "/var/lib/etcd",
			      .bound_to = "a.service",
			      .work = "/var/w",
			      .output_fd = 7,
			      .argv = argv,
			      .user = 3,
			      .own_users = true,
			      .own_pids = true,
			      .seconds = 9,
			      .memory = 10,
			      .largest = 11};
	g_autoptr(GVariant) with = g_variant_ref_sink(gbe_walled_unit_properties(&unit));
	g_autoptr(GVariant) before = NULL, without = NULL;

	must_be(with, "RootDirectory", "'/sysroot/os'");
	must_be(with, "BindsTo", "['a.service']");
	must_be(with, "User", "'3'");
	must_be(with, "Group", "'3'");
	must_be(with, "DynamicUser", "true");
	must_be(with, "PrivateUsers", "true");
	must_be(with, "PrivatePIDs", "'yes'");
	must_be(with, "BindLogSockets", "false");
	must_be(with, "RuntimeMaxUSec", "uint64 9000000");
	must_be(with, "MemoryMax", "uint64 10");
	must_be(with, "LimitFSIZE", "uint64 11");
	must_be(with, "StandardErrorFileDescriptor", "handle 7");
	must_be(with, "CPUSchedulingPolicy", "5");
	must_be(with, "BindPaths", "[('/var/w', '/run/greenboot-etcd-copy', false, uint64 0)]");
	must_be(with, "ExecStart",
		"[('/usr/bin/etcd', ['/usr/bin/etcd', '--data-dir=data'], false)]");
	must_be(with, "PrivateNetwork", "true");
	must_be(with, "CapabilityBoundingSet", "uint64 0");
	must_be(with, "RestrictNamespaces", "uint64 0");
	/* Before version 257 of systemd, util-linux of the tree makes the namespace of process ids. */
	unit.own_pids = false;
	unit.util_linux = true;
	before = g_variant_ref_sink(gbe_walled_unit_properties(&unit));
	must_be(before, "PrivatePIDs", NULL);
	must_be(before, "CapabilityBoundingSet", "uint64 2097152");
	must_be(before, "AmbientCapabilities", "uint64 2097152");
	must_be(before, "RestrictNamespaces", "uint64 536870912");
	must_be(before, "ExecStart",
		"[('/usr/bin/unshare', ['/usr/bin/unshare', '--pid', '--fork', '--kill-child', "
		"'--', '/usr/bin/setpriv', '--inh-caps=-all', '--ambient-caps=-all', '--', "
		"'/usr/bin/etcd', '--data-dir=data'], false)]");
	unit.tree = unit.bound_to = NULL;
	unit.own_users = false;
	without = g_variant_ref_sink(gbe_walled_unit_properties(&unit));
	must_be(without, "RootDirectory", NULL);
	must_be(without, "BindsTo", NULL);
	must_be(without, "PrivateUsers", NULL);
	must_be(without, "PrivatePIDs", NULL);
	must_be(without, "BindLogSockets", NULL);
	must_be(without, "CapabilityBoundingSet", "uint64 0");
	must_be(without, "ExecStart",
		"[('/usr/bin/etcd', ['/usr/bin/etcd', '--data-dir=data'], false)]");
	must_be(without, "InaccessiblePaths", "['-+/dev/shm', '-+/dev/mqueue', '-/var/lib/etcd']");
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("core-walled-unit");
	TCase *cases = tcase_create("unit");

	tcase_add_test(cases, walls);
	suite_add_tcase(suite, cases);
	return gbe_unit_main(suite);
}

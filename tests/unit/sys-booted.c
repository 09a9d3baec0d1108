/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "sys-root.h"

#include "sys/deployment/booted.h"

#define SUM_A "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
#define SUM_B "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"
#define BOOT "/ostree/boot.1/os/" SUM_B "/0"

START_TEST(directory_names)
{
	static const struct {
		const char *path, *stateroot;
		guint serial;
	} good[] = {
	    {"/ostree/deploy/os/deploy/" SUM_A ".0", "os", 0},
	    {"../../../deploy/fedora-iot/deploy/" SUM_A ".10", "fedora-iot", 10},
	    {"ostree/deploy/a_b.c-d/deploy/" SUM_A ".1/", "a_b.c-d", 1},
	};
	static const char *const bad[] = {
	    "",
	    "/",
	    "/ostree/deploy/os/deploy/",
	    "/ostree/deploy/os/deploy/" SUM_A,
	    "/ostree/deploy/os/deploy/" SUM_A ".",
	    "/ostree/deploy/os/deploy/" SUM_A ".01",
	    "/ostree/deploy/os/deploy/" SUM_A ".-1",
	    "/ostree/deploy/os/deploy/A" SUM_A ".0",
	    "/ostree/deploy/os/deploy/" SUM_A ".0/usr",
	    "/ostree/deploy//deploy/" SUM_A ".0",
	    "deploy/" SUM_A ".0",
	    BOOT,
	};

	for (gsize i = 0; i < G_N_ELEMENTS(good); i++) {
		g_auto(GbeDeployDir) dir = {NULL};

		ck_assert_msg(gbe_deploy_dir_parse(good[i].path, &dir), "%s", good[i].path);
		ck_assert_str_eq(dir.stateroot, good[i].stateroot);
		ck_assert_str_eq(dir.checksum, SUM_A);
		ck_assert_uint_eq(dir.serial, good[i].serial);
	}
	for (gsize i = 0; i < G_N_ELEMENTS(bad); i++) {
		g_auto(GbeDeployDir) dir = {NULL};

		ck_assert_msg(!gbe_deploy_dir_parse(bad[i], &dir), "%s", bad[i]);
		ck_assert_ptr_null(dir.stateroot);
	}
}
END_TEST

static void
expect_resolved(const char *arg, const char *path)
{
	g_auto(GbeDeployDir) dir = {NULL};
	g_autoptr(GError) error = NULL;
	g_autofree char *found = NULL;

	if (!gbe_booted_resolve(root_fd, arg, &dir, &error))
		ck_abort_msg("%s", error->message);
	found = gbe_deploy_dir_path(&dir);
	ck_assert_str_eq(found, path);
}

START_TEST(follows_the_boot_link)
{
	root_link("ostree/boot.1", "boot.1.0");
	root_link("ostree/boot.1.0/os/" SUM_B "/0", "../../../deploy/os/deploy/" SUM_A ".2");
	expect_resolved(BOOT, "ostree/deploy/os/deploy/" SUM_A ".2");
	/* This is the directory's name already. */
	expect_resolved("/ostree/deploy/os/deploy/" SUM_A ".3",
			"ostree/deploy/os/deploy/" SUM_A ".3");
	/* A bootloader without menus has one link more. */
	root_link("ostree/root.a", "boot.1.0/os/" SUM_B "/0");
	expect_resolved("/ostree/root.a", "ostree/deploy/os/deploy/" SUM_A ".2");
	root_link("ostree/root.b", BOOT);
	expect_resolved("/ostree/root.b", "ostree/deploy/os/deploy/" SUM_A ".2");
}
END_TEST

static void
expect_unknown(const char *arg)
{
	g_auto(GbeDeployDir) dir = {NULL};
	g_autoptr(GError) error = NULL;

	ck_assert_msg(!gbe_booted_resolve(root_fd, arg, &dir, &error), "%s", arg);
	ck_assert_msg(strstr(error->message, arg) != NULL, "%s", error->message);
	ck_assert_ptr_null(dir.stateroot);
}

START_TEST(leads_nowhere)
{
	expect_unknown(BOOT);
	root_mkdir("ostree/boot.1/os/" SUM_B);
	expect_unknown(BOOT);
	root_link(BOOT, "elsewhere");
	expect_unknown(BOOT);
	root_link(BOOT, BOOT);
	expect_unknown(BOOT);
	root_remove("ostree/boot.1/os/" SUM_B "/0");
	root_mkdir("ostree/boot.1/os/" SUM_B "/0");
	expect_unknown(BOOT);
}
END_TEST

static GVariant *
target_of(const char *osname, const char *name)
{
	GVariantBuilder b;

	g_variant_builder_init(&b, G_VARIANT_TYPE_VARDICT);
	if (name != NULL)
		g_variant_builder_add(&b, "{sv}", "name", g_variant_new_string(name));
	if (osname != NULL)
		g_variant_builder_add(&b, "{sv}", "osname", g_variant_new_string(osname));
	return g_variant_builder_end(&b);
}

static GBytes *
staged_of(GVariant *target, bool locked)
{
	g_autoptr(GVariant) v = NULL;
	GVariantBuilder b;

	g_variant_builder_init(&b, G_VARIANT_TYPE_VARDICT);
	if (target != NULL)
		g_variant_builder_add(&b, "{sv}", "target", target);
	if (locked)
		g_variant_builder_add(&b, "{sv}", "locked", g_variant_new_boolean(true));
	v = g_variant_ref_sink(g_variant_builder_end(&b));
	return g_bytes_new(g_variant_get_data(v), g_variant_get_size(v));
}

static void
write_staged(GBytes *bytes)
{
	gsize size = 0;
	const void *data = g_bytes_get_data(bytes, &size);

	root_write_bytes("run/ostree/staged-deployment", data, size);
}

START_TEST(staged)
{
	g_autoptr(GBytes) plain = staged_of(target_of("os", SUM_A ".7"), false);
	g_autoptr(GBytes) locked = staged_of(target_of("os", SUM_A ".7"), true);
	g_auto(GbeDeployDir) dir = {NULL};
	g_autoptr(GError) error = NULL;
	bool is_locked = true;

	ck_assert(!gbe_staged_read(root_fd, &dir, &is_locked, &error));
	ck_assert_error(error, GBE_ERROR_NOT_FOUND);
	write_staged(plain);
	ck_assert(gbe_staged_read(root_fd, &dir, &is_locked, NULL));
	ck_assert_str_eq(dir.stateroot, "os");
	ck_assert_str_eq(dir.checksum, SUM_A);
	ck_assert_uint_eq(dir.serial, 7);
	ck_assert(!is_locked);
	gbe_deploy_dir_clear(&dir);
	root_write("run/ostree/staged-deployment-locked", "");
	ck_assert(gbe_staged_read(root_fd, &dir, &is_locked, NULL));
	ck_assert(is_locked);
	gbe_deploy_dir_clear(&dir);
	root_remove("run/ostree/staged-deployment-locked");
	write_staged(locked);
	ck_assert(gbe_staged_read(root_fd, &dir, &is_locked, NULL));
	ck_assert(is_locked);
}
END_TEST

static void
expect_bad(GBytes *bytes)
{
	g_auto(GbeDeployDir) dir = {NULL};
	g_autoptr(GError) error = NULL;
	bool locked = false;
	gsize size = 0;
	const char *data = g_bytes_get_data(bytes, &size);

	ck_assert(!gbe_staged_parse(data, size, &dir, &locked, &error));
	ck_assert_error(error, GBE_ERROR_CORRUPT);
	ck_assert_ptr_null(dir.stateroot);
	g_bytes_unref(bytes);
}

START_TEST(staged_of_any_bytes)
{
	g_autoptr(GBytes) good = staged_of(target_of("os", SUM_A ".7"), true);
	g_autofree char *copy = NULL;
	gsize size = 0;
	const char *data = g_bytes_get_data(good, &size);

	expect_bad(g_bytes_new("", 0));
	expect_bad(g_bytes_new("\xff\xff\xff\xff", 4));
	expect_bad(staged_of(NULL, true));
	expect_bad(staged_of(g_variant_new_string("os"), false));
	expect_bad(staged_of(target_of(NULL, SUM_A ".7"), false));
	expect_bad(staged_of(target_of("os", NULL), false));
	expect_bad(staged_of(target_of("os", SUM_A), false));
	expect_bad(staged_of(target_of("a/b", SUM_A ".7"), false));
	expect_bad(staged_of(target_of("", SUM_A ".7"), false));
	/* Each byte flipped, each length cut: an answer or an error, no crash, and never a name that is no
	 * deployment's. */
	copy = g_memdup2(data, size);
	for (gsize i = 0; i < size; i++) {
		g_auto(GbeDeployDir) flipped = {NULL};
		g_auto(GbeDeployDir) cut = {NULL};
		bool locked = false;

		copy[i] = (char)~copy[i];
		if (gbe_staged_parse(copy, size, &flipped, &locked, NULL))
			ck_assert_uint_eq(strlen(flipped.checksum), 64);
		copy[i] = data[i];
		if (gbe_staged_parse(copy, i, &cut, &locked, NULL))
			ck_assert_uint_eq(strlen(cut.checksum), 64);
	}
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("sys-booted");
	TCase *files = tcase_create("files");

	tcase_add_checked_fixture(files, root_setup, root_teardown);
	tcase_add_test(files, directory_names);
	tcase_add_test(files, follows_the_boot_link);
	tcase_add_test(files, leads_nowhere);
	tcase_add_test(files, staged);
	tcase_add_test(files, staged_of_any_bytes);
	suite_add_tcase(suite, files);
	return scratch_main(suite);
}

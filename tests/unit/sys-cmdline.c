/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "sys-root.h"

#include "sys/deployment/booted.h"

static GbeCmdline
parse(const char *text)
{
	GbeCmdline cmdline = {NULL};

	gbe_cmdline_parse(text, &cmdline);
	return cmdline;
}

START_TEST(takes_what_it_knows)
{
	GbeCmdline c =
	    parse("BOOT_IMAGE=(hd0,gpt3)/vmlinuz quiet "
		  "ostree=/ostree/boot.1/fedora-iot/abc/0 greenboot-etcd.restore=last-good "
		  "rd.greenboot-etcd.restore=undo rw\n");

	ck_assert_str_eq(c.ostree, "/ostree/boot.1/fedora-iot/abc/0");
	ck_assert_str_eq(c.restore, "last-good");
	ck_assert_str_eq(c.rd_restore, "undo");
	ck_assert(!c.skip);
	ck_assert(!c.rd_skip);
	gbe_cmdline_clear(&c);
	ck_assert_ptr_null(c.ostree);
}
END_TEST

START_TEST(absent_is_null)
{
	static const char *const texts[] = {
	    "",
	    "\n",
	    "   ",
	    "=",
	    "\"",
	    "\"\"",
	    "ostree",
	    "ostree=",
	    "xgreenboot-etcd.restore=a",
	    "greenboot-etcd.restored=a",
	    "greenboot-etcd.restore",
	    "greenboot-etcd.skipp",
	    "\"quiet greenboot-etcd.restore=a\"",
	};

	for (gsize i = 0; i < G_N_ELEMENTS(texts); i++) {
		GbeCmdline c = parse(texts[i]);

		ck_assert_msg(c.ostree == NULL, "%s", texts[i]);
		ck_assert_msg(c.restore == NULL, "%s", texts[i]);
		ck_assert_msg(c.rd_restore == NULL, "%s", texts[i]);
		ck_assert_msg(!c.skip && !c.rd_skip, "%s", texts[i]);
		gbe_cmdline_clear(&c);
	}
}
END_TEST

START_TEST(last_one_wins)
{
	GbeCmdline c = parse("greenboot-etcd.restore=a greenboot-etcd.restore=b");
	GbeCmdline taken_back = parse("greenboot-etcd.restore=a greenboot-etcd.restore=");

	ck_assert_str_eq(c.restore, "b");
	ck_assert_ptr_null(taken_back.restore);
	gbe_cmdline_clear(&c);
	gbe_cmdline_clear(&taken_back);
}
END_TEST

START_TEST(quotes_as_the_kernel_has_them)
{
	GbeCmdline c = parse("x=\"a greenboot-etcd.skip b\" greenboot-etcd.restore=\"two words\"");
	GbeCmdline whole = parse("\"greenboot-etcd.restore=two words\" ostree=/o");
	GbeCmdline open_end = parse("greenboot-etcd.restore=\"no end ostree=/o");

	ck_assert_str_eq(c.restore, "two words");
	ck_assert(!c.skip);
	ck_assert_str_eq(whole.restore, "two words");
	ck_assert_str_eq(whole.ostree, "/o");
	ck_assert_str_eq(open_end.restore, "no end ostree=/o");
	ck_assert_ptr_null(open_end.ostree);
	gbe_cmdline_clear(&c);
	gbe_cmdline_clear(&whole);
	gbe_cmdline_clear(&open_end);
}
END_TEST

START_TEST(switches)
{
	static const struct {
		const char *text;
		bool skip, rd_skip;
	} cases[] = {
	    {"greenboot-etcd.skip", true, false},
	    {"greenboot_etcd.skip", true, false},
	    {"greenboot-etcd.skip=1", true, false},
	    {"greenboot-etcd.skip=yes", true, false},
	    {"greenboot-etcd.skip=0", false, false},
	    {"greenboot-etcd.skip=No", false, false},
	    {"greenboot-etcd.skip greenboot-etcd.skip=off", false, false},
	    {"rd.greenboot-etcd.skip", false, true},
	    {"rd.greenboot-etcd.skip=false greenboot-etcd.skip", true, false},
	};

	for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
		GbeCmdline c = parse(cases[i].text);

		ck_assert_msg(c.skip == cases[i].skip, "%s", cases[i].text);
		ck_assert_msg(c.rd_skip == cases[i].rd_skip, "%s", cases[i].text);
		gbe_cmdline_clear(&c);
	}
}
END_TEST

START_TEST(read_below_a_root)
{
	g_autoptr(GError) error = NULL;
	GbeCmdline c = {NULL};

	ck_assert(!gbe_cmdline_read(root_fd, &c, &error));
	ck_assert_error(error, GBE_ERROR_NOT_FOUND);
	root_write("proc/cmdline", "ostree=/ostree/boot.0/x/y/0 greenboot-etcd.skip\n");
	ck_assert(gbe_cmdline_read(root_fd, &c, NULL));
	ck_assert_str_eq(c.ostree, "/ostree/boot.0/x/y/0");
	ck_assert(c.skip);
	gbe_cmdline_clear(&c);
}
END_TEST

START_TEST(masks)
{
	GbeCmdline c = parse("systemd.mask=a.service quiet systemd.mask= rd.systemd.mask=b.service "
			     "systemd.mask=c systemd.wants=d.service");

	ck_assert_uint_eq(c.masked->len, 2);
	ck_assert_str_eq(c.masked->pdata[0], "a.service");
	ck_assert_str_eq(c.masked->pdata[1], "c");
	gbe_cmdline_clear(&c);
	ck_assert_ptr_null(c.masked);
}
END_TEST

START_TEST(read_of_this_machine)
{
	GbeCmdline c = {NULL};
	int slash = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	ck_assert(gbe_cmdline_read(slash, &c, NULL));
	gbe_cmdline_clear(&c);
	(void)close(slash);
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("sys-cmdline");
	TCase *memory = tcase_create("memory");
	TCase *files = tcase_create("files");

	tcase_add_test(memory, takes_what_it_knows);
	tcase_add_test(memory, absent_is_null);
	tcase_add_test(memory, last_one_wins);
	tcase_add_test(memory, quotes_as_the_kernel_has_them);
	tcase_add_test(memory, switches);
	tcase_add_test(memory, masks);
	suite_add_tcase(suite, memory);
	tcase_add_checked_fixture(files, root_setup, root_teardown);
	tcase_add_test(files, read_below_a_root);
	tcase_add_test(files, read_of_this_machine);
	suite_add_tcase(suite, files);
	return scratch_main(suite);
}

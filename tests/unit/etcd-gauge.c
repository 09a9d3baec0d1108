/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "lib/unit.h"

#include "etcd/api/client.h"

#include <string.h>

/* -1: it is another line. */
static double
line(const char *name, const char *text)
{
	double value = -1;

	if (!gbe_gauge_line(name, text, strlen(text), &value))
		ck_assert(value < 0);
	return value;
}

START_TEST(lines)
{
	static const struct {
		const char *name, *text;
		double value;
	} cases[] = {
	    {GBE_GAUGE_DEFRAG, "etcd_disk_defrag_inflight 0", 0},
	    {GBE_GAUGE_DEFRAG, "etcd_disk_defrag_inflight 1", 1},
	    {GBE_GAUGE_QUOTA, "etcd_server_quota_backend_bytes 1.6777216e+07", 16777216},
	    {GBE_GAUGE_QUOTA, "etcd_server_quota_backend_bytes 2.147483648e+09", 2147483648.0},
	    {GBE_GAUGE_QUOTA, "etcd_disk_defrag_inflight 1", -1},
	    {GBE_GAUGE_DEFRAG, "etcd_disk_defrag_inflight", -1},
	    {GBE_GAUGE_DEFRAG, "etcd_disk_defrag_inflight ", -1},
	    {GBE_GAUGE_DEFRAG, "etcd_disk_defrag_inflight x", -1},
	    {GBE_GAUGE_DEFRAG, "etcd_disk_defrag_inflight 1 2", -1},
	    {GBE_GAUGE_DEFRAG, "etcd_disk_defrag_inflight +Inf", -1},
	    {GBE_GAUGE_DEFRAG, "etcd_disk_defrag_inflight 1e999", -1},
	    {GBE_GAUGE_DEFRAG, "etcd_disk_defrag_inflight -1", -1},
	    {GBE_GAUGE_DEFRAG, "etcd_disk_defrag_inflight_more 1", -1},
	    {GBE_GAUGE_DEFRAG, "# TYPE etcd_disk_defrag_inflight gauge", -1},
	    {GBE_GAUGE_DEFRAG, "", -1},
	};

	for (gsize i = 0; i < G_N_ELEMENTS(cases); i++)
		ck_assert_msg(line(cases[i].name, cases[i].text) == cases[i].value, "%s",
			      cases[i].text);
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("etcd-gauge");
	TCase *tcase = tcase_create("gauge");

	tcase_add_test(tcase, lines);
	suite_add_tcase(suite, tcase);
	return gbe_unit_main(suite);
}

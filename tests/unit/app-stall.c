/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A writer beside a real etcd that is held up, killed, or not there. */
#include "etcd-real.h"

#include "app/stall.h"
#include "etcd/client.h"

#define MS G_GINT64_CONSTANT(1000)

static gint64
revision(const GbeEndpoint *endpoint)
{
	g_auto(GbeCallFailure) failure = {0};
	g_autoptr(GbeClient) client = NULL;
	GbeEtcdStatus status = {{0}};
	gint64 at;

	if (!gbe_client_open(endpoint, &client, &failure) ||
	    !gbe_client_status(client, g_get_monotonic_time() + 5000 * MS, &status, &failure))
		ck_abort_msg("%s", failure.why);
	at = status.header.revision;
	gbe_message_clear(GBE_MESSAGE_STATUS, &status);
	return at;
}

START_TEST(held_up)
{
	g_autofree char *data = root_path("data");
	GbeEndpoint endpoint = {0};
	GbeStall *stall;
	gint64 longest;
	Etcd etcd;

	if (!have_etcd_of("held-up", _i))
		return;
	etcd_start(&etcd, data);
	etcd_put(&etcd, "k", "v");
	endpoint.endpoint = etcd.endpoint;
	stall = gbe_stall_begin(&endpoint);
	g_usleep(100 * MS);
	ck_assert_int_eq(kill(etcd.pid, SIGSTOP), 0);
	g_usleep(700 * MS);
	ck_assert_int_eq(kill(etcd.pid, SIGCONT), 0);
	g_usleep(300 * MS);
	longest = gbe_stall_end(stall);
	/* It began to write before it was held up, or up to a pause later. */
	ck_assert_int_ge(longest, 600 * MS);
	ck_assert_int_lt(longest, 5000 * MS);
	ck_assert_int_eq(revision(&endpoint), 2);
	etcd_end(&etcd, SIGTERM);
}
END_TEST

/* Who is turned away goes on waiting. */
START_TEST(killed)
{
	g_autofree char *data = root_path("data");
	g_autofree char *url = NULL;
	GbeEndpoint endpoint = {0};
	GbeStall *stall;
	Etcd etcd;

	if (!have_etcd_of("killed", _i))
		return;
	etcd_start(&etcd, data);
	endpoint.endpoint = url = g_strdup(etcd.endpoint);
	stall = gbe_stall_begin(&endpoint);
	g_usleep(50 * MS);
	etcd_end(&etcd, SIGKILL);
	g_usleep(500 * MS);
	ck_assert_int_ge(gbe_stall_end(stall), 400 * MS);
}
END_TEST

START_TEST(nobody_there)
{
	const GbeEndpoint endpoint = {.endpoint = "http://127.0.0.1:9"};

	ck_assert_int_eq(gbe_stall_end(gbe_stall_begin(&endpoint)), -1);
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("app-stall");
	TCase *files = tcase_create("files");

	tcase_add_checked_fixture(files, root_setup, root_teardown);
	tcase_set_timeout(files, 60);
	tcase_add_loop_test(files, held_up, 0, N_ETCDS);
	tcase_add_loop_test(files, killed, 0, N_ETCDS);
	tcase_add_test(files, nobody_there);
	suite_add_tcase(suite, files);
	return scratch_main(suite);
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The operations on certificates that are made on the device: init, renew and rotate-ca. No etcd runs below --root, so that
 * no operation waits for its health. lib/operations.h has the cases that each operation gets. A new operation is a line in
 * the table. All of them need root.
 */
#include "lib/operations.h"

#include "certs/change.h"

/* ---- the operations ---- */

static bool
change(GbeApp *app, GbePkiVerb verb, GbePkiOptions options, GError **error)
{
	g_autoptr(GbePkiResult) result = gbe_pki_result_new();

	options.dry_run = dry;
	options.timeout = 1;
	return gbe_pki_change(app, verb, &options, result, error);
}

static bool
init(GbeApp *app, GError **error)
{
	return change(app, GBE_PKI_INIT, (GbePkiOptions){0}, error);
}

static bool
renew(GbeApp *app, GError **error)
{
	return change(app, GBE_PKI_RENEW, (GbePkiOptions){.force = true}, error);
}

static bool
rotate(GbeApp *app, GError **error)
{
	return change(app, GBE_PKI_ROTATE, (GbePkiOptions){0}, error);
}

static bool
rotate_back(GbeApp *app, GError **error)
{
	return change(app, GBE_PKI_ROTATE, (GbePkiOptions){.undo = true}, error);
}

/* ---- the devices ---- */

static void
plain_device(void)
{
	device_used();
}

static void
certified_device(void)
{
	plain_device();
	device_does(init);
}

static void
rotating_device(void)
{
	certified_device();
	device_does(rotate);
}

/* The number of the certificates' change, the stage of a rotation, and the files that are missing. */
static char *
certs_tell(void)
{
	g_autoptr(GbePki) pki = NULL;
	g_autoptr(GError) error = NULL;
	GString *text = g_string_new(NULL);
	GbeApp *app = device_app();

	if (!gbe_pki_read(app, &pki, &error))
		ck_abort_msg("%s", error->message);
	gbe_app_free(app);
	if (pki == NULL)
		return g_string_free(g_string_append(text, "none"), false);
	g_string_append_printf(text, "change %" G_GINT64_FORMAT ", stage %d",
			       (gint64)pki->record.sequence, (int)pki->record.rotation);
	for (guint i = 0; i < GBE_LEAVES; i++)
		if (pki->certificates[i] == NULL || pki->keys[i] == NULL)
			g_string_append_printf(text, ", no %s", gbe_leaf_names[i]);
	return g_string_free(text, false);
}

/* ---- the table ---- */

static const Operation operations[] = {
    {"certs init", plain_device, init, OPERATION_DRY_RUN, "none", "change 1, stage 0"},
    {"certs renew", certified_device, renew, OPERATION_DRY_RUN, "change 1, stage 0",
     "change 2, stage 0"},
    {"certs rotate-ca", certified_device, rotate, OPERATION_DRY_RUN, "change 1, stage 0",
     "change 2, stage 1"},
    {"certs rotate-ca --undo", rotating_device, rotate_back, OPERATION_DRY_RUN, "change 2, stage 1",
     "change 3, stage 0"},
};

START_TEST(lock_is_held)
{
	certified_device();
	operations_meet_lock(DEVICE_STATE "/lock", "change 1, stage 0");
}
END_TEST

static const char *const elsewhere[] = {NULL};
static const char *const sources[] = {"certs/change.c", "certs/rotate.c", NULL};

int
main(void)
{
	Suite *suite = suite_create("certs-operations");

	if (!have_root("certs-operations"))
		return EXIT_SUCCESS;
	operations_add(suite, &(Operations){.all = operations,
					    .n = G_N_ELEMENTS(operations),
					    .tells = certs_tell,
					    .sources = sources,
					    .elsewhere = elsewhere,
					    .steps = 11});
	operations_add_case(suite, "lock is held", lock_is_held, 1);
	return device_main(suite);
}

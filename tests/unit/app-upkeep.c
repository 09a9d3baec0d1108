/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Operations that need no running etcd, next to those by hand: import, export, defrag and certs reset. lib/operations.h has
 * the cases that each of them gets. A new operation is a line in the table.
 *
 * etcd's own tool is a program here that ends at once with success. So the rows are those of before, which is all that
 * defrag requires. tests/integration has the real tool.
 */
#include "lib/operations.h"

#include "app/certs/certs.h"
#include "app/snapshot/export.h"
#include "app/snapshot/import.h"
#include "app/upkeep/defrag.h"

#define TLS "etc/tls"

/* ---- the operations ---- */

static bool
import(GbeApp *app, GError **error)
{
	const GbeImport options = {.path = "/srv/copy"};
	g_auto(GbeImported) imported = {0};

	return gbe_import(app, &options, &imported, error);
}

static bool export(GbeApp *app, GError **error)
{
	const GbeExport options = {.name = "kept", .path = "/srv/kept.db"};
	g_auto(GbeExported) exported = {0};

	return gbe_export(app, &options, &exported, error);
}

static bool
defrag_data(GbeApp *app, GError **error)
{
	const GbeDefrag options = {.timeout = 60, .dry_run = dry};
	g_auto(GbeDefragResult) result = {0};

	return gbe_defrag_data(app, &options, &result, error);
}

static bool
defrag_backup(GbeApp *app, GError **error)
{
	const GbeDefrag options = {.timeout = 60, .dry_run = dry};
	g_auto(GbeDefragResult) result = {0};

	return gbe_defrag_backup(app, "kept", NULL, &options, &result, error);
}

static bool
reset_certs(GbeApp *app, GError **error)
{
	const GbeCertsResetOptions options = {.dry_run = dry};
	g_autoptr(GbeCertsReset) reset = NULL;

	return gbe_certs_reset(app, &options, &reset, error);
}

static bool
undo_reset(GbeApp *app, GError **error)
{
	const GbeCertsResetOptions options = {.undo = true, .dry_run = dry};
	g_autoptr(GbeCertsReset) reset = NULL;

	return gbe_certs_reset(app, &options, &reset, error);
}

/* ---- the devices ---- */

/* /srv/copy has the content "d", and the data is "c". */
static void
upkeep_device(void)
{
	g_autofree char *data = NULL, *copy = NULL, *tool = NULL;

	device_used();
	device_etcd_writes('d');
	root_mkdir("srv");
	root_mkdir("usr/bin");
	data = root_path(DEVICE_DATA);
	copy = root_path("srv/copy");
	tool = root_path("usr/bin/etcdutl");
	ck_assert_int_eq(RUN("cp", "-a", data, copy), 0);
	ck_assert_int_eq(RUN("cp", "/bin/true", tool), 0);
	device_etcd_writes('c');
	root_write(DEVICE_CONF,
		   DEVICE_CONF_TEXT "[certs]\ndirectories=/" TLS "\nregenerated=*.crt\n");
	root_write(TLS "/ca.key", "a key");
	root_write(TLS "/peer.crt", "a certificate");
	root_write(TLS "/server.crt", "a certificate");
}

static void
reset_device(void)
{
	upkeep_device();
	device_does(reset_certs);
}

/* The data, the backups, and the names of files in /srv and /etc/tls. */
static char *
upkeep_tells(void)
{
	static const char *const places[] = {"srv", TLS};
	g_autofree char *device = device_tells();
	GString *text = g_string_new(device);

	for (gsize i = 0; i < G_N_ELEMENTS(places); i++) {
		g_autofree char *path = root_path(places[i]);
		g_autoptr(GPtrArray) names = g_ptr_array_new_with_free_func(g_free);
		g_autoptr(GDir) dir = g_dir_open(path, 0, NULL);

		for (const char *name; dir != NULL && (name = g_dir_read_name(dir)) != NULL;)
			/* The next call replaces what a cut left under this name. */
			if (!g_str_has_suffix(name, ".part"))
				g_ptr_array_add(names, g_strdup(name));
		g_ptr_array_sort(names, device_by_text);
		g_string_append(text, ";");
		for (guint k = 0; k < names->len; k++)
			g_string_append_printf(text, " %s", (char *)names->pdata[k]);
	}
	return g_string_free(text, false);
}

/* `certs reset --undo` puts the files of an interrupted reset back. */
static bool
recover(GbeApp *app, GError **error)
{
	g_autofree char *open = root_path(DEVICE_STATE "/certs/1.open");
	g_autofree char *second = root_path(DEVICE_STATE "/certs/2.open");

	return device_recovers(app, error) && ((!g_file_test(open, G_FILE_TEST_EXISTS) &&
						!g_file_test(second, G_FILE_TEST_EXISTS)) ||
					       undo_reset(app, error));
}

/* ---- the table ---- */

#define USED "data c; backups a unproven, b unproven"
#define FILES "; copy; ca.key peer.crt server.crt"
#define WITHOUT "; copy; ca.key"

static const Operation operations[] = {
    {"import", upkeep_device, import, 0, USED FILES, USED ", d unproven" FILES},
    {"export", upkeep_device, export, 0, USED FILES,
     USED "; copy kept.db; ca.key peer.crt server.crt"},
    /* The rest needs root: etcd's tool runs as the owner of the database. */
    {"defrag --data", upkeep_device, defrag_data, OPERATION_DRY_RUN, USED FILES,
     USED ", c unproven" FILES},
    {"defrag BACKUP", upkeep_device, defrag_backup, OPERATION_DRY_RUN, USED FILES,
     USED ", b unproven" FILES},
    {"certs reset", upkeep_device, reset_certs, OPERATION_DRY_RUN, USED FILES, USED WITHOUT},
    {"certs reset --undo", reset_device, undo_reset, OPERATION_DRY_RUN, USED WITHOUT, USED FILES},
};

START_TEST(lock_is_held)
{
	upkeep_device();
	operations_meet_lock(DEVICE_STATE "/lock", USED FILES);
}
END_TEST

/* etcd's tool fails: the data and the backups are those of before, next to the backup that defrag makes first. */
START_TEST(tool_fails)
{
	static const DeviceOperation with_tool[] = {defrag_data, defrag_backup};
	g_autofree char *tool = NULL;

	upkeep_device();
	tool = root_path("usr/bin/etcdutl");
	ck_assert_int_eq(RUN("cp", "/bin/false", tool), 0);
	for (guint i = 0; i < G_N_ELEMENTS(with_tool); i++) {
		DeviceEnd end = device_plays(with_tool[i], NULL);

		ck_assert_msg(end.code >= 0, "operation %u went well", i);
	}
	operations_require("a tool that fails", USED ", c unproven" FILES);
}
END_TEST

/* A running etcd has the data open, and another one the directory that is imported. */
START_TEST(etcd_runs)
{
	DeviceEnd end;
	pid_t etcd;

	upkeep_device();
	etcd = device_runs_etcd();
	end = device_plays(defrag_data, NULL);
	ck_assert_msg(end.code == GBE_ERROR_BUSY && strstr(end.message, "without --data") != NULL,
		      "%d %s", end.code, end.message);
	device_stops(etcd);
	etcd = device_locks("srv/copy/member/snap/db");
	end = device_plays(import, NULL);
	ck_assert_msg(end.code == GBE_ERROR_BUSY && strstr(end.message, "stop it first") != NULL,
		      "%d %s", end.code, end.message);
	device_stops(etcd);
	operations_require("a running etcd", USED FILES);
}
END_TEST

static const char *const elsewhere[] = {
    "defrag-looked", /* these four are for a running etcd */
    "defrag-locked", "defrag-asked", "defrag-reported", NULL,
};
/* Without root, only the first two operations, and the last source. */
static const char *const sources[] = {"app/upkeep/defrag.c", "app/certs/reset.c",
				      "app/snapshot/import.c", NULL};

int
main(void)
{
	Suite *suite = suite_create("upkeep");
	bool all = have_root("defrag and certs-reset");

	operations_add(suite, &(Operations){.all = operations,
					    .n = all ? G_N_ELEMENTS(operations) : 2,
					    .tells = upkeep_tells,
					    .mends = recover,
					    .sources = all ? sources : sources + 2,
					    .elsewhere = elsewhere,
					    .steps = all ? 16 : 3});
	operations_add_case(suite, "lock is held", lock_is_held, 1);
	operations_add_case(suite, "tool fails", tool_fails, 1);
	operations_add_case(suite, "etcd runs", etcd_runs, 1);
	return device_main(suite);
}

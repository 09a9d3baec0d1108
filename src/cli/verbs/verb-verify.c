/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* verify: is the object sound? The exit status also answers. */
#include "app/backup/backup.h"
#include "app/backups/verify.h"
#include "cli/observe.h"
#include "cli/print.h"
#include "cli/verb.h"
#include "core/decide/situation.h"
#include "core/json/parse.h"
#include "sys/systemd/events.h"

#include <string.h>

static gboolean arg_data, arg_full, arg_quick;

const GbeOption gbe_options_verify[] = {
    {"data", 0, &arg_data, "Check the data directory; etcd must be stopped"},
    {"full", 0, &arg_full, "Read every page and row, and compare recorded digests"},
    {"quick", 0, &arg_quick, "With --full: skip checks that need memory for each key"},
    {NULL},
};

static const GbeFinding *
damage_of(const GbeVerification *verification)
{
	const GbeFinding *worst = gbe_findings_first(&verification->findings);
	bool damaged = worst != NULL && worst->severity == GBE_FINDING_DAMAGE;

	return damaged && verification->kind == GBE_VERIFY_BACKUP ? worst : NULL;
}

/* A backup that is found damaged is graded bad at once (app/backup/backup.h), and the advice names another one. A record
 * that fails is reported on stderr. */
static void
record_damage(GbeApp *app, GbeObserved *observed, const GPtrArray *verifications)
{
	const GbeManifest *other;
	guint damaged = 0;

	for (guint i = 0; i < verifications->len; i++) {
		const GbeVerification *verification = verifications->pdata[i];
		const GbeFinding *finding = damage_of(verification);
		g_autofree char *why = finding != NULL ? gbe_finding_to_text(finding) : NULL;
		g_autoptr(GError) error = NULL;

		if (finding == NULL)
			continue;
		damaged++;
		if (!gbe_damage_record(app, observed, verification->name, why, "verify", &error))
			gbe_complain("that %s is damaged is not recorded: %s", verification->name,
				     error->message);
	}
	if (damaged == 0)
		return;
	other = gbe_situation_last_good(observed->facts);
	for (guint i = 0; i < verifications->len; i++) {
		GbeVerification *verification = verifications->pdata[i];

		if (damage_of(verification) == NULL)
			continue;
		g_free(verification->advice);
		verification->advice =
		    other != NULL
			? g_strdup_printf("do not restore it; the newest good backup that is not "
					  "damaged is %s (`greenboot-etcd restore %s`)",
					  other->name, other->name)
			: g_strdup("do not restore it; there is no good backup that is not "
				   "damaged: `greenboot-etcd backup --stop` makes one of the "
				   "present data");
	}
	gbe_status_refresh(app, observed, "verify");
}

/* Without a name, all backups that have data. */
static bool
verify_store(GbeCli *cli, const GbeObserved *observed, char **names,
	     const GbeVerifyOptions *options, GPtrArray *all, GError **error)
{
	g_autoptr(GPtrArray) backups = g_ptr_array_new();
	g_autoptr(GPtrArray) wanted = g_ptr_array_new();

	/* In the order of `list`. */
	g_ptr_array_extend(backups, observed->facts->backups, NULL, NULL);
	g_ptr_array_sort(backups, gbe_manifest_newest_first);
	for (guint i = 0; names[i] != NULL; i++)
		if (strchr(names[i], '/') == NULL)
			g_ptr_array_add(wanted, names[i]);
	for (guint i = 0; *names == NULL && i < backups->len; i++)
		if (!((const GbeManifest *)backups->pdata[i])->consumed)
			g_ptr_array_add(wanted, ((const GbeManifest *)backups->pdata[i])->name);
	for (guint i = 0; i < wanted->len; i++) {
		const GbeManifest *manifest = NULL;
		GbeVerification *verification = NULL;

		if (!gbe_cli_find_backup(observed, wanted->pdata[i], &manifest, error) ||
		    !gbe_verify_backup(cli->app, observed->store, manifest, options, &verification,
				       error))
			return false;
		g_ptr_array_add(all, verification);
	}
	return true;
}

static bool
verify_all(GbeCli *cli, char **arguments, const GbeVerifyOptions *options, GPtrArray *all,
	   GError **error)
{
	bool names = *arguments == NULL && !arg_data;
	GbeVerification *verification = NULL;

	for (guint i = 0; arguments[i] != NULL; i++) {
		if (strchr(arguments[i], '/') == NULL) {
			names = true;
			continue;
		}
		if (!gbe_verify_path(cli->app, arguments[i], options, &verification, error))
			return false;
		g_ptr_array_add(all, verification);
	}
	if (names) {
		g_autoptr(GbeObserved) observed = NULL;
		bool ok;

		if (!gbe_cli_observe_as_root(cli, false, &observed, error))
			return false;
		ok = verify_store(cli, observed, arguments, options, all, error);
		/* Also record findings from before an unreadable backup. */
		record_damage(cli->app, observed, all);
		if (!ok)
			return false;
	}
	if (arg_data) {
		g_autoptr(GbeData) data = NULL;

		if (!gbe_data_open(cli->app, &data, error) ||
		    !gbe_verify_data(cli->app, data, options, &verification, error))
			return false;
		g_ptr_array_add(all, verification);
	}
	return true;
}

static void
print_finding(const GbeVerification *verification, const GbeFinding *finding)
{
	g_autofree char *text = gbe_finding_to_text(finding);
	const char *starts = NULL;

	gbe_print("  %s: %s\n", gbe_severity_to_string(finding->severity), text);
	if (finding->severity != GBE_FINDING_DAMAGE)
		return;
	if (finding->etcd_notices == GBE_YES)
		starts = "etcd would not start on it";
	else if (finding->etcd_notices == GBE_NO && finding->loses_data == GBE_YES)
		starts = "etcd would start on it, say nothing, and lose data";
	else if (finding->etcd_notices == GBE_NO)
		starts = "etcd would start on it and say nothing";
	if (starts != NULL)
		gbe_print("    %s\n", starts);
	gbe_print("    to do: %s\n", gbe_verification_advice(verification, finding));
}

static void
print_figures(const GbeVerification *verification)
{
	const GbeDb *db = &verification->directory.db;
	const GbeWal *wal = &verification->directory.wal;

	if (db->present && db->revision > 0 && db->has_hash)
		gbe_print("  revision %" G_GINT64_FORMAT ", %" G_GUINT64_FORMAT
			  " rows in all, snapshot hash %x\n",
			  db->revision, db->keys, db->snapshot_hash);
	else if (db->present && db->revision > 0)
		gbe_print("  revision %" G_GINT64_FORMAT "\n", db->revision);
	if (db->has_hash_kv)
		gbe_print("  HashKV %u at revision %" G_GINT64_FORMAT "\n", db->hash_kv,
			  db->revision);
	if (wal->segments != NULL && wal->complete)
		gbe_print("  log: %u segment%s, %" G_GUINT64_FORMAT
			  " records up to entry %" G_GUINT64_FORMAT
			  "; the database has %" G_GUINT64_FORMAT "\n",
			  wal->segments->len, wal->segments->len == 1 ? "" : "s", wal->records,
			  wal->last_entry, db->consistent_index);
}

static void
print_text(const GbeCli *cli, const GbeVerification *verification)
{
	const GPtrArray *items = verification->findings.items;

	gbe_print("%s %s: %s (%s)\n", gbe_verify_kind_to_string(verification->kind),
		  verification->name, gbe_verification_result(verification),
		  verification->level == GBE_VERIFY_FULL ? "full" : "sanity");
	if (cli->quiet)
		return;
	for (guint i = 0; i < items->len; i++) {
		const GbeFinding *finding = items->pdata[i];

		if (finding->severity != GBE_FINDING_NOTE || cli->verbose)
			print_finding(verification, finding);
	}
	if (verification->findings.dropped > 0)
		gbe_print("  and %u more\n", verification->findings.dropped);
	print_figures(verification);
}

/* The result for all objects together. Damage outweighs an unknown result, because it is certain. */
static const char *
judge(GbeCli *cli, const GPtrArray *all)
{
	const char *result = "sound";

	for (guint i = 0; i < all->len; i++) {
		const GbeVerification *verification = all->pdata[i];
		const char *own = gbe_verification_result(verification);

		if (g_str_equal(own, "damaged") || g_str_equal(result, "sound"))
			result = own;
	}
	if (g_str_equal(result, "damaged"))
		cli->status = GBE_EXIT_UNHEALTHY;
	else if (g_str_equal(result, "cannot-tell"))
		cli->status = GBE_EXIT_CANNOT_TELL;
	return result;
}

bool
gbe_verb_verify(GbeCli *cli, char **arguments, GError **error)
{
	g_autoptr(GPtrArray) all =
	    g_ptr_array_new_with_free_func((GDestroyNotify)gbe_verification_free);
	const GbeVerifyOptions options = {.level = arg_full ? GBE_VERIFY_FULL : GBE_VERIFY_SANITY,
					  .quick = arg_quick};
	const char *result;

	if (arg_quick && !arg_full)
		return gbe_throw(error, GBE_ERROR_USAGE,
				 "--quick goes with --full: the default looks at less anyway");
	if (!verify_all(cli, arguments, &options, all, error))
		return false;
	result = judge(cli, all);
	if (cli->json) {
		g_autoptr(JsonObject) object = gbe_json_answer();
		JsonArray *array = json_array_new();

		for (guint i = 0; i < all->len; i++)
			json_array_add_object_element(array,
						      gbe_verification_to_json(all->pdata[i]));
		gbe_json_set_string(object, "result", result);
		json_object_set_array_member(object, "verified", array);
		gbe_print_object(object);
	}
	for (guint i = 0; i < all->len && !cli->json; i++)
		print_text(cli, all->pdata[i]);
	if (all->len == 0 && !cli->json && !cli->quiet)
		gbe_print("There is no backup to verify.\n");
	return true;
}

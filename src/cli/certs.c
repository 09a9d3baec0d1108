/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cli/certs.h"
#include "app/certs/certs.h"
#include "app/health/certificates.h"
#include "cli/print.h"
#include "core/json/members.h"
#include "core/json/parse.h"
#include "fs/open.h"

#define DAY 86400

static JsonObject *
file_json(const GbeCert *cert)
{
	JsonObject *object = json_object_new();
	g_autofree char *mode = g_strdup_printf("%04o", (guint)cert->mode);

	gbe_json_set_string(object, "path", cert->path);
	json_object_set_int_member(object, "position", cert->position);
	gbe_json_set_string(object, "mode", mode);
	json_object_set_int_member(object, "owner", (gint64)cert->owner);
	json_object_set_int_member(object, "group", (gint64)cert->group);
	gbe_json_set_string(object, "problem", cert->problem);
	return object;
}

static JsonObject *
certificate_json(const GbeCert *cert)
{
	const GbePem *pem = cert->pem;
	JsonObject *object = file_json(cert);

	gbe_json_set_string(object, "subject", pem->subject);
	gbe_json_set_string(object, "issuer", pem->issuer);
	gbe_json_set_strv(object, "names", pem->names);
	json_object_set_boolean_member(object, "ca", pem->ca);
	gbe_json_set_known(object, "not_before", pem->not_before);
	gbe_json_set_known(object, "not_after", pem->not_after);
	if (cert->dated)
		json_object_set_int_member(object, "days_left", cert->seconds_left / DAY);
	else
		json_object_set_null_member(object, "days_left");
	gbe_json_set_string(object, "key", cert->key != NULL ? cert->key->path : NULL);
	gbe_json_set_string(object, "chain", gbe_chain_to_string(cert->chain));
	gbe_json_set_string(object, "signed_by", cert->ca != NULL ? cert->ca->path : NULL);
	gbe_json_set_tri(object, "endpoint", cert->endpoint);
	return object;
}

static JsonObject *
key_json(const GbeCert *key)
{
	JsonObject *object = file_json(key);

	gbe_json_set_string(object, "certificate",
			    key->certificate != NULL ? key->certificate->path : NULL);
	return object;
}

static void
print_json(const GbeCerts *certs, JsonObject *authority)
{
	g_autoptr(JsonObject) object = gbe_json_answer();
	JsonArray *certificates = json_array_new();
	JsonArray *keys = json_array_new();
	JsonArray *unread = json_array_new();

	for (guint i = 0; i < certs->certs->len; i++) {
		const GbeCert *cert = certs->certs->pdata[i];

		if (cert->pem->kind == GBE_PEM_CERTIFICATE)
			json_array_add_object_element(certificates, certificate_json(cert));
		else
			json_array_add_object_element(keys, key_json(cert));
	}
	for (guint i = 0; i < certs->unread->len; i++) {
		const GbeCertUnread *file = certs->unread->pdata[i];
		JsonObject *one = json_object_new();

		gbe_json_set_string(one, "path", file->path);
		gbe_json_set_string(one, "problem", file->why);
		json_array_add_object_element(unread, one);
	}
	json_object_set_array_member(object, "certificates", certificates);
	json_object_set_array_member(object, "keys", keys);
	json_object_set_array_member(object, "unread", unread);
	json_object_set_boolean_member(object, "truncated", certs->truncated);
	if (authority != NULL)
		json_object_set_object_member(object, "authority", json_object_ref(authority));
	else
		json_object_set_null_member(object, "authority");
	gbe_print_object(object);
}

static void
print_certificate(const GbeCert *cert)
{
	const GbePem *pem = cert->pem;
	g_autofree char *names = g_strjoinv(", ", pem->names);
	g_autofree char *since = gbe_text_time(pem->not_before);
	g_autofree char *until = gbe_text_time(pem->not_after);
	g_autofree char *left = NULL;

	gbe_print_field("Subject", "%s%s", pem->subject, pem->ca ? " (a CA)" : "");
	if (*names != '\0')
		gbe_print_field("Names", "%s", names);
	gbe_print_field("Issuer", "%s (%s%s%s)", pem->issuer, gbe_chain_to_string(cert->chain),
			cert->ca != NULL ? " by " : "", cert->ca != NULL ? cert->ca->path : "");
	left = cert->dated
		   ? g_strdup_printf(", %" G_GINT64_FORMAT " days left", cert->seconds_left / DAY)
		   : g_strdup("");
	gbe_print_field("Valid", "%s to %s%s", since, until, left);
	if (cert->key != NULL)
		gbe_print_field("Key", "%s", cert->key->path);
	if (cert->endpoint != GBE_UNKNOWN)
		gbe_print_field("Endpoint", "its name is %sin it",
				cert->endpoint == GBE_YES ? "" : "not ");
}

static void
print_cert(const GbeCert *cert)
{
	gbe_print("%s (%s, %04o)\n", cert->path,
		  cert->pem->kind == GBE_PEM_KEY ? "private key" : "certificate",
		  (guint)cert->mode);
	if (cert->pem->kind == GBE_PEM_CERTIFICATE)
		print_certificate(cert);
	if (cert->certificate != NULL)
		gbe_print_field("Of", "%s", cert->certificate->path);
	if (cert->problem != NULL)
		gbe_print_field("Problem", "%s", cert->problem);
}

static void
print_text(const GbeCerts *certs)
{
	for (guint i = 0; i < certs->certs->len; i++)
		print_cert(certs->certs->pdata[i]);
	for (guint i = 0; i < certs->unread->len; i++) {
		const GbeCertUnread *file = certs->unread->pdata[i];

		gbe_print("%s (not read)\n", file->path);
		gbe_print_field("Problem", "%s", file->why);
	}
	if (certs->truncated)
		gbe_print("There is more than %u, which was not looked at.\n",
			  (guint)GBE_CERTS_MAX);
	if (certs->directories == 0)
		gbe_print("[certs] directories names no directory to look into.\n");
}

bool
gbe_cli_certs_list(GbeCli *cli, JsonObject *authority, GError **error)
{
	g_autoptr(GbeCerts) certs = NULL;

	if (!gbe_certs_look(cli->app, &certs, error))
		return false;
	if (cli->json)
		print_json(certs, authority);
	else
		print_text(certs);
	if (certs->unread->len > 0 || certs->truncated)
		cli->status = GBE_EXIT_CANNOT_TELL;
	return true;
}

/* ---- reset ---- */

typedef struct {
	GbeCertsResetOptions asked;
	GbeCertsReset done;
} ResetAnswer;

static void
print_path_list(JsonObject *object, const char *key, const void *field)
{
	const GPtrArray *paths = *(GPtrArray *const *)field;
	JsonArray *array = json_array_new();

	for (guint i = 0; i < paths->len; i++) {
		g_autofree char *text = gbe_path_to_text(paths->pdata[i]);

		json_array_add_string_element(array, text);
	}
	json_object_set_array_member(object, key, array);
}
static const GbeFieldOwn own_paths = {.print = print_path_list};

const GbeField gbe_certs_reset_fields[] = {
    GBE_FIELD(ResetAnswer, asked.undo, "undo", FLAG),
    GBE_FIELD(ResetAnswer, asked.dry_run, "dry_run", FLAG),
    GBE_FIELD(ResetAnswer, done.done, "done", FLAG),
    GBE_FIELD(ResetAnswer, done.healthy, "healthy", FLAG),
    GBE_FIELD(ResetAnswer, done.put_back, "put_back", FLAG),
    GBE_FIELD(ResetAnswer, done.reason, "reason", TEXT),
    GBE_FIELD_BY(ResetAnswer, done.removed, "removed", OWN, &own_paths, 0),
    GBE_FIELD_BY(ResetAnswer, done.restored, "restored", OWN, &own_paths, 0),
    {0},
};

static void
print_paths(const char *what, const GPtrArray *paths)
{
	for (guint i = 0; i < paths->len; i++) {
		g_autofree char *text = gbe_path_to_text(paths->pdata[i]);

		gbe_print("%s %s\n", what, text);
	}
}

static void
print_reset(const GbeCertsReset *reset, bool dry_run)
{
	if (reset->put_back)
		return;
	print_paths("removed", reset->removed);
	print_paths("put back", reset->restored);
	if (reset->done)
		gbe_print("%s; `greenboot-etcd certs reset --undo` goes back\n",
			  reset->healthy ? "etcd is healthy with what is there now"
					 : "below --root no service was started");
	else if (!dry_run)
		gbe_print("there is nothing that [certs] regenerated lists\n");
}

bool
gbe_cli_certs_reset(GbeCli *cli, bool undo, bool dry_run, const char *timeout, GError **error)
{
	GbeCertsResetOptions options = {.undo = undo,
					.dry_run = dry_run,
					.timeout = cli->app->config->health.timeout};
	g_autoptr(GbeCertsReset) done = NULL;
	bool ok;

	if (!gbe_verb_duration("--timeout", timeout, GBE_CLI_CERTS_TIMEOUT_MOST, &options.timeout,
			       error))
		return false;
	ok = gbe_certs_reset(cli->app, &options, &done, error);
	gbe_cli_changed(cli, !ok || !done->done);
	if (done != NULL && cli->json)
		gbe_print_answer(gbe_certs_reset_fields, &(const ResetAnswer){options, *done});
	else if (done != NULL && !cli->quiet)
		print_reset(done, dry_run);
	return ok;
}

/* The answer is the path itself. */
const GbeField gbe_certs_export_fields[] = {
    {"path", GBE_FIELD_TEXT, 0, NULL, GBE_FIELD_ALWAYS},
    {0},
};

bool
gbe_verb_certs_export(GbeCli *cli, char **arguments, GError **error)
{
	const char *path = arguments[0];

	if (!gbe_certs_export(cli->app, path, error))
		return false;
	gbe_cli_changed(cli, false);
	if (cli->json) {
		gbe_print_answer(gbe_certs_export_fields, &path);
	} else if (!cli->quiet) {
		gbe_print("%s has a private key in it: who has it can do what this client can\n",
			  path);
	}
	return true;
}

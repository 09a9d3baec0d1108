/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* greenboot-etcd-certs: the whole verb certs. */
#include "app/certs/certs.h"
#include "base/sha256.h"
#include "certs/change.h"
#include "cli/certs.h"
#include "cli/print.h"
#include "cli/verb.h"
#include "core/json/members.h"
#include "core/json/parse.h"
#include "core/redact.h"
#include "sys/systemd/events.h"

#define VALIDITY_MOST (G_GUINT64_CONSTANT(20) * 365 * 86400)
#define UNIT_HINT                                                                                  \
	"etcd uses them with\n"                                                                    \
	"    EnvironmentFile=" GBE_PKI_LIVE "/etcd.env\n"                                          \
	"in its unit, and https:// in its addresses and in [etcd] endpoint=\n"

static struct {
	gboolean undo, dry_run, force, seal, client, server, peer;
	char *timeout, *ca_cert, *ca_key, *token, *valid, *out;
	char **hosts;
} arg;

static const GbeOption options[] = {
    {"undo", 0, &arg.undo, "Put back the files that the last reset removed", .words = "reset"},
    {"undo", 0, &arg.undo, "Go one step back", .words = "rotate-ca"},
    {"timeout", 0, &arg.timeout, "Wait DURATION for a healthy etcd (timeout= of [health])",
     "DURATION", .words = "reset, renew, rotate-ca"},
    {"force", 0, &arg.force, "Also replace certificates that are not due", .words = "renew"},
    {"force", 0, &arg.force, "Skip the check that no member loses contact", .words = "rotate-ca"},
    {"ca-cert", 0, &arg.ca_cert, "Use your own authority; FILE may have those that signed it",
     "FILE", GBE_A_FILE, "init, rotate-ca"},
    {"ca-key", 0, &arg.ca_key, "Read the private key of --ca-cert", "FILE", GBE_A_FILE,
     "init, rotate-ca"},
    {"token", 0, &arg.token, "Take the next authority from this file of `cluster token FILE`",
     "FILE", GBE_A_FILE, "rotate-ca"},
    {"seal", 0, &arg.seal, "Seal the authority's key also without a TPM",
     .words = "init, rotate-ca"},
    {"client", 0, &arg.client, "Make a client's certificate", .words = "issue, sign"},
    {"server", 0, &arg.server, "Make a certificate for an etcd server", .words = "issue, sign"},
    {"peer", 0, &arg.peer, "Make a certificate for etcd's peers", .words = "issue, sign"},
    {"host", 0, &arg.hosts, "Add a name or an address; may be repeated", "HOST", NULL,
     "issue, sign", G_OPTION_ARG_STRING_ARRAY},
    {"for", 0, &arg.valid, "Set the validity of the certificate or authority", "DURATION",
     .words = "init, rotate-ca, issue, sign"},
    {"out", 0, &arg.out, "Write into this directory", "PATH", GBE_A_DIRECTORY, "issue"},
    {"out", 0, &arg.out, "Write into this file", "PATH", GBE_A_FILE, "sign"},
    {GBE_DRY_RUN(arg.dry_run), .words = "reset, init, renew, rotate-ca"},
    {NULL},
};

/* ---- list ---- */

static JsonObject *
authority_json(GbeApp *app, const GbePki *pki)
{
	JsonObject *object = json_object_new();
	g_autoptr(GbePem) signer = gbe_pem_first(pki->signer.certificate);
	g_autoptr(GbePem) other = gbe_pem_first(pki->other.certificate);
	g_autofree char *due = NULL;
	gint64 renew_at = -1;

	due = gbe_pki_due(app, pki, &renew_at);
	gbe_json_set_string(object, "certificate", GBE_PKI_LIVE "/authority/ca.crt");
	gbe_json_set_string(object, "subject", signer != NULL ? signer->subject : NULL);
	gbe_json_set_known(object, "not_after", signer != NULL ? signer->not_after : -1);
	json_object_set_boolean_member(object, "sealed", pki->signer.sealed != NULL);
	gbe_json_set_string(object, "rotation",
			    gbe_words_get(&gbe_rotation_words, pki->record.rotation));
	gbe_json_set_string(object, "other", other != NULL ? other->subject : NULL);
	gbe_json_set_string(object, "due", due);
	gbe_json_set_known(object, "renew_at", renew_at);
	return object;
}

static void
print_authority(GbeApp *app, const GbePki *pki)
{
	g_autoptr(JsonObject) object = authority_json(app, pki);
	g_autofree char *until = gbe_text_time(gbe_json_int(object, "not_after", -1));
	g_autofree char *renew = gbe_text_time(gbe_json_int(object, "renew_at", -1));
	const char *due = gbe_json_string(object, "due", NULL);
	const char *other = gbe_json_string(object, "other", NULL);

	gbe_print_field("Authority", "%s, until %s%s", gbe_json_string(object, "subject", "?"),
			until, pki->signer.sealed != NULL ? ", sealed" : "");
	if (other != NULL)
		gbe_print_field("Other", "%s (%s)", other,
				pki->record.rotation == GBE_ROTATION_TRUSTED ? "the next one"
				: pki->record.rotation == GBE_ROTATION_REISSUED
				    ? "the former one"
				    : "no longer trusted");
	gbe_print_field("Renewal", "%s%s", due != NULL ? "due, " : "", due != NULL ? due : renew);
}

static bool
list_certificates(GbeCli *cli, char **arguments, GError **error)
{
	g_autoptr(GbePki) pki = NULL;
	g_autoptr(JsonObject) authority = NULL;
	g_autoptr(GError) local = NULL;

	if (!gbe_pki_read(cli->app, &pki, &local)) {
		gbe_complain("%s", local->message);
		cli->status = GBE_EXIT_CANNOT_TELL;
	}
	if (pki != NULL)
		authority = authority_json(cli->app, pki);
	if (pki != NULL && !cli->json) {
		gbe_print("%s\n", GBE_PKI_LIVE);
		print_authority(cli->app, pki);
	}
	return gbe_cli_certs_list(cli, authority, error);
}

static bool
reset_certificates(GbeCli *cli, char **arguments, GError **error)
{
	return gbe_cli_certs_reset(cli, arg.undo, arg.dry_run, arg.timeout, error);
}

/* Leaves *validity as it is without --for. */
static bool
read_validity(guint64 *validity, GError **error)
{
	const char *given = arg.valid;

	if (!gbe_verb_duration("--for", given, VALIDITY_MOST, validity, error))
		return false;
	return given == NULL || *validity > 0 ||
	       gbe_throw(error, GBE_ERROR_USAGE, "--for=%s: it would be valid for no time", given);
}

/* ---- changes ---- */

static JsonArray *
leaves_json(const GbePki *pki)
{
	JsonArray *array = json_array_new();

	for (guint i = 0; i < GBE_LEAVES; i++) {
		g_autoptr(GbePem) pem = gbe_pem_first(pki->certificates[i]);
		g_autofree char *path = g_strdup_printf(GBE_PKI_LIVE "/%s.crt", gbe_leaf_names[i]);
		JsonObject *one = json_object_new();

		gbe_json_set_string(one, "path", path);
		gbe_json_set_known(one, "not_after", pem != NULL ? pem->not_after : -1);
		gbe_json_set_strv(one, "names", pem != NULL ? pem->names : NULL);
		json_array_add_object_element(array, one);
	}
	return array;
}

/* Why etcd's health shows nothing of the certificates, although it was asked; newly allocated. NULL: it does. */
static char *
unused_why(const GbeApp *app)
{
	const char *cacert = app->config->etcd.cacert;
	g_autofree char *endpoint = gbe_redact_endpoint(app->config->etcd.endpoint);

	if (g_ascii_strncasecmp(endpoint, "https://", strlen("https://")) != 0)
		return g_strdup_printf(
		    "etcd does not use these certificates at %s, which has no TLS", endpoint);
	if (app->config->certs.renew_command == NULL && cacert != NULL &&
	    !g_str_has_prefix(cacert, GBE_PKI_DIR "/"))
		return g_strdup_printf("etcd at %s is asked with the certificates of %s", endpoint,
				       cacert);
	return NULL;
}

static void
print_json(GbeCli *cli, const GbePkiResult *result)
{
	g_autoptr(JsonObject) object = gbe_json_answer();
	JsonArray *notes = json_array_new();
	g_autofree char *unused = result->healthy == GBE_YES ? unused_why(cli->app) : NULL;

	for (guint i = 0; i < result->notes->len; i++)
		json_array_add_string_element(notes, result->notes->pdata[i]);
	json_object_set_boolean_member(object, "dry_run", arg.dry_run);
	json_object_set_boolean_member(object, "done", result->done);
	json_object_set_boolean_member(object, "put_back", result->put_back);
	json_object_set_boolean_member(object, "restarted", result->restarted);
	gbe_json_set_tri(object, "healthy", result->healthy);
	gbe_json_set_string(object, "unused", unused);
	gbe_json_set_string(object, "reason", result->reason);
	json_object_set_array_member(object, "notes", notes);
	if (result->pki != NULL) {
		json_object_set_object_member(object, "authority",
					      authority_json(cli->app, result->pki));
		json_object_set_array_member(object, "certificates", leaves_json(result->pki));
	} else {
		json_object_set_null_member(object, "authority");
		json_object_set_array_member(object, "certificates", json_array_new());
	}
	gbe_print_object(object);
}

static void
print_text(GbeCli *cli, const GbePkiResult *result)
{
	g_autofree char *unused = unused_why(cli->app);

	if (result->reason != NULL && (result->done || arg.dry_run))
		gbe_print("%s\n", result->reason);
	if (result->restarted)
		gbe_print("etcd was restarted\n");
	if (result->healthy == GBE_YES && result->done && unused != NULL)
		gbe_print(
		    "etcd is healthy, but the new certificates were not tried: %s.\n" UNIT_HINT,
		    unused);
	else if (result->healthy == GBE_YES && result->done)
		gbe_print("etcd is healthy with the new certificates\n");
	if (result->pki != NULL)
		print_authority(cli->app, result->pki);
	for (guint i = 0; i < result->notes->len; i++)
		gbe_print("%s\n", (const char *)result->notes->pdata[i]);
}

/* The result is also of a failure that put the old certificates back. */
static bool
change(GbeCli *cli, GbePkiVerb verb, GbePkiResult *result, GError **error)
{
	GbePkiOptions order = {.dry_run = arg.dry_run,
			       .force = arg.force,
			       .undo = arg.undo,
			       .seal = arg.seal,
			       .ca_cert = arg.ca_cert,
			       .ca_key = arg.ca_key,
			       .token = arg.token,
			       .timeout = cli->app->config->health.timeout};
	bool ok;

	if (!gbe_verb_duration("--timeout", arg.timeout, GBE_CLI_CERTS_TIMEOUT_MOST, &order.timeout,
			       error) ||
	    !read_validity(&order.validity, error))
		return false;
	if (arg.valid != NULL && arg.ca_cert != NULL)
		return gbe_throw(error, GBE_ERROR_USAGE,
				 "--for goes with an authority that is made here");
	ok = gbe_pki_change(cli->app, verb, &order, result, error);
	gbe_cli_changed(cli, !ok || !result->done);
	for (guint i = 0; !ok && i < result->notes->len; i++)
		gbe_note("%s", (const char *)result->notes->pdata[i]);
	if (cli->json && (ok || result->put_back))
		print_json(cli, result);
	else if (ok && !cli->quiet)
		print_text(cli, result);
	return ok;
}

static bool
make_authority(GbeCli *cli, char **arguments, GError **error)
{
	g_autoptr(GbePkiResult) result = gbe_pki_result_new();

	if (!change(cli, GBE_PKI_INIT, result, error))
		return false;
	if (!cli->json && !cli->quiet)
		gbe_print("%s", UNIT_HINT);
	return true;
}

static bool
renew_certificates(GbeCli *cli, char **arguments, GError **error)
{
	g_autoptr(GbePkiResult) result = gbe_pki_result_new();
	bool command = cli->app->config->certs.renew_command != NULL;

	if (!change(cli, command ? GBE_PKI_RENEW_BY_COMMAND : GBE_PKI_RENEW, result, error))
		return false;
	if (result->reason == NULL && !cli->json && !cli->quiet)
		gbe_print("nothing is due\n");
	return true;
}

static bool
rotate_authority(GbeCli *cli, char **arguments, GError **error)
{
	g_autoptr(GbePkiResult) result = gbe_pki_result_new();

	return change(cli, GBE_PKI_ROTATE, result, error);
}

/* ---- for others ---- */

static bool
order_of(GbeCli *cli, GbeCertOrder *order, GError **error)
{

	if (arg.client + arg.server + arg.peer != 1)
		return gbe_throw(error, GBE_ERROR_USAGE,
				 "one of --client, --server and --peer says what the certificate "
				 "is for");
	order->use = arg.client ? GBE_USE_CLIENT : arg.server ? GBE_USE_SERVER : GBE_USE_PEER;
	order->hosts = arg.hosts;
	order->validity = cli->app->config->certs.validity;
	return read_validity(&order->validity, error);
}

typedef struct {
	GbeOthersResult done;
	const char *authority;
} IssuedAnswer;

const GbeField gbe_certs_issued_fields[] = {
    GBE_FIELD_SET(IssuedAnswer, done.certificate_path, "certificate", TEXT),
    GBE_FIELD(IssuedAnswer, done.key_path, "key", TEXT),
    GBE_FIELD_SET(IssuedAnswer, authority, "authority", TEXT),
    GBE_FIELD(IssuedAnswer, done.not_after, "not_after", TIME),
    {0},
};

static void
print_issued(GbeCli *cli, const GbeOthersResult *result)
{
	g_autofree char *until = gbe_text_time(result->not_after);

	if (cli->json) {
		gbe_print_answer(gbe_certs_issued_fields,
				 &(const IssuedAnswer){*result, GBE_PKI_LIVE "/ca.crt"});
	} else if (!cli->quiet && result->key_path != NULL) {
		gbe_print("%s and its key %s, until %s\n", result->certificate_path,
			  result->key_path, until);
	} else if (!cli->quiet) {
		gbe_print("%s, until %s\n", result->certificate_path, until);
	}
}

static bool
issue_certificate(GbeCli *cli, char **arguments, GError **error)
{
	const char *directory = arg.out;
	GbeCertOrder order = {.name = arguments[0]};
	g_auto(GbeOthersResult) result = {0};

	if (!order_of(cli, &order, error))
		return false;
	if (order.use != GBE_USE_CLIENT && order.hosts == NULL)
		return gbe_throw(error, GBE_ERROR_USAGE,
				 "a certificate with --server or --peer needs the names and "
				 "addresses that it is for: --host=HOST, as often as there are");
	if (!gbe_others_issue(cli->app, &order, directory != NULL ? directory : ".", &result,
			      error))
		return false;
	gbe_cli_changed(cli, false);
	print_issued(cli, &result);
	return true;
}

static bool
sign_request(GbeCli *cli, char **arguments, GError **error)
{
	const char *out = arg.out;
	GbeCertOrder order = {0};
	g_auto(GbeOthersResult) result = {0};

	if (!order_of(cli, &order, error))
		return false;
	if (cli->json && out == NULL)
		return gbe_throw(error, GBE_ERROR_USAGE, "certs sign with --json needs --out=FILE");
	if (!gbe_others_sign(cli->app, &order, arguments[0], &result, error))
		return false;
	if (out == NULL) {
		gbe_print("%.*s", (int)g_bytes_get_size(result.certificate),
			  (const char *)g_bytes_get_data(result.certificate, NULL));
		return true;
	}
	if (!gbe_certs_write_file(cli->app, result.certificate, out, error))
		return false;
	gbe_cli_changed(cli, false);
	result.certificate_path = g_strdup(out);
	print_issued(cli, &result);
	return true;
}

static const GbeVerb words[] = {
    {"list", "List etcd's certificates and keys, and the authority", "certs list",
     list_certificates, .looks = true},
    {"init", "Make an authority and the certificates of a server, a peer and a client",
     "certs init", make_authority},
    {"renew", "Replace the certificates if one of them is due", "certs renew -n",
     renew_certificates},
    {"rotate-ca", "Take the next of three steps to a new authority", "certs rotate-ca -n",
     rotate_authority},
    {"issue", "Make a key and a certificate for another person or program",
     "certs issue backup-host --client", issue_certificate, NULL, GBE_TAKES({"NAME"})},
    {"sign", "Make a certificate for a request", "certs sign request.pem --client", sign_request,
     NULL, GBE_TAKES({"FILE", GBE_A_FILE})},
    {"reset", "Remove the certificates that are made again at the next start", "certs reset -n",
     reset_certificates},
    {"export", "Pack a client's files for another machine", "certs export /mnt/usb/client.tar",
     gbe_verb_certs_export, NULL, GBE_TAKES({"FILE", GBE_A_FILE})},
    {NULL},
};

static const GbeVerb verbs[] = {
    {"certs", "Make certificates for etcd, renew them, list them, pack them",
     "certs issue backup-host --client", NULL, options, .words = words, .group = "Certificates",
     .page = "greenboot-etcd-certs(8)"},
    {NULL},
};

int
main(int argc, char **argv)
{
	gbe_sha256_use(&gbe_sha256_libcrypto);
	return gbe_cli_main(verbs, NULL, argc, argv);
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cluster/frame.h"

#include <arpa/inet.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

#include "app/backups/data.h"
#include "app/by-hand/by-hand.h"
#include "app/by-hand/session.h"
#include "app/health/certificates.h"
#include "app/snapshot/export.h"
#include "app/snapshot/import.h"
#include "certs/change.h"
#include "certs/trust.h"
#include "core/config/lists.h"
#include "core/json/parse.h"
#include "core/record/take-over.h"
#include "fs/list.h"
#include "fs/open.h"
#include "fs/write.h"
#include "sys/systemd/events.h"
#include "sys/systemd/units.h"

#define SNAPSHOT "cluster.db"
#define PEER_PORT 2380
#define CLIENT_PORT 2379

void
gbe_cluster_setup_result_clear(GbeClusterSetupResult *result)
{
	g_clear_pointer(&result->name, g_free);
	g_clear_pointer(&result->peer_url, g_free);
	g_clear_pointer(&result->client_url, g_free);
}

/* The one IPv4 address that others reach. */
static bool
own_address(GbeApp *app, char **ret_address, GError **error)
{
	g_auto(GStrv) hosts = gbe_pki_hosts(app);
	g_autofree char *all = g_strjoinv(", ", hosts);
	const char *found = NULL;
	guint count = 0;

	for (guint i = 0; hosts[i] != NULL; i++) {
		struct in_addr address;

		if (inet_pton(AF_INET, hosts[i], &address) == 1 &&
		    !g_str_has_prefix(hosts[i], "127.")) {
			found = hosts[i];
			count++;
		}
	}
	if (count != 1)
		return gbe_throw(
		    error, GBE_ERROR_USAGE,
		    "which address the other members reach this device at is not clear "
		    "(%s): --peer-url=https://ADDRESS:2380 and "
		    "--client-url=https://ADDRESS:2379 say it",
		    all);
	*ret_address = g_strdup(found);
	return true;
}

bool
gbe_cluster_settings_read(GbeClusterFrame *frame, GbeClusterSetup *setup, GError **error)
{
	const struct {
		const char **field;
		const char *variable;
	} fields[] = {{&setup->name, "ETCD_NAME"},
		      {&setup->peer_url, "ETCD_INITIAL_ADVERTISE_PEER_URLS"},
		      {&setup->client_url, "ETCD_ADVERTISE_CLIENT_URLS"}};
	GbeApp *app = frame->change.app;
	g_autoptr(GError) local = NULL;
	g_autofree char *text = NULL;
	gsize size = 0;

	if (!gbe_read_in_root(app->root_fd, GBE_CLUSTER_ENV, GBE_CERTS_FILE_MAX, &text, &size,
			      &local))
		return gbe_throw(error, GBE_ERROR_REFUSED,
				 "this member was not set up with `cluster init` or `cluster join "
				 "URL`, so its settings are not managed here (%s)",
				 local->message);
	frame->settings = gbe_run_environment(NULL, text);
	for (guint i = 0; i < G_N_ELEMENTS(fields); i++)
		if (*fields[i].field == NULL)
			*fields[i].field = g_environ_getenv(frame->settings, fields[i].variable);
	return true;
}

bool
gbe_cluster_settings_choose(GbeClusterFrame *frame, GError **error)
{
	const GbeClusterSetup *options = &frame->options;
	const GbeConfig *config = frame->change.app->config;
	GbeClusterSetupResult *result = frame->result;
	char host[HOST_NAME_MAX + 1] = "";
	g_auto(GbeUnitState) state = {0};
	GbeClusterEnv env = {.initial_cluster = ""};
	g_autofree char *address = NULL;
	g_autofree char *text = NULL;

	if (options->name != NULL || config->etcd.name != NULL)
		result->name = g_strdup(options->name != NULL ? options->name : config->etcd.name);
	else
		result->name = g_strdup(
		    gethostname(host, sizeof(host) - 1) == 0 && *host != '\0' ? host : "etcd");
	if ((options->peer_url == NULL || options->client_url == NULL) &&
	    !own_address(frame->change.app, &address, error))
		return false;
	result->peer_url = options->peer_url != NULL
			       ? g_strdup(options->peer_url)
			       : g_strdup_printf("https://%s:%d", address, PEER_PORT);
	result->client_url = options->client_url != NULL
				 ? g_strdup(options->client_url)
				 : g_strdup_printf("https://%s:%d", address, CLIENT_PORT);
	env.name = result->name;
	env.peer_url = result->peer_url;
	env.client_url = result->client_url;
	text = gbe_cluster_env(&env, error);
	if (text == NULL)
		return false;
	return !gbe_unit_query(config->etcd.service, &state, NULL) ||
	       g_strcmp0(state.load_state, "masked") != 0 ||
	       gbe_throw(error, GBE_ERROR_REFUSED,
			 "%s is masked, so that it cannot start: systemctl unmask %s",
			 config->etcd.service, config->etcd.service);
}

/* A configured member-dir= is known before there is data in it. */
static bool
check_no_data(GbeClusterFrame *frame, GError **error)
{
	GbeApp *app = frame->change.app;
	g_autoptr(GbeData) data = NULL;
	g_autoptr(GbeFacts) facts = gbe_facts_new();
	g_autoptr(GPtrArray) names = NULL;
	bool bare = true;

	if (!gbe_data_open(app, &data, error) ||
	    (data->fd >= 0 && !gbe_list_at(data->fd, data->path, &names, error)))
		return false;
	/* Bare: the directory has only empty directories, and what this program writes there. */
	for (guint i = 0; names != NULL && i < names->len && bare; i++) {
		const char *name = names->pdata[i];
		g_autoptr(GPtrArray) inside = NULL;
		gbe_autofd int fd = -1;

		bare = g_strv_contains(gbe_data_exclude, name) ||
		       g_str_equal(name, GBE_NONCE_NAME) ||
		       (gbe_open_dir_at(data->fd, name, &fd, NULL) &&
			gbe_list_at(fd, name, &inside, NULL) && inside->len == 0);
	}
	frame->intent.bare = bare;
	gbe_data_observe_presence(data, facts);
	if (facts->data == GBE_UNKNOWN)
		return gbe_throw(error, GBE_ERROR_CANNOT_TELL, "cannot look for data in %s: %s",
				 data->path, facts->data_why);
	if (facts->data == GBE_YES || facts->log == GBE_YES)
		return gbe_throw(error, GBE_ERROR_REFUSED,
				 "%s has the data of an etcd: only a device without data joins or "
				 "begins a cluster; `greenboot-etcd cluster reset` makes it one",
				 data->path);
	if (gbe_is_in_root(app->root_fd, GBE_CLUSTER_ENV) != GBE_NO)
		return gbe_throw(error, GBE_ERROR_REFUSED,
				 "by " GBE_CLUSTER_ENV ", this device is a member of a cluster: "
				 "`greenboot-etcd cluster rejoin URL` brings its data back, "
				 "`greenboot-etcd cluster reset --force` ends its membership");
	return !frame->active || gbe_throw(error, GBE_ERROR_REFUSED, "%s runs: stop it first",
					   app->config->etcd.service);
}

/* A call that is repeated has the same token, or its file is gone, as files in /run are after a power cut. */
static bool
check_token(const GbeClusterFrame *frame, const GbePki *pki, GError **error)
{
	const char *path = frame->options.token;
	g_autoptr(GbePki) token = g_new0(GbePki, 1);
	g_autoptr(GError) local = NULL;
	bool fresh;

	if (!gbe_token_read(frame->change.app, path, token, &local)) {
		if (!gbe_pass_unless(error, &local, GBE_ERROR_NOT_FOUND))
			return false;
		gbe_note("%s is not there: the authority in " GBE_PKI_LIVE " is used", path);
		return true;
	}
	/* A fresh device has certificates, but no data that needs them. */
	fresh = !frame->continued &&
		gbe_is_in_root(frame->change.app->root_fd, GBE_CLUSTER_ENV) == GBE_NO;
	return gbe_authority_equal(&token->signer, &pki->signer) ||
	       gbe_authority_equal(&token->other, &pki->signer) ||
	       gbe_throw(error, GBE_ERROR_REFUSED,
			 "%s has another authority than the certificates in " GBE_PKI_LIVE "%s",
			 path,
			 fresh ? "; run `greenboot-etcd cluster reset --force` to set those aside, "
				 "then repeat this call"
			       : "");
}

bool
gbe_cluster_certify(gpointer change, GError **error)
{
	GbeClusterFrame *frame = change;
	GbeApp *app = frame->change.app;
	const char *token = frame->options.token;
	const GbePkiOptions options = {.token = token,
				       .timeout = frame->options.timeout,
				       .validity = GBE_AUTHORITY_VALIDITY};
	g_autoptr(GbePkiResult) made = gbe_pki_result_new();
	g_autoptr(GbePki) present = NULL, pki = g_new0(GbePki, 1);

	if (!gbe_pki_read(app, &present, error))
		return false;
	if (present != NULL)
		return token == NULL || check_token(frame, present, error);
	if (token == NULL && frame->options.url != NULL)
		return gbe_throw(
		    error, GBE_ERROR_USAGE,
		    "this device has no certificates of the cluster: --token=FILE, "
		    "made by `greenboot-etcd cluster token FILE` on a member, brings them");
	if (token == NULL)
		return gbe_pki_change(app, GBE_PKI_INIT, &options, made, error);
	/* Certificates of another cluster would stay: the cluster is asked before they are on the disk. */
	if (!gbe_token_read(app, token, pki, error) || !gbe_pki_issue_leaves(app, pki, error))
		return false;
	if (!gbe_trust_check_cluster(app, pki, frame->options.url, error))
		return gbe_prefix(
		    error, "the cluster to join, asked with the token %s (nothing was installed)",
		    token);
	return gbe_pki_change(app, GBE_PKI_INIT, &options, made, error);
}

bool
gbe_cluster_look_at_setup(gpointer change, GError **error)
{
	GbeClusterFrame *frame = change;
	g_autoptr(GUri) client = NULL, asked = NULL;
	const GbeConfig *config;
	const char *origin;

	if (!gbe_cluster_frame_begin(frame, error) || !gbe_cluster_settings_choose(frame, error))
		return false;
	/* A file that says so keeps the member from being asked at the address of its settings. */
	config = frame->change.app->config;
	origin = g_hash_table_lookup(config->origins, "etcd.endpoint");
	client = g_uri_parse(frame->result->client_url, G_URI_FLAGS_NONE, NULL);
	asked = g_uri_parse(config->etcd.endpoint, G_URI_FLAGS_NONE, NULL);
	if (origin != NULL && !g_str_has_prefix(origin, "detected: ") && asked != NULL &&
	    client != NULL &&
	    (!g_str_equal(g_uri_get_scheme(asked), "https") ||
	     g_uri_get_port(asked) != g_uri_get_port(client)))
		return gbe_throw(error, GBE_ERROR_REFUSED,
				 "[etcd] endpoint=%s in %s is not where the member will answer, "
				 "port %d with TLS: remove that key",
				 config->etcd.endpoint, origin, g_uri_get_port(client));
	if (!frame->continued && !check_no_data(frame, error))
		return false;
	frame->result->continued = frame->continued;
	g_free(frame->intent.peer_url);
	frame->intent.peer_url = g_strdup(frame->result->peer_url);
	return true;
}

/* ---- the data of a new cluster ---- */

bool
gbe_cluster_make_seed(gpointer change, GError **error)
{
	GbeClusterFrame *frame = change;
	GbeApp *app = frame->change.app;
	GbeClusterSeed *seed = &frame->seed;
	const GbeSessionOptions how = {.operation = frame->change.name};
	g_autofree char *path = g_build_filename(GBE_STATE_DIR, SNAPSHOT, NULL);
	g_autofree char *token = g_strdup_printf("%08x%08x", g_random_int(), g_random_int());
	const GbeExport export = {.name = seed->backup,
				  .path = path,
				  .timeout = frame->options.timeout,
				  .whole_log = seed->whole_log,
				  .replace = true};
	GbeImport import = {.path = seed->backup != NULL ? path : seed->snapshot,
			    .token = token,
			    .timeout = frame->options.timeout};
	g_auto(GbeExported) exported = {0};
	g_auto(GbeImported) imported = {0};
	const GbeFacts *facts;
	GbeSession session;
	bool made;

	if (import.path == NULL)
		return true;
	if (frame->intent.seed == NULL)
		frame->intent.seed = g_strdup_printf("cluster-%08x", g_random_int());
	import.name = frame->intent.seed;
	if (!gbe_cluster_note(frame, error))
		return false;
	gbe_app_unlock(app);
	/* Has an earlier call made the backup, and restored it? */
	if (!gbe_session_begin(app, &how, &session, error))
		return false;
	facts = session.observed->facts;
	made = gbe_facts_backup(facts, import.name) != NULL;
	seed->restored = facts->owner != NULL && g_strcmp0(facts->owner->source, import.name) == 0;
	gbe_session_leave(&session);
	if (made)
		return true;
	/* The tool that restores a snapshot gives it to the member that the configuration names. */
	g_free(app->config->etcd.name);
	app->config->etcd.name = g_strdup(frame->result->name);
	g_free(app->config->etcd.peer_urls);
	app->config->etcd.peer_urls = g_strdup(frame->result->peer_url);
	return (seed->backup == NULL || gbe_export(app, &export, &exported, error)) &&
	       gbe_import(app, &import, &imported, error) &&
	       gbe_unlink_durable_at(app->state_fd, SNAPSHOT, error);
}

bool
gbe_cluster_restore_seed(gpointer change, GError **error)
{
	GbeClusterFrame *frame = change;
	const GbeByHandRestore restore = {.target = GBE_BY_HAND_NAMED,
					  .name = frame->intent.seed,
					  .force = true};
	g_auto(GbeByHandResult) restored = {0};

	return frame->intent.seed == NULL || frame->seed.restored ||
	       gbe_by_hand_restore(frame->change.app, &restore, &restored, error);
}

/* ---- init ---- */

/* Without the seed, nothing has changed yet. */
static bool
end_unseeded(gpointer change, GError **error)
{
	GbeClusterFrame *frame = change;

	if (frame->kept || frame->continued ||
	    g_error_matches(frame->change.why, GBE_ERROR, GBE_ERROR_PARTIAL))
		return gbe_cluster_keep(frame, error);
	return gbe_cluster_end(frame, error);
}

static const GbeStep init_steps[] = {
    {"cluster-looked", gbe_cluster_look_at_setup, NULL, GBE_STEP_LOOK | GBE_STEP_UNLOCKED, 0},
    {"cluster-certified", gbe_cluster_certify, NULL, GBE_STEP_UNLOCKED, 0},
    {"cluster-intended", gbe_cluster_intend, NULL, GBE_STEP_MAINTENANCE, 0},
    {"cluster-seeded", gbe_cluster_make_seed, end_unseeded, 0, 0},
    {"cluster-seed-restored", gbe_cluster_restore_seed, NULL, GBE_STEP_UNLOCKED, 0},
    {"cluster-configured", gbe_cluster_configure_alone, gbe_cluster_keep, 0, 0},
    {"cluster-reissued", gbe_cluster_reissue, NULL, 0, 0},
    {"cluster-started", gbe_cluster_start, NULL, GBE_STEP_UNLOCKED, 0},
    {"cluster-healthy", gbe_cluster_wait_healthy, NULL, GBE_STEP_UNLOCKED, 0},
    {"cluster-ended", gbe_cluster_end, NULL, 0, 0},
    {NULL, NULL, NULL, 0, 0},
};

bool
gbe_cluster_init(GbeApp *app, const GbeClusterSetup *options, GbeClusterSetupResult *ret_result,
		 GError **error)
{
	/* A path has a slash; a backup's name has none. */
	bool is_path = options->from != NULL && strchr(options->from, '/') != NULL;
	g_auto(GbeClusterFrame) frame = {
	    .change = {.app = app, .name = "cluster init", .steps = init_steps},
	    .seed = {.backup = is_path ? NULL : options->from,
		     .snapshot = is_path ? options->from : NULL},
	    .options = *options,
	    .result = ret_result,
	};

	return gbe_cluster_run(&frame, error);
}

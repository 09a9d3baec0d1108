/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cluster/setup.h"

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
#include "base/fault.h"
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

void
gbe_cluster_setting_clear(GbeClusterSetting *setting)
{
	gbe_cluster_frame_clear(&setting->frame);
	g_clear_pointer(&setting->settings, g_strfreev);
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
gbe_cluster_setting_read(GbeClusterSetting *setting, GbeClusterSetup *setup, GError **error)
{
	const struct {
		const char **field;
		const char *variable;
	} fields[] = {{&setup->name, "ETCD_NAME"},
		      {&setup->peer_url, "ETCD_INITIAL_ADVERTISE_PEER_URLS"},
		      {&setup->client_url, "ETCD_ADVERTISE_CLIENT_URLS"}};
	GbeApp *app = setting->frame.app;
	g_autoptr(GError) local = NULL;
	g_autofree char *text = NULL;
	gsize size = 0;

	if (!gbe_read_in_root(app->root_fd, GBE_CLUSTER_ENV, GBE_CERTS_FILE_MAX, &text, &size,
			      &local))
		return gbe_throw(error, GBE_ERROR_REFUSED,
				 "this device's etcd was not made a member by `cluster init` or "
				 "`cluster join`, and this program changes no other one's settings "
				 "(%s)",
				 local->message);
	setting->settings = gbe_run_environment(NULL, text);
	for (guint i = 0; i < G_N_ELEMENTS(fields); i++)
		if (*fields[i].field == NULL)
			*fields[i].field = g_environ_getenv(setting->settings, fields[i].variable);
	return true;
}

bool
gbe_cluster_setting_choose(GbeClusterSetting *setting, GError **error)
{
	const GbeClusterSetup *options = setting->options;
	const GbeConfig *config = setting->frame.app->config;
	GbeClusterSetupResult *result = setting->result;
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
	    !own_address(setting->frame.app, &address, error))
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
check_no_data(GbeClusterFrame *frame, bool active, GError **error)
{
	GbeApp *app = frame->app;
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
	return !active || gbe_throw(error, GBE_ERROR_REFUSED, "%s runs: stop it first",
				    app->config->etcd.service);
}

/* A call that is repeated has the same token, or its file is gone, as files in /run are after a power cut. */
static bool
check_token(const GbeClusterSetting *setting, const GbePki *pki, GError **error)
{
	const char *path = setting->options->token;
	g_autoptr(GbePki) token = gbe_pki_new();
	g_autoptr(GError) local = NULL;
	bool fresh;

	if (!gbe_token_read(setting->frame.app, path, token, &local)) {
		if (!gbe_pass_unless(error, &local, GBE_ERROR_NOT_FOUND))
			return false;
		gbe_note("%s is not there: the authority in " GBE_PKI_LIVE " is used", path);
		return true;
	}
	/* A fresh device has certificates, but no data that needs them. */
	fresh = !setting->frame.continued &&
		gbe_is_in_root(setting->frame.app->root_fd, GBE_CLUSTER_ENV) == GBE_NO;
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
gbe_cluster_setting_authority(GbeClusterSetting *setting, GError **error)
{
	GbeApp *app = setting->frame.app;
	const char *token = setting->options->token;
	const GbePkiOptions options = {.token = token,
				       .timeout = setting->options->timeout,
				       .validity = GBE_AUTHORITY_VALIDITY};
	g_autoptr(GbePkiResult) made = gbe_pki_result_new();
	g_autoptr(GbePki) present = NULL, pki = gbe_pki_new();

	if (!gbe_pki_read(app, &present, error))
		return false;
	if (present != NULL)
		return token == NULL || check_token(setting, present, error);
	if (token == NULL && setting->options->url != NULL)
		return gbe_throw(error, GBE_ERROR_USAGE,
				 "this device has no certificates of the cluster: --token=FILE, "
				 "made by `greenboot-etcd cluster token` on a member, brings them");
	if (token == NULL)
		return gbe_pki_init(app, &options, made, error);
	/* Certificates of another cluster would stay: the cluster is asked before they are on the disk. */
	if (!gbe_token_read(app, token, pki, error) || !gbe_pki_issue_leaves(app, pki, error))
		return false;
	if (!gbe_trust_check_cluster(app, pki, setting->options->url, error))
		return gbe_prefix(
		    error, "the cluster to join, asked with the token %s (nothing was installed)",
		    token);
	return gbe_pki_init(app, &options, made, error);
}

bool
gbe_cluster_setting_begin(GbeClusterSetting *setting, GError **error)
{
	GbeClusterFrame *frame = &setting->frame;
	g_autoptr(GUri) client = NULL, asked = NULL;
	const GbeConfig *config;
	const char *origin;
	bool active = false;

	frame->dry_run = setting->options->dry_run;
	if (!gbe_cluster_frame_begin(frame, &active, error) ||
	    !gbe_cluster_setting_choose(setting, error))
		return false;
	/* A file that says so keeps the member from being asked at the address of its settings. */
	config = frame->app->config;
	origin = g_hash_table_lookup(config->origins, "etcd.endpoint");
	client = g_uri_parse(setting->result->client_url, G_URI_FLAGS_NONE, NULL);
	asked = g_uri_parse(config->etcd.endpoint, G_URI_FLAGS_NONE, NULL);
	if (origin != NULL && !g_str_has_prefix(origin, "detected: ") && asked != NULL &&
	    client != NULL &&
	    (!g_str_equal(g_uri_get_scheme(asked), "https") ||
	     g_uri_get_port(asked) != g_uri_get_port(client)))
		return gbe_throw(error, GBE_ERROR_REFUSED,
				 "[etcd] endpoint=%s in %s is not where the member will answer, "
				 "port %d with TLS: remove that key",
				 config->etcd.endpoint, origin, g_uri_get_port(client));
	if (!frame->continued && !check_no_data(frame, active, error))
		return false;
	setting->result->continued = frame->continued;
	g_free(frame->intent.peer_url);
	frame->intent.peer_url = g_strdup(setting->result->peer_url);
	return setting->options->dry_run || (gbe_cluster_setting_authority(setting, error) &&
					     gbe_cluster_frame_intend(frame, error));
}

bool
gbe_cluster_setting_write(GbeClusterSetting *setting, const char *initial_cluster, GError **error)
{
	const GbeClusterSetupResult *result = setting->result;
	g_autofree char *token = g_strdup_printf("%08x%08x", g_random_int(), g_random_int());
	g_autofree char *alone = g_strdup_printf("%s=%s", result->name, result->peer_url);
	const GbeClusterEnv env = {.name = result->name,
				   .peer_url = result->peer_url,
				   .client_url = result->client_url,
				   .initial_cluster =
				       initial_cluster != NULL ? initial_cluster : alone,
				   .token = initial_cluster != NULL ? NULL : token};

	return gbe_cluster_settings_write(&setting->frame, &env, error);
}

bool
gbe_cluster_setting_end(GbeClusterSetting *setting, GError **error)
{
	return gbe_cluster_frame_start(&setting->frame, error) &&
	       gbe_cluster_frame_wait_healthy(&setting->frame, setting->options->timeout, error) &&
	       gbe_cluster_frame_end(&setting->frame, error);
}

/* ---- the data of a new cluster ---- */

static bool
make_seed(GbeClusterFrame *frame, const GbeClusterSeed *seed, const char *name, GError **error)
{
	GbeConfig *config = frame->app->config;
	g_autofree char *path = g_build_filename(GBE_STATE_DIR, SNAPSHOT, NULL);
	g_autofree char *token = g_strdup_printf("%08x%08x", g_random_int(), g_random_int());
	const GbeExport export = {.name = seed->backup,
				  .path = path,
				  .timeout = seed->timeout,
				  .whole_log = seed->whole_log,
				  .replace = true};
	const GbeImport import = {.path = seed->backup != NULL ? path : seed->snapshot,
				  .name = name,
				  .token = token,
				  .timeout = seed->timeout};
	g_auto(GbeExported) exported = {0};
	g_auto(GbeImported) imported = {0};

	/* The tool that restores a snapshot gives it to the member that the configuration names. */
	g_free(config->etcd.name);
	config->etcd.name = g_strdup(seed->name);
	g_free(config->etcd.peer_urls);
	config->etcd.peer_urls = g_strdup(seed->peer_url);
	if (seed->backup != NULL && !gbe_export(frame->app, &export, &exported, error))
		return false;
	return gbe_import(frame->app, &import, &imported, error) &&
	       gbe_unlink_durable_at(frame->app->state_fd, SNAPSHOT, error) &&
	       !GBE_FAULT("cluster-seeded", error);
}

bool
gbe_cluster_seed(GbeClusterFrame *frame, const GbeClusterSeed *seed, GError **error)
{
	const GbeSessionOptions how = {.operation = frame->operation};
	GbeByHandRestore restore = {.target = GBE_BY_HAND_NAMED, .force = true};
	g_auto(GbeByHandResult) restored = {0};
	const char *name;
	const GbeFacts *facts;
	GbeSession session;
	bool made, done;

	if (frame->intent.seed == NULL)
		frame->intent.seed = g_strdup_printf("cluster-%08x", g_random_int());
	restore.name = name = frame->intent.seed;
	if (!gbe_cluster_frame_note(frame, error))
		return false;
	gbe_app_unlock(frame->app);
	/* Has an earlier call made the backup, and restored it? */
	if (!gbe_session_begin(frame->app, &how, &session, error))
		return false;
	facts = session.observed->facts;
	made = gbe_facts_backup(facts, name) != NULL;
	done = facts->owner != NULL && g_strcmp0(facts->owner->source, name) == 0;
	gbe_session_leave(&session);
	if (!made && !make_seed(frame, seed, name, error))
		return false;
	return done || gbe_by_hand_restore(frame->app, &restore, &restored, error);
}

/* ---- init ---- */

/* A path has a slash; a backup's name has none. */
static bool
seed_first(GbeClusterSetting *setting, GError **error)
{
	const char *from = setting->options->from;
	bool is_path = from != NULL && strchr(from, '/') != NULL;
	const GbeClusterSeed seed = {.backup = is_path ? NULL : from,
				     .snapshot = is_path ? from : NULL,
				     .name = setting->result->name,
				     .peer_url = setting->result->peer_url,
				     .timeout = setting->options->timeout};
	g_autoptr(GError) local = NULL, again = NULL;

	if (from == NULL || gbe_cluster_seed(&setting->frame, &seed, &local))
		return true;
	/* Nothing has changed yet. */
	if (!setting->frame.continued && !g_error_matches(local, GBE_ERROR, GBE_ERROR_PARTIAL) &&
	    !gbe_cluster_frame_end(&setting->frame, &again))
		gbe_note("%s", again->message);
	return gbe_pass(error, &local);
}

bool
gbe_cluster_init(GbeApp *app, const GbeClusterSetup *options, GbeClusterSetupResult *ret_result,
		 GError **error)
{
	g_auto(GbeClusterSetting) setting = {
	    .frame = {.app = app, .operation = "cluster init"},
	    .options = options,
	    .result = ret_result,
	};

	if (!gbe_cluster_setting_begin(&setting, error))
		return false;
	if (options->dry_run)
		return true;
	return seed_first(&setting, error) && ((gbe_cluster_setting_write(&setting, NULL, error) &&
						gbe_cluster_setting_end(&setting, error)) ||
					       gbe_cluster_frame_goes_on(&setting.frame, error));
}

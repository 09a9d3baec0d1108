/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "app/cluster/setup.h"

#include "app/cluster/members.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

#include "app/backup/maintenance.h"
#include "app/certs/change.h"
#include "app/certs/export.h"
#include "app/health/certificates.h"
#include "app/state/configuration.h"
#include "app/state/state.h"
#include "app/store/data.h"
#include "app/upkeep/live-etcd.h"
#include "base/fault.h"
#include "core/json/members.h"
#include "core/units/cluster-env.h"
#include "core/units/dropin.h"
#include "etcd/directory/in-use.h"
#include "fs/exchange.h"
#include "fs/open.h"
#include "fs/remove.h"
#include "fs/sync.h"
#include "fs/write.h"
#include "sys/systemd/events.h"
#include "sys/systemd/units.h"

#define RECORD "cluster"
#define ENV_NAME "cluster.env"
#define PEER_PORT 2380
#define CLIENT_PORT 2379
#define START_TIMEOUT_MS (300 * 1000)
#define STOP_TIMEOUT_MS (120 * 1000)
#define LOCK_WAIT_MS 2000
#define GONE ".partial-join"

void
gbe_cluster_setup_result_clear(GbeClusterSetupResult *result)
{
	g_clear_pointer(&result->name, g_free);
	g_clear_pointer(&result->peer_url, g_free);
	g_clear_pointer(&result->client_url, g_free);
}

typedef struct {
	GbeApp *app;
	const GbeClusterSetup *options;
	const char *operation; /* "cluster join" */
	GbeClusterSetupResult *result;
	GbeLock *maintenance;
} Setup;

static void
setup_clear(Setup *setup)
{
	gbe_app_unlock(setup->app);
	g_clear_pointer(&setup->maintenance, gbe_lock_release);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Setup, setup_clear)

/* ---- may it begin? ---- */

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

static char *
own_name(const GbeApp *app)
{
	char host[HOST_NAME_MAX + 1] = "";

	if (app->config->etcd.name != NULL)
		return g_strdup(app->config->etcd.name);
	return gethostname(host, sizeof(host) - 1) == 0 && *host != '\0' ? g_strdup(host)
									 : g_strdup("etcd");
}

/* Newly allocated; NULL: a name or an address is none. */
static char *
env_text(const Setup *setup, const char *initial_cluster, bool existing, GError **error)
{
	const GbeClusterEnv env = {.name = setup->result->name,
				   .peer_url = setup->result->peer_url,
				   .client_url = setup->result->client_url,
				   .initial_cluster = initial_cluster,
				   .existing = existing};

	return gbe_cluster_env(&env, error);
}

static bool
choose_addresses(Setup *setup, GError **error)
{
	const GbeClusterSetup *options = setup->options;
	GbeClusterSetupResult *result = setup->result;
	g_autofree char *address = NULL;
	g_autofree char *text = NULL;

	result->name = options->name != NULL ? g_strdup(options->name) : own_name(setup->app);
	if ((options->peer_url == NULL || options->client_url == NULL) &&
	    !own_address(setup->app, &address, error))
		return false;
	result->peer_url = options->peer_url != NULL
			       ? g_strdup(options->peer_url)
			       : g_strdup_printf("https://%s:%d", address, PEER_PORT);
	result->client_url = options->client_url != NULL
				 ? g_strdup(options->client_url)
				 : g_strdup_printf("https://%s:%d", address, CLIENT_PORT);
	text = env_text(setup, "", false, error);
	return text != NULL;
}

/* An application that starts its own etcd decides itself how. */
static bool
check_service(const GbeApp *app, bool *ret_active, GError **error)
{
	const char *unit = app->config->etcd.service;
	g_auto(GbeUnitState) state = {0};

	if (app->below_root)
		return gbe_throw(
		    error, GBE_ERROR_REFUSED,
		    "below --root no service is started: do this on the device itself");
	if (geteuid() != 0)
		return gbe_throw(error, GBE_ERROR_FAILED, "this needs root: sudo");
	if (unit == NULL)
		return gbe_throw(error, GBE_ERROR_REFUSED,
				 "[etcd] service is empty: name the service that starts etcd");
	if (gbe_dropin_scope_of(unit) != NULL || g_str_equal(unit, "k3s.service"))
		return gbe_throw(error, GBE_ERROR_REFUSED,
				 "%s starts an etcd of its own: its cluster is that application's "
				 "to form",
				 unit);
	if (!gbe_unit_query(unit, &state, error))
		return gbe_prefix(error, "ask systemd about %s", unit);
	if (g_strcmp0(state.unit_file_state, "disabled") == 0)
		gbe_note("%s is not started at boot: systemctl enable %s", unit, unit);
	*ret_active = g_strcmp0(state.active_state, "inactive") != 0 &&
		      g_strcmp0(state.active_state, "failed") != 0;
	return true;
}

static bool
check_no_data(GbeApp *app, bool active, GError **error)
{
	g_autoptr(GbeData) data = NULL;

	if (!gbe_data_open(app, &data, error))
		return false;
	if (data->fd >= 0 && data->member_path != NULL)
		return gbe_throw(error, GBE_ERROR_REFUSED,
				 "%s has the data of an etcd: only a device without data joins or "
				 "begins a cluster",
				 data->path);
	return !active || gbe_throw(error, GBE_ERROR_REFUSED, "%s runs: stop it first",
				    app->config->etcd.service);
}

/* ---- the intent ---- */

static bool
read_intent(Setup *setup, GError **error)
{
	g_autoptr(JsonObject) record = NULL;
	const char *operation;

	if (!gbe_state_peek(setup->app, RECORD, &record, error))
		return false;
	operation = record != NULL ? gbe_json_string(record, "operation", "") : NULL;
	if (operation != NULL && !g_str_equal(operation, setup->operation))
		return gbe_throw(error, GBE_ERROR_REFUSED,
				 "an earlier `%s` was interrupted: call it again, it goes on",
				 operation);
	setup->result->continued = operation != NULL;
	return true;
}

static bool
write_intent(const Setup *setup, GError **error)
{
	g_autoptr(JsonObject) record = json_object_new();

	gbe_json_set_string(record, "operation", setup->operation);
	gbe_json_set_string(record, "peer_url", setup->result->peer_url);
	return gbe_state_write(setup->app, RECORD, record, error) &&
	       !GBE_FAULT("cluster-intended", error);
}

static bool
end_intent(const Setup *setup, GError **error)
{
	return gbe_unlink_durable_at(setup->app->state_fd, RECORD, error);
}

/* ---- what both do ---- */

/* A call that is repeated has the same token. */
static bool
check_token(const Setup *setup, const GbePki *pki, GError **error)
{
	const char *path = setup->options->token;
	g_autofree char *absolute = g_canonicalize_filename(path, NULL);
	g_autoptr(GbePrivateKey) token = NULL;
	g_autoptr(GbeIssuer) issuer = NULL;
	char *bytes = NULL;
	gsize size = 0;

	if (!gbe_read_in_root(setup->app->root_fd, absolute, GBE_CERTS_FILE_MAX, &bytes, &size,
			      error))
		return false;
	token = g_bytes_new_take(bytes, size);
	return gbe_issuer_open(token, token, path, &issuer, error) &&
	       (g_bytes_equal(gbe_issuer_chain(issuer), pki->signer.certificate) ||
		gbe_throw(error, GBE_ERROR_REFUSED,
			  "%s is of another authority than the certificates in " GBE_PKI_LIVE,
			  path));
}

static bool
ensure_authority(Setup *setup, GError **error)
{
	const char *token = setup->options->token;
	const GbePkiOptions options = {.ca_cert = token,
				       .ca_key = token,
				       .timeout = setup->options->timeout,
				       .validity = GBE_AUTHORITY_VALIDITY};
	g_autoptr(GbePkiResult) made = gbe_pki_result_new();
	g_autoptr(GbePki) pki = NULL;

	if (!gbe_pki_read(setup->app, &pki, error))
		return false;
	if (pki != NULL)
		return token == NULL || check_token(setup, pki, error);
	if (token == NULL && setup->options->url != NULL)
		return gbe_throw(error, GBE_ERROR_USAGE,
				 "this device has no certificates of the cluster: --token=FILE, "
				 "made by `greenboot-etcd cluster token` on a member, brings them");
	return gbe_pki_init(setup->app, &options, made, error);
}

static bool
begin(Setup *setup, GError **error)
{
	bool active = false;

	if (!check_service(setup->app, &active, error) || !choose_addresses(setup, error) ||
	    !read_intent(setup, error) ||
	    (!setup->result->continued && !check_no_data(setup->app, active, error)))
		return false;
	return setup->options->dry_run ||
	       (ensure_authority(setup, error) &&
		gbe_maintenance_lock(setup->app, setup->operation, &setup->maintenance, error) &&
		gbe_app_lock(setup->app, setup->operation, LOCK_WAIT_MS, error) &&
		write_intent(setup, error));
}

/* The certificates are for what the member advertises, too. */
static bool
ensure_hosts(const Setup *setup, GError **error)
{
	g_autoptr(GbePki) pki = NULL;
	g_autofree char *due = NULL;

	if (!gbe_pki_read(setup->app, &pki, error))
		return false;
	if (pki == NULL)
		return gbe_throw(error, GBE_ERROR_NOT_FOUND,
				 "there are no certificates in " GBE_PKI_LIVE);
	due = gbe_pki_due(setup->app, pki, NULL);
	if (due == NULL)
		return true;
	g_free(pki->record.made_by);
	pki->record.made_by = g_strdup(setup->operation);
	pki->record.restart = false;
	pki->record.was_healthy = GBE_UNKNOWN;
	return gbe_pki_issue_leaves(setup->app, pki, error) &&
	       gbe_pki_put(setup->app, pki, error) && gbe_pki_keep(setup->app, error);
}

static bool
write_env(const Setup *setup, const char *initial_cluster, bool existing, GError **error)
{
	g_autofree char *text = env_text(setup, initial_cluster, existing, error);

	return text != NULL &&
	       gbe_write_file_at(setup->app->state_fd, ENV_NAME, text, strlen(text), 0600,
				 GBE_WRITE_DURABLE, error) &&
	       !GBE_FAULT("cluster-configured", error) && ensure_hosts(setup, error);
}

/* Without the program's lock: the service's prerun needs it. The configuration now has the new endpoint. */
static bool
start(Setup *setup, GError **error)
{
	g_autoptr(GError) local = NULL;
	const char *unit;

	gbe_app_unlock(setup->app);
	if (!gbe_configuration_load(setup->app, false, error))
		return false;
	unit = setup->app->config->etcd.service;
	if (!gbe_unit_reset_failed(unit, &local))
		g_debug("%s", local->message);
	return (gbe_unit_start(unit, START_TIMEOUT_MS, error) ||
		gbe_prefix(error, "start %s", unit)) &&
	       !GBE_FAULT("cluster-started", error);
}

static bool
wait_healthy(Setup *setup, GError **error)
{
	GbeLiveEtcd live = {.app = setup->app, .operation = setup->operation};
	bool healthy;

	live.look = gbe_health_look_new(setup->app);
	gbe_health_look_expect_own(live.look);
	gbe_live_etcd_look(&live, (guint)setup->options->timeout);
	healthy = gbe_live_etcd_check_healthy(&live, error);
	gbe_live_etcd_clear(&live);
	return healthy || gbe_prefix(error,
				     "%s, which has to take its variables from " GBE_CLUSTER_ENV
				     " and no file of its own",
				     setup->app->config->etcd.service);
}

/* ---- init ---- */

static bool
init(Setup *setup, GError **error)
{
	g_autofree char *cluster = NULL;

	if (!begin(setup, error))
		return false;
	if (setup->options->dry_run)
		return true;
	cluster = g_strdup_printf("%s=%s", setup->result->name, setup->result->peer_url);
	return write_env(setup, cluster, false, error) && start(setup, error) &&
	       wait_healthy(setup, error) &&
	       gbe_app_lock(setup->app, setup->operation, LOCK_WAIT_MS, error) &&
	       end_intent(setup, error);
}

bool
gbe_cluster_init(GbeApp *app, const GbeClusterSetup *options, GbeClusterSetupResult *ret_result,
		 GError **error)
{
	g_auto(Setup) setup = {.app = app,
			       .options = options,
			       .operation = "cluster init",
			       .result = ret_result};

	return init(&setup, error);
}

/* ---- join ---- */

/* Until the configuration is loaded anew, questions go to that member, with this device's certificates. */
static void
ask_at(GbeApp *app, const char *url)
{
	GbeConfig *config = app->config;
	char **const fields[] = {&config->etcd.endpoint, &config->etcd.cacert, &config->etcd.cert,
				 &config->etcd.key};
	const char *const values[] = {url, GBE_PKI_LIVE "/ca.crt", GBE_PKI_LIVE "/client.crt",
				      GBE_PKI_LIVE "/client.key"};

	for (guint i = 0; i < G_N_ELEMENTS(fields); i++) {
		g_free(*fields[i]);
		*fields[i] = g_strdup(values[i]);
	}
}

static bool
look(Setup *setup, GbeCluster **ret_cluster, GError **error)
{
	guint timeout_ms = (guint)setup->app->config->health.request_timeout * 1000;

	ask_at(setup->app, setup->options->url);
	return gbe_cluster_look(setup->app, timeout_ms, ret_cluster, error) ||
	       gbe_prefix(error, "the cluster to join");
}

/* *ret_own NULL: it is not in yet. */
static bool
find_own(const Setup *setup, const GbeCluster *cluster, const GbeClusterMember **ret_own,
	 GError **error)
{
	const GbeClusterSetupResult *result = setup->result;

	for (guint i = 0; i < cluster->members->len; i++) {
		const GbeClusterMember *member = cluster->members->pdata[i];
		bool ours =
		    g_strv_contains((const char *const *)member->peer_urls, result->peer_url);

		if (ours && !result->continued)
			return gbe_throw(
			    error, GBE_ERROR_REFUSED,
			    "member %s has the address %s already: remove it first, or "
			    "choose another --peer-url",
			    member->name, result->peer_url);
		if (!ours && g_str_equal(member->name, result->name))
			return gbe_throw(error, GBE_ERROR_REFUSED,
					 "there is a member %s already: choose another --name",
					 result->name);
		if (ours)
			*ret_own = member;
	}
	return true;
}

static bool
enter(Setup *setup, const GbeCluster *cluster, GError **error)
{
	char *urls[] = {setup->result->peer_url, NULL};
	const GbeMembersOptions options = {0};
	g_auto(GbeMembersResult) added = {0};
	const GbeClusterMember *own = NULL;

	if (!find_own(setup, cluster, &own, error))
		return false;
	if (own != NULL) {
		setup->result->id = own->voter.id;
		return true;
	}
	if (!gbe_members_add(setup->app, urls, &options, &added, error))
		return false;
	setup->result->id = added.id;
	return !GBE_FAULT("cluster-entered", error);
}

static char *
initial_cluster(const Setup *setup, const GbeCluster *cluster)
{
	g_autoptr(GString) text = g_string_new(NULL);

	for (guint i = 0; i < cluster->members->len; i++) {
		const GbeClusterMember *member = cluster->members->pdata[i];

		for (guint k = 0; member->voter.started && member->peer_urls[k] != NULL; k++)
			if (!g_str_equal(member->peer_urls[k], setup->result->peer_url))
				g_string_append_printf(text, "%s=%s,", member->name,
						       member->peer_urls[k]);
	}
	g_string_append_printf(text, "%s=%s", setup->result->name, setup->result->peer_url);
	return g_string_free(g_steal_pointer(&text), false);
}

static bool
promote(Setup *setup, GError **error)
{
	const GbeMembersOptions options = {.wait = setup->options->timeout};
	g_auto(GbeMembersResult) promoted = {0};
	g_autoptr(GbeCluster) cluster = NULL;
	const GbeClusterMember *own = NULL;
	g_autofree char *id = g_strdup_printf("%016" G_GINT64_MODIFIER "x", setup->result->id);

	/* A learner answers no question about the members. */
	if (!look(setup, &cluster, error) || !gbe_cluster_find(cluster, id, &own, error))
		return false;
	return !own->voter.learner ||
	       gbe_members_promote(setup->app, id, &options, &promoted, error);
}

/* The data of a learner is a copy, and of no use once it has left. */
static bool
remove_copy(GbeApp *app, GError **error)
{
	g_autoptr(GbeData) data = NULL;
	g_autoptr(GError) local = NULL;
	gbe_autofd int fd = -1;

	if (!gbe_data_open(app, &data, error))
		return false;
	if (data->fd < 0 || data->member_path == NULL)
		return true;
	if (gbe_in_use(data->fd, data->member_path, data->wal_fd, NULL, &local) != GBE_NO)
		return gbe_throw(error, GBE_ERROR_BUSY, "etcd has %s open", data->path);
	fd = openat(data->fd, *data->member_path != '\0' ? data->member_path : ".",
		    O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return gbe_throw_errno(error, errno, "open %s", data->path);
	return gbe_remove_tree_at(fd, GONE, error) &&
	       gbe_rename_new_at(fd, "member", fd, GONE, error) &&
	       gbe_sync_dir(fd, data->path, error) && gbe_remove_tree_at(fd, GONE, error);
}

/* Takes the learner that this call has added out again, and what it had got: there was no data before. A voter stays: it
 * counts. */
static bool
leave_again(Setup *setup, GError **error)
{
	const GbeMembersOptions options = {0};
	g_auto(GbeMembersResult) removed = {0};
	g_autoptr(GbeCluster) cluster = NULL;
	const GbeClusterMember *own = NULL;
	g_autofree char *id = g_strdup_printf("%016" G_GINT64_MODIFIER "x", setup->result->id);

	if (!look(setup, &cluster, error))
		return false;
	if (!gbe_cluster_find(cluster, id, &own, error))
		return false;
	if (!own->voter.learner)
		return gbe_throw(error, GBE_ERROR_REFUSED, "it has a vote already");
	if (!gbe_members_remove(setup->app, id, &options, &removed, error))
		return false;
	return gbe_unit_stop(setup->app->config->etcd.service, STOP_TIMEOUT_MS, error) &&
	       gbe_app_lock(setup->app, setup->operation, LOCK_WAIT_MS, error) &&
	       remove_copy(setup->app, error) &&
	       gbe_unlink_durable_at(setup->app->state_fd, ENV_NAME, error) &&
	       end_intent(setup, error);
}

static bool
join(Setup *setup, GError **error)
{
	g_autoptr(GbeCluster) cluster = NULL;
	g_autofree char *members = NULL;

	if (!look(setup, &cluster, error) || !enter(setup, cluster, error))
		return false;
	members = initial_cluster(setup, cluster);
	return write_env(setup, members, true, error) && start(setup, error) &&
	       promote(setup, error) && gbe_configuration_load(setup->app, false, error) &&
	       wait_healthy(setup, error) &&
	       gbe_app_lock(setup->app, setup->operation, LOCK_WAIT_MS, error) &&
	       end_intent(setup, error);
}

bool
gbe_cluster_join(GbeApp *app, const GbeClusterSetup *options, GbeClusterSetupResult *ret_result,
		 GError **error)
{
	g_auto(Setup) setup = {.app = app,
			       .options = options,
			       .operation = "cluster join",
			       .result = ret_result};
	g_autoptr(GError) local = NULL, again = NULL;

	if (!begin(&setup, error))
		return false;
	if (options->dry_run || join(&setup, &local))
		return true;
	/* Since the call that was cut, the data may have become a voter's, or somebody else's: it stays. */
	if (ret_result->continued) {
		g_propagate_error(error, g_steal_pointer(&local));
		gbe_rethrow(error, GBE_ERROR_PARTIAL);
		return gbe_prefix(error,
				  "the join that was interrupted is not finished, and the next "
				  "`cluster join` goes on");
	}
	/* The cluster was not asked for anything yet. */
	if (ret_result->id == 0 && end_intent(&setup, &again)) {
		g_propagate_error(error, g_steal_pointer(&local));
		return false;
	}
	if (again == NULL && leave_again(&setup, &again))
		g_propagate_prefixed_error(
		    error, g_steal_pointer(&local),
		    "this device is not in the cluster, and nothing of it is "
		    "left: ");
	else
		(void)gbe_throw(
		    error, GBE_ERROR_PARTIAL,
		    "%s. The way back failed, too (%s): the next `cluster join` goes on",
		    local->message, again->message);
	return false;
}

/* ---- token ---- */

bool
gbe_cluster_token(GbeApp *app, const char *path, GError **error)
{
	g_autoptr(GbePki) pki = NULL;
	g_autoptr(GbePrivateKey) both = NULL;
	GByteArray *bytes;
	GBytes *parts[2];

	if (!gbe_pki_read(app, &pki, error))
		return false;
	if (pki == NULL)
		return gbe_throw(error, GBE_ERROR_NOT_FOUND,
				 "there is no authority in " GBE_PKI_LIVE
				 ": `greenboot-etcd cluster init` makes one");
	if (!gbe_unseal(app, &pki->signer, error))
		return false;
	parts[0] = pki->signer.certificate;
	parts[1] = pki->signer.key;
	bytes = g_byte_array_new();
	for (guint i = 0; i < G_N_ELEMENTS(parts); i++)
		g_byte_array_append(bytes, g_bytes_get_data(parts[i], NULL),
				    (guint)g_bytes_get_size(parts[i]));
	both = g_byte_array_free_to_bytes(bytes);
	return gbe_certs_write_file(app, both, path, error);
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "core/config/systems.h"

#include "core/config/certs.h"
#include "core/config/keys.h"
#include "core/config/run-words.h"

#include <string.h>

#define CLIENT_PORT 2379
#define K3S_TLS "/var/lib/rancher/k3s/server/tls"
#define MICROSHIFT_CERTS "/var/lib/microshift/certs"
#define MICROSHIFT_CLIENT MICROSHIFT_CERTS "/etcd-signer/apiserver-etcd-client/client"

static const GbeSystemSetting microshift[] = {
    {"etcd", "data-dir", "/var/lib/microshift"},
    {"etcd", "member-dir", "etcd"},
    {"etcd", "version-file", "version"},
    {"etcd", "service", GBE_MICROSHIFT_SERVICE},
    {"etcd", "endpoint", "https://localhost:2379"},
    {"etcd", "cacert", MICROSHIFT_CERTS "/etcd-signer/ca.crt"},
    {"etcd", "cert", MICROSHIFT_CLIENT ".crt"},
    {"etcd", "key", MICROSHIFT_CLIENT ".key"},
    {"certs", "directories", MICROSHIFT_CERTS},
    {"certs", "regenerated", "*"},
    {"health", "timeout", "10min"},
    {"defrag", "enabled", "no"},
    {NULL},
};

static const GbeSystemSetting k3s[] = {
    {"etcd", "data-dir", "/var/lib/rancher/k3s/server"},
    {"etcd", "member-dir", "db/etcd"},
    {"etcd", "service", "k3s.service"},
    {"etcd", "endpoint", "https://127.0.0.1:2379"},
    {"etcd", "cacert", K3S_TLS "/etcd/server-ca.crt"},
    {"etcd", "cert", K3S_TLS "/etcd/client.crt"},
    {"etcd", "key", K3S_TLS "/etcd/client.key"},
    {"certs", "directories", K3S_TLS},
    {"health", "timeout", "10min"},
    {"defrag", "enabled", "no"},
    {NULL},
};

static const GbeSystemSetting debian[] = {
    {"etcd", "data-dir", "/var/lib/etcd"},
    {"etcd", "member-dir", "default"},
    {"etcd", "service", "etcd.service"},
    {NULL},
};

static const GbeSystemSetting plain[] = {
    {"etcd", "data-dir", "/var/lib/etcd"},
    {"etcd", "service", "etcd.service"},
    {"etcd", "endpoint", "http://127.0.0.1:2379"},
    {NULL},
};

static const GbeSystemSetting container[] = {
    {"etcd", "data-dir", "/var/lib/etcd"},
    {"etcd", "service", "container-etcd.service"},
    {"etcd", "endpoint", "http://127.0.0.1:2379"},
    {NULL},
};

static const GbeSystemSetting pki_client[] = {
    {"etcd", "cacert", GBE_PKI_LIVE "/ca.crt"},
    {"etcd", "cert", GBE_PKI_LIVE "/client.crt"},
    {"etcd", "key", GBE_PKI_LIVE "/client.key"},
    {NULL},
};

static const GbeSystemSetting pki[] = {{"certs", "directories", GBE_PKI_LIVE}, {NULL}};

static const char *const k3s_sources[] = {
    "/etc/default/k3s",
    "/etc/sysconfig/k3s",
    "/etc/systemd/system/k3s.service.env",
    "/etc/rancher/k3s/config.yaml",
    "/etc/rancher/k3s/config.yaml.d",
    NULL,
};
static const char *const debian_sources[] = {"/etc/default/etcd", NULL};

/* Is @word the flag --@name, the key "@name:" of YAML, or the variable? */
static bool
is_option(const char *word, const char *name, const char *variable)
{
	gsize length = strlen(name);

	if (g_str_has_prefix(word, "--"))
		return g_str_equal(word + 2, name);
	return g_str_equal(word, variable) ||
	       (strncmp(word, name, length) == 0 && g_str_equal(word + length, ":"));
}

/* k3s keeps its data in an embedded etcd where it was told to begin or to join such a cluster. An agent, a server with
 * SQLite or a database elsewhere, and one whose data is in another place are not protected unasked. */
static bool
is_k3s(char *const *words)
{
	bool embedded = false;

	for (guint i = 0; words[i] != NULL; i++) {
		const char *word = words[i];
		const char *next = words[i + 1] != NULL ? words[i + 1] : "";

		if ((g_str_has_suffix(word, "/k3s") && g_str_equal(next, "agent")) ||
		    is_option(word, "datastore-endpoint", "K3S_DATASTORE_ENDPOINT") ||
		    is_option(word, "disable-etcd", "K3S_DISABLE_ETCD") ||
		    is_option(word, "data-dir", "K3S_DATA_DIR"))
			return false;
		if (is_option(word, "server", "K3S_URL"))
			embedded = true;
		else if (is_option(word, "cluster-init", "K3S_CLUSTER_INIT"))
			embedded =
			    embedded || !(g_str_equal(next, "false") || g_str_equal(next, "0"));
	}
	return embedded;
}

/* Debian's unit names the directory, which /etc/default/etcd may change. */
static bool
is_debian(char *const *words)
{
	const char *directory = NULL;

	for (guint i = 0; words[i] != NULL && words[i + 1] != NULL; i++)
		if (is_option(words[i], "data-dir", "ETCD_DATA_DIR"))
			directory = words[i + 1];
	return g_strcmp0(directory, "/var/lib/etcd/default") == 0;
}

const GbeSystem gbe_systems[] = {
    {"MicroShift", GBE_MICROSHIFT_SERVICE, NULL, NULL, true, microshift},
    {"k3s", "k3s.service", k3s_sources, is_k3s, true, k3s},
    {"Debian's etcd", "etcd.service", debian_sources, is_debian, false, debian},
    {"etcd", "etcd.service", NULL, NULL, false, plain},
    {"etcd in a container", "container-etcd.service", NULL, NULL, false, container},
    {NULL},
};

char **
gbe_system_words(const char *text)
{
	g_autoptr(GPtrArray) words = g_ptr_array_new_with_free_func(g_free);
	g_auto(GStrv) lines = g_strsplit(text, "\n", -1);

	for (guint i = 0; lines[i] != NULL; i++) {
		g_auto(GStrv) parts = NULL;

		if (strchr("#;", *g_strchug(lines[i])) != NULL)
			continue;
		parts = g_strsplit_set(lines[i], " \t\r\"'=\\", -1);
		for (guint k = 0; parts[k] != NULL; k++)
			if (*parts[k] != '\0')
				g_ptr_array_add(words, g_strdup(parts[k]));
	}
	g_ptr_array_add(words, NULL);
	return (char **)g_ptr_array_free(g_steal_pointer(&words), false);
}

bool
gbe_config_wants_detection(const GbeConfig *config)
{
	return !g_hash_table_contains(config->origins, "etcd.data-dir") &&
	       !g_hash_table_contains(config->origins, "etcd.service") &&
	       !g_hash_table_contains(config->origins, "etcd.endpoint");
}

static void
apply(GbeConfig *config, const char *origin, const GbeSystemSetting *settings)
{
	for (const GbeSystemSetting *setting = settings; setting->group != NULL; setting++) {
		g_autofree char *name = g_strconcat(setting->group, ".", setting->key, NULL);

		if (g_hash_table_contains(config->origins, name))
			continue;
		if (!gbe_config_key_set(gbe_config_key_find(setting->group, setting->key), config,
					setting->value, NULL))
			g_assert_not_reached();
		g_hash_table_insert(config->origins, g_steal_pointer(&name),
				    g_strconcat("detected: ", origin, NULL));
	}
}

void
gbe_config_detect_cluster(GbeConfig *config, const char *settings)
{
	g_auto(GStrv) variables = gbe_run_environment(NULL, settings);
	const char *url = g_environ_getenv(variables, "ETCD_ADVERTISE_CLIENT_URLS");
	g_autoptr(GUri) client = url != NULL ? g_uri_parse(url, G_URI_FLAGS_NONE, NULL) : NULL;
	gint port = client != NULL ? g_uri_get_port(client) : -1;
	g_autofree char *value =
	    g_strdup_printf("https://127.0.0.1:%d", port > 0 ? port : CLIENT_PORT);
	const GbeSystemSetting endpoint[] = {{"etcd", "endpoint", value}, {NULL}};
	const char *origin = g_hash_table_lookup(config->origins, "etcd.endpoint");

	if (origin != NULL && !g_str_has_prefix(origin, "detected: "))
		return;
	g_hash_table_remove(config->origins, "etcd.endpoint");
	apply(config, "cluster", endpoint);
}

void
gbe_config_detect_pki(GbeConfig *config)
{
	bool tls =
	    config->etcd.endpoint != NULL && g_str_has_prefix(config->etcd.endpoint, "https://") &&
	    config->etcd.cacert == NULL && config->etcd.cert == NULL && config->etcd.key == NULL;

	if (tls)
		apply(config, "certs init", pki_client);
	apply(config, "certs init", pki);
}

static char *
ask(const GbeInstalled *installed, guint count)
{
	GString *text = g_string_new(installed[0].system->name);

	for (guint i = 1; i < count; i++)
		g_string_append_printf(text, "%s%s", i + 1 < count ? ", " : " and ",
				       installed[i].system->name);
	g_string_append(text, " are here, and no file says which one to protect: set data-dir= and "
			      "service= of [etcd], or mask the services of the others");
	return g_string_free(text, false);
}

void
gbe_config_detect(GbeConfig *config, const GbeInstalled *installed, guint count)
{
	const GbeSystem *enabled = NULL;
	guint n_enabled = 0;

	for (guint i = 0; i < count; i++)
		if (installed[i].enabled) {
			enabled = installed[i].system;
			n_enabled++;
		}
	if (count == 1)
		enabled = installed[0].system;
	if (count == 1 || n_enabled == 1)
		apply(config, enabled->name, enabled->settings);
	else if (count > 1)
		config->ambiguous = ask(installed, count);
}

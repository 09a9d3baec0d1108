/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "core/config/systems.h"

#include "core/config/keys.h"
#include "core/config/lists.h"

#include <string.h>

#define CLIENT_PORT 2379
#define K3S_DATA "/var/lib/rancher/k3s"
#define K3S_TLS K3S_DATA "/server/tls"
#define MICROSHIFT_CERTS "/var/lib/microshift/certs"
#define MICROSHIFT_CLIENT MICROSHIFT_CERTS "/etcd-signer/apiserver-etcd-client/client"

/* ---- the arguments and variables that a unit gives its program ---- */

static bool
is_comment(const char *line)
{
	return *line == '#' || *line == ';';
}

/* The line at *at with those that are joined to it; *at becomes that of the next one. */
static char *
next_line(char *const *lines, guint *at)
{
	GString *whole = g_string_new(NULL);

	while (lines[*at] != NULL) {
		const char *line = g_strstrip(lines[(*at)++]);
		gsize length = strlen(line);
		bool joined = length > 0 && line[length - 1] == '\\';

		/* A comment does not end what it stands in. */
		if (is_comment(line) && whole->len > 0)
			continue;
		g_string_append_len(whole, line, (gssize)(joined ? length - 1 : length));
		if (!joined || is_comment(line))
			break;
		g_string_append_c(whole, ' ');
	}
	return g_string_free(whole, false);
}

char **
gbe_unit_values(const char *text, const char *key)
{
	g_autoptr(GPtrArray) values = g_ptr_array_new_with_free_func(g_free);
	g_auto(GStrv) lines = g_strsplit(text, "\n", -1);
	gsize length = strlen(key);

	for (guint at = 0; lines[at] != NULL;) {
		g_autofree char *line = next_line(lines, &at);
		const char *value = line + length;

		if (strncmp(line, key, length) != 0)
			continue;
		value += strspn(value, " \t");
		if (*value != '=')
			continue;
		value += 1 + strspn(value + 1, " \t");
		if (*value == '\0')
			g_ptr_array_set_size(values, 0);
		else
			g_ptr_array_add(values, g_strdup(value));
	}
	g_ptr_array_add(values, NULL);
	return (char **)g_ptr_array_free(g_steal_pointer(&values), false);
}

/* Words that no shell would take are separated at blanks. */
static char **
split_words(const char *text)
{
	char **words = NULL;

	if (!gbe_words("", text, &words, NULL))
		words = g_strsplit_set(text, " \t", -1);
	return words;
}

/* The arguments of @program in the command @line. NULL: the line does not start it. */
static GPtrArray *
arguments_of(const char *line, const char *program, char **environment)
{
	g_autoptr(GPtrArray) found = NULL;
	g_auto(GStrv) words = split_words(line);
	const char *before = "";

	for (guint i = 0; words[i] != NULL; i++) {
		g_autofree char *name = g_path_get_basename(words[i] + strspn(words[i], "@-:+!|"));

		if (found != NULL && *words[i] == '$' && words[i][1] != '$') {
			/* A variable alone stands for several words. */
			g_autofree char *variable =
			    g_strcanon(g_strdup(words[i] + 1),
				       G_CSET_A_2_Z G_CSET_a_2_z G_CSET_DIGITS "_", ' ');
			const char *value = g_environ_getenv(environment, g_strstrip(variable));
			g_auto(GStrv) parts = split_words(value != NULL ? value : "");

			for (guint k = 0; parts[k] != NULL; k++)
				g_ptr_array_add(found, g_strdup(parts[k]));
		} else if (found != NULL) {
			g_ptr_array_add(found, g_strdup(words[i]));
		} else if (g_str_equal(name, program)) {
			found = g_ptr_array_new_with_free_func(g_free);
		} else if (g_str_equal(before, "-c")) {
			found = arguments_of(words[i], program, environment);
		}
		before = words[i];
	}
	return g_steal_pointer(&found);
}

void
gbe_told_read(const char *unit, const char *variables, const char *program, GbeTold *ret_told)
{
	g_auto(GStrv) set = gbe_unit_values(unit, "Environment");
	g_auto(GStrv) commands = gbe_unit_values(unit, "ExecStart");
	GbeTold told = {NULL, NULL};

	for (guint i = 0; set[i] != NULL; i++) {
		g_auto(GStrv) words = split_words(set[i]);
		g_autofree char *lines = g_strjoinv("\n", words);

		told.environment = gbe_run_environment(told.environment, lines);
	}
	/* As in systemd, what files say is above what the unit says. */
	told.environment = gbe_run_environment(told.environment, variables);
	for (guint i = 0; commands[i] != NULL; i++) {
		GPtrArray *found = arguments_of(commands[i], program, told.environment);

		if (found == NULL)
			continue;
		g_clear_pointer(&told.arguments, g_ptr_array_unref);
		told.arguments = found;
	}
	*ret_told = told;
}

void
gbe_told_clear(GbeTold *told)
{
	g_clear_pointer(&told->arguments, g_ptr_array_unref);
	g_clear_pointer(&told->environment, g_strfreev);
}

/* The text after the flag's name: "=value", or "". NULL: it is another word. */
static const char *
behind_flag(const char *word, const char *flag, char letter)
{
	gsize length = strlen(flag);
	const char *name = word + (g_str_has_prefix(word, "--") ? 2 : 1);

	if (*word != '-')
		return NULL;
	if (strncmp(name, flag, length) == 0 && strchr("=", name[length]) != NULL)
		return name + length;
	return letter != 0 && name == word + 1 && *name == letter && strchr("=", name[1]) != NULL
		   ? name + 1
		   : NULL;
}

/* @alone: the value of a flag without one; NULL: the next word. */
static const char *
find_value(const GbeTold *told, const char *flag, char letter, const char *variable,
	   const char *alone)
{
	const char *value = NULL;

	for (guint i = 0; told->arguments != NULL && i < told->arguments->len; i++) {
		const char *behind = behind_flag(told->arguments->pdata[i], flag, letter);

		if (behind == NULL)
			continue;
		if (*behind == '=')
			value = behind + 1;
		else if (alone != NULL)
			value = alone;
		else if (i + 1 < told->arguments->len)
			value = told->arguments->pdata[++i];
	}
	if (value == NULL && variable != NULL)
		value = g_environ_getenv(told->environment, variable);
	return value != NULL && *value != '\0' ? value : NULL;
}

const char *
gbe_told_value(const GbeTold *told, const char *flag, char letter, const char *variable)
{
	return find_value(told, flag, letter, variable, NULL);
}

/* The same for a flag that is on or off. UNKNOWN: any other value. */
static GbeTri
told_switch(const GbeTold *told, const char *flag, const char *variable)
{
	static const char *const on[] = {"1", "t", "T", "true", "TRUE", "True", NULL};
	static const char *const off[] = {"0", "f", "F", "false", "FALSE", "False", NULL};
	const char *value = find_value(told, flag, 0, variable, "true");

	if (value == NULL || g_strv_contains(off, value))
		return GBE_NO;
	return g_strv_contains(on, value) ? GBE_YES : GBE_UNKNOWN;
}

/* ---- the systems ---- */

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
    {"etcd", "data-dir", K3S_DATA "/server"},
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

static const char *const k3s_variables[] = {
    "/etc/default/k3s",
    "/etc/sysconfig/k3s",
    "/etc/systemd/system/k3s.service.env",
    NULL,
};
static const char *const rke2_variables[] = {
    "/etc/default/rke2-server",
    "/etc/sysconfig/rke2-server",
    "/usr/lib/systemd/system/rke2-server.env",
    "/usr/local/lib/systemd/system/rke2-server.env",
    NULL,
};
static const char *const debian_variables[] = {"/etc/default/etcd", NULL};

static bool
is_same_directory(const char *path, const char *other)
{
	g_autofree char *normal = g_canonicalize_filename(path, "/");

	return g_str_equal(normal, other);
}

/* An agent is told so by its command. */
static bool
is_agent(const GbeTold *told)
{
	GBE_EACH(const char *, word, told->arguments)
		if (*word != '-')
			return g_str_equal(word, "agent");
	return false;
}

/* k3s keeps its data in an embedded etcd where it was told to begin or to join such a cluster. An agent, and a server
 * with SQLite or a database elsewhere, have none. */
static bool
is_k3s(const GbeTold *told, char **ret_why)
{
	GbeTri begins = told_switch(told, "cluster-init", "K3S_CLUSTER_INIT");
	GbeTri without = told_switch(told, "disable-etcd", "K3S_DISABLE_ETCD");
	const char *data_dir = gbe_told_value(told, "data-dir", 'd', "K3S_DATA_DIR");
	bool joins = gbe_told_value(told, "server", 's', "K3S_URL") != NULL;

	if (is_agent(told) || without == GBE_YES ||
	    gbe_told_value(told, "datastore-endpoint", 0, "K3S_DATASTORE_ENDPOINT") != NULL ||
	    (begins == GBE_NO && !joins))
		return false;
	if (without == GBE_UNKNOWN || (begins == GBE_UNKNOWN && !joins))
		*ret_why =
		    g_strdup_printf("%s is not true or false",
				    without == GBE_UNKNOWN ? "disable-etcd" : "cluster-init");
	else if (data_dir != NULL && !is_same_directory(data_dir, K3S_DATA))
		*ret_why =
		    g_strdup_printf("its data is in %s; set data-dir=%s/server of [etcd], and "
				    "the paths below it",
				    data_dir, data_dir);
	return true;
}

static bool
k3s_without_etcd(const GbeTold *told, bool has_data, const char **ret_text, const char **ret_hint)
{
	if (is_agent(told) || told_switch(told, "disable-etcd", "K3S_DISABLE_ETCD") == GBE_YES)
		return false;
	if (gbe_told_value(told, "datastore-endpoint", 0, "K3S_DATASTORE_ENDPOINT") != NULL) {
		*ret_text = "k3s.service keeps its data in the database of datastore-endpoint, and "
			    "not in etcd";
		*ret_hint = "back that database up where it runs";
	} else if (has_data) {
		*ret_text = "k3s.service has data of etcd, but cluster-init is not set any more";
		*ret_hint = "add `cluster-init: true` to /etc/rancher/k3s/config.yaml again (k3s's "
			    "installer drops the option if it runs without it)";
	} else {
		*ret_text = "k3s.service keeps its data in SQLite, which greenboot-etcd does not "
			    "protect";
		*ret_hint = "start k3s with --cluster-init, which moves the data to etcd";
	}
	return true;
}

static bool
is_rke2(const GbeTold *told, char **ret_why)
{
	(void)ret_why;
	return gbe_told_value(told, "datastore-endpoint", 0, "RKE2_DATASTORE_ENDPOINT") == NULL &&
	       told_switch(told, "disable-etcd", "RKE2_DISABLE_ETCD") != GBE_YES;
}

/* A single k0s has SQLite, unless its file says etcd. */
static bool
is_k0s(const GbeTold *told, char **ret_why)
{
	const char *storage = gbe_told_value(told, "spec.storage.type", 0, NULL);

	(void)ret_why;
	return storage != NULL ? g_str_equal(storage, "etcd")
			       : told_switch(told, "single", NULL) != GBE_YES;
}

/* Debian's unit names the directory, which /etc/default/etcd may change. */
static bool
is_debian(const GbeTold *told, char **ret_why)
{
	const char *directory = gbe_told_value(told, "data-dir", 0, "ETCD_DATA_DIR");

	(void)ret_why;
	return directory != NULL && is_same_directory(directory, "/var/lib/etcd/default");
}

const GbeSystem gbe_systems[] = {
    {"MicroShift", GBE_MICROSHIFT_SERVICE, .application = true, .settings = microshift},
    {"k3s",
     "k3s.service",
     "k3s",
     k3s_variables,
     {"/etc/rancher/k3s/config.yaml", "config", "K3S_CONFIG_FILE", 'c', false},
     is_k3s,
     .without_etcd = k3s_without_etcd,
     .application = true,
     .settings = k3s},
    {"RKE2",
     "rke2-server.service",
     "rke2",
     rke2_variables,
     {"/etc/rancher/rke2/config.yaml", "config", "RKE2_CONFIG_FILE", 'c', false},
     is_rke2,
     .application = true,
     .unsupported = "its etcd is a static pod, which keeps running when the service stops"},
    {"kubeadm", "kubelet.service", .application = true,
     .marker = "/etc/kubernetes/manifests/etcd.yaml",
     .unsupported = "kubeadm's etcd is a static pod, which keeps running when the service stops"},
    {"k0s",
     "k0scontroller.service",
     "k0s",
     NULL,
     {"/etc/k0s/k0s.yaml", "config", NULL, 'c', false},
     is_k0s,
     .application = true,
     .unsupported = "it has not been tested with greenboot-etcd"},
    {"Debian's etcd",
     "etcd.service",
     "etcd",
     debian_variables,
     {NULL, "config-file", "ETCD_CONFIG_FILE", 0, true},
     is_debian,
     .settings = debian},
    {"etcd", "etcd.service", .settings = plain},
    {"etcd in a container", "container-etcd.service", .settings = container},
    {NULL},
};

bool
gbe_config_wants_detection(const GbeConfig *config)
{
	return !g_hash_table_contains(config->origins, "etcd.data-dir") &&
	       !g_hash_table_contains(config->origins, "etcd.service") &&
	       !g_hash_table_contains(config->origins, "etcd.endpoint");
}

static void
apply_settings(GbeConfig *config, const char *origin, const GbeSystemSetting *settings)
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
	apply_settings(config, "cluster", endpoint);
}

void
gbe_config_detect_pki(GbeConfig *config)
{
	bool tls =
	    config->etcd.endpoint != NULL && g_str_has_prefix(config->etcd.endpoint, "https://") &&
	    config->etcd.cacert == NULL && config->etcd.cert == NULL && config->etcd.key == NULL;

	if (tls)
		apply_settings(config, "certs init", pki_client);
	apply_settings(config, "certs init", pki);
}

void
gbe_config_detect(GbeConfig *config, const GbeInstalled *installed, guint count)
{
	g_autoptr(GPtrArray) names = g_ptr_array_new();
	const GbeSystem *enabled = NULL, *last = NULL;
	guint n_enabled = 0;

	for (guint i = 0; i < count; i++) {
		if (installed[i].why != NULL)
			continue;
		last = installed[i].system;
		g_ptr_array_add(names, (gpointer)last->name);
		if (installed[i].enabled) {
			enabled = last;
			n_enabled++;
		}
	}
	if (names->len == 1)
		enabled = last;
	if (names->len == 1 || n_enabled == 1) {
		apply_settings(config, enabled->name, enabled->settings);
	} else if (names->len > 1) {
		GString *text = g_string_new(names->pdata[0]);

		for (guint i = 1; i < names->len; i++)
			g_string_append_printf(text, "%s%s", i + 1 < names->len ? ", " : " and ",
					       (const char *)names->pdata[i]);
		g_string_append(text,
				" are here, and no file says which one to protect: set data-dir= "
				"and service= of [etcd], or mask the services of the others");
		config->ambiguous = g_string_free(text, false);
	}
}

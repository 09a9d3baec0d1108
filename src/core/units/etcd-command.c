/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "core/units/etcd-command.h"

#include <string.h>

enum { NAME, DATA_DIR, WAL_DIR, CONFIG_FILE, QUOTA, CLIENTS, GATEWAY, PEERS, METRICS, N_FLAGS };

static const struct {
	const char *name, *variable, *fallback;
} flags[N_FLAGS] = {
    [NAME] = {"name", "ETCD_NAME", "default"},
    [DATA_DIR] = {"data-dir", "ETCD_DATA_DIR", NULL},
    [WAL_DIR] = {"wal-dir", "ETCD_WAL_DIR", NULL},
    [CONFIG_FILE] = {"config-file", "ETCD_CONFIG_FILE", NULL},
    [QUOTA] = {"quota-backend-bytes", "ETCD_QUOTA_BACKEND_BYTES", NULL},
    [CLIENTS] = {"listen-client-urls", "ETCD_LISTEN_CLIENT_URLS", "http://localhost:2379"},
    [GATEWAY] = {"listen-client-http-urls", "ETCD_LISTEN_CLIENT_HTTP_URLS", NULL},
    [PEERS] = {"listen-peer-urls", "ETCD_LISTEN_PEER_URLS", "http://localhost:2380"},
    [METRICS] = {"listen-metrics-urls", "ETCD_LISTEN_METRICS_URLS", NULL},
};

/* The other flags with a value are unknown here. So an argument that looks like a flag is no value, except "-1". */
static void
read_arguments(char *const *arguments, const char *values[N_FLAGS])
{
	for (guint i = 0; arguments[i] != NULL; i++) {
		const char *name = arguments[i], *next = arguments[i + 1], *value;
		gsize length;
		int flag = 0;

		/* An argument that is no flag ends the flags, for etcd as well. */
		if (name[0] != '-' || name[1] == '\0' || g_str_equal(name, "--"))
			return;
		name += name[1] == '-' ? 2 : 1;
		length = strcspn(name, "=");
		while (flag < N_FLAGS && (strlen(flags[flag].name) != length ||
					  strncmp(flags[flag].name, name, length) != 0))
			flag++;
		value = name[length] == '=' ? name + length + 1 : NULL;
		if (value == NULL && next != NULL &&
		    (flag < N_FLAGS || next[0] != '-' ||
		     (next[1] != '-' && !g_ascii_isalpha(next[1]))))
			value = arguments[++i];
		if (flag < N_FLAGS)
			values[flag] = value;
	}
}

/* POSIX leaves two slashes at the begin of a path open. On Linux they are one. */
static char *
absolute(const char *path, const char *directory)
{
	if (path == NULL || *path == '\0')
		return NULL;
	while (path[0] == '/' && path[1] == '/')
		path++;
	return g_canonicalize_filename(path, directory);
}

static int
compare_texts(gconstpointer a, gconstpointer b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static char **
collect_urls(const char *const values[N_FLAGS])
{
	g_autoptr(GPtrArray) urls = g_ptr_array_new_with_free_func(g_free);

	for (int i = CLIENTS; i < N_FLAGS; i++) {
		const char *list = values[i] != NULL ? values[i] : flags[i].fallback;
		g_auto(GStrv) parts = g_strsplit(list != NULL ? list : "", ",", -1);

		for (guint k = 0; parts[k] != NULL; k++) {
			char *url = g_strstrip(parts[k]);
			gsize length = strlen(url);

			while (length > 0 && url[length - 1] == '/')
				url[--length] = '\0';
			/* The spelling of a socket's path matters, that of a host does not. */
			if (length > 0)
				g_ptr_array_add(urls, g_str_has_prefix(url, "unix")
							  ? g_strdup(url)
							  : g_ascii_strdown(url, -1));
		}
	}
	g_ptr_array_sort(urls, compare_texts);
	for (guint i = 1; i < urls->len;)
		if (g_str_equal(urls->pdata[i - 1], urls->pdata[i]))
			(void)g_ptr_array_remove_index(urls, i);
		else
			i++;
	g_ptr_array_add(urls, NULL);
	return (char **)g_ptr_array_free(g_steal_pointer(&urls), false);
}

void
gbe_etcd_command_parse(char *const *arguments, char *const *environment, const char *directory,
		       GbeEtcdCommand *ret_command)
{
	const char *values[N_FLAGS] = {NULL};
	g_autofree char *unnamed = NULL;

	read_arguments(arguments, values);
	for (int i = 0; i < N_FLAGS; i++) {
		const char *value = g_environ_getenv((char **)environment, flags[i].variable);

		if (values[i] == NULL && value != NULL && *value != '\0')
			values[i] = value;
	}
	unnamed =
	    g_strconcat(values[NAME] != NULL ? values[NAME] : flags[NAME].fallback, ".etcd", NULL);
	*ret_command = (GbeEtcdCommand){
	    .data_dir = absolute(values[DATA_DIR] != NULL ? values[DATA_DIR] : unnamed, directory),
	    .wal_dir = absolute(values[WAL_DIR], directory),
	    .config_file = absolute(values[CONFIG_FILE], directory),
	    .has_quota = values[QUOTA] != NULL,
	    .has_data_dir = values[DATA_DIR] != NULL,
	    .listens = collect_urls(values),
	};
}

bool
gbe_etcd_command_knows(const char *variable)
{
	for (int i = 0; i < N_FLAGS; i++)
		if (g_str_equal(flags[i].variable, variable))
			return true;
	return false;
}

void
gbe_etcd_command_clear(GbeEtcdCommand *command)
{
	g_clear_pointer(&command->data_dir, g_free);
	g_clear_pointer(&command->wal_dir, g_free);
	g_clear_pointer(&command->config_file, g_free);
	g_clear_pointer(&command->listens, g_strfreev);
}

bool
gbe_etcd_command_same(const GbeEtcdCommand *a, const GbeEtcdCommand *b)
{
	return a->config_file == NULL && b->config_file == NULL &&
	       g_strcmp0(a->data_dir, b->data_dir) == 0 && g_strcmp0(a->wal_dir, b->wal_dir) == 0 &&
	       g_strv_equal((const char *const *)a->listens, (const char *const *)b->listens);
}

/* @deep: how many names @path may be below @tree. */
static bool
lies_in(const char *path, const char *tree, guint deep)
{
	gsize length = strlen(tree);

	if (strncmp(path, tree, length) != 0)
		return false;
	for (path += length; *path != '\0'; path += strcspn(path, "/"))
		if (*path++ != '/' || deep-- == 0)
			return false;
	return true;
}

bool
gbe_etcd_command_check(const GbeEtcdCommand *command, const GbeConfig *config, GError **error)
{
	g_autofree char *tree = absolute(config->etcd.data_dir, "/");
	g_autofree char *wal = absolute(config->etcd.wal_dir, "/");
	g_autofree char *member = absolute(config->etcd.member_dir, tree);
	bool any = g_str_equal(config->etcd.member_dir, "auto");

	if (command->config_file != NULL)
		return true;
	if (any ? !lies_in(command->data_dir, tree, 1) : !g_str_equal(command->data_dir, member))
		return gbe_throw(error, GBE_ERROR_REFUSED,
				 "etcd would write to %s, but what is protected is %s: set "
				 "data-dir= and member-dir= of [etcd] to it",
				 command->data_dir, any ? tree : member);
	if (g_strcmp0(command->wal_dir, wal) == 0 ||
	    (wal == NULL && lies_in(command->wal_dir, tree, G_MAXUINT)))
		return true;
	return gbe_throw(error, GBE_ERROR_REFUSED,
			 "etcd would write its log to %s, but what is protected is %s: set "
			 "wal-dir= of [etcd] to it",
			 command->wal_dir != NULL ? command->wal_dir : command->data_dir,
			 wal != NULL ? wal : tree);
}

/* Flags as etcdctl takes them: --flag VALUE, --flag=VALUE. Behind "--" there are keys and values. */
static bool
is_given(char **arguments, const char *flag)
{
	gsize length = strlen(flag);

	for (guint i = 0; arguments != NULL && arguments[i] != NULL; i++) {
		if (g_str_equal(arguments[i], "--"))
			return false;
		if (strncmp(arguments[i], flag, length) == 0 &&
		    (arguments[i][length] == '\0' || arguments[i][length] == '='))
			return true;
	}
	return false;
}

static const char *
or_null(const char *value)
{
	return value != NULL && *value != '\0' ? value : NULL;
}

void
gbe_etcdctl_environment(const GbeConfig *config, char **arguments,
			GbeEtcdctlVariable ret_variables[GBE_N_ETCDCTL_VARIABLES])
{
	const GbeEtcdctlVariable all[GBE_N_ETCDCTL_VARIABLES] = {
	    {"ETCDCTL_API", NULL, NULL},
	    {"ETCDCTL_ENDPOINTS", "--endpoints", or_null(config->etcd.endpoint)},
	    {"ETCDCTL_CACERT", "--cacert", or_null(config->etcd.cacert)},
	    {"ETCDCTL_CERT", "--cert", or_null(config->etcd.cert)},
	    {"ETCDCTL_KEY", "--key", or_null(config->etcd.key)},
	};

	for (guint i = 0; i < GBE_N_ETCDCTL_VARIABLES; i++) {
		ret_variables[i] = all[i];
		if (all[i].flag != NULL && is_given(arguments, all[i].flag))
			ret_variables[i].value = NULL;
	}
}

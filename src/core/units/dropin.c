/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "core/units/dropin.h"

#include "core/config/certs.h"

#include <string.h>

static void
add_word(GString *text, const char *setting, const char *word)
{
	g_autofree char *quoted = gbe_unit_quote(word);

	g_string_append_printf(text, "%s=%s\n", setting, quoted);
}

/* "/srv" of "/srv/backups/etcd"; a directory directly below "/" is reached through "/" alone. */
static char *
granted(const char *directory)
{
	const char *name = directory + strspn(directory, "/");
	const char *end = strchr(name, '/');

	if (end == NULL || end[strspn(end, "/")] == '\0')
		return g_strdup("/");
	return g_strdup_printf("/%.*s", (int)(end - name), name);
}

/* The units' sandbox would hide these directories, or put private ones in their place. */
static void
add_visible(GString *text, const char *directory)
{
	static const struct {
		const char *below, *setting;
	} hidden[] = {
	    {"/home/", "ProtectHome=no"},     {"/root/", "ProtectHome=no"},
	    {"/var/home/", "ProtectHome=no"}, {"/var/roothome/", "ProtectHome=no"},
	    {"/run/user/", "ProtectHome=no"}, {"/tmp/", "PrivateTmp=no"},
	    {"/var/tmp/", "PrivateTmp=no"},
	};

	for (gsize i = 0; i < G_N_ELEMENTS(hidden); i++)
		if (g_str_has_prefix(directory, hidden[i].below))
			g_string_append_printf(text, "%s\n", hidden[i].setting);
}

/* With "-" the unit also starts while the path does not exist. */
static void
add_path(GString *text, const char *path)
{
	g_autofree char *entry = g_strconcat("-", path, NULL);

	add_word(text, "ReadWritePaths", entry);
}

static void
add_writable(GString *text, const char *directory)
{
	g_autofree char *path = NULL;

	if (directory == NULL || *directory == '\0')
		return;
	path = granted(directory);
	add_path(text, path);
	add_visible(text, directory);
}

/* Where no store is configured, it may be at the top of the data's file system. Any directory on the way may be that
 * top, so each gets an entry. */
static void
add_store(GString *text, const GbeConfig *config)
{
	g_autofree char *path = g_strdup(config->etcd.data_dir);

	add_visible(text, config->etcd.data_dir);
	if (config->etcd.wal_dir != NULL)
		add_visible(text, config->etcd.wal_dir);
	if (config->backup.directory != NULL && *config->backup.directory != '\0') {
		add_path(text, config->backup.directory);
		add_visible(text, config->backup.directory);
		return;
	}
	for (char *slash = path + strlen(path); slash != NULL; slash = strrchr(path, '/')) {
		g_autofree char *store = NULL;

		*slash = '\0';
		store = g_strconcat(path, "/.greenboot-etcd", NULL);
		add_path(text, store);
	}
}

static void
add_certs(GString *text, const char *directories)
{
	g_auto(GStrv) paths = NULL;

	if (!gbe_certs_directories(directories, &paths, NULL))
		return;
	for (guint i = 0; paths[i] != NULL; i++)
		add_visible(text, paths[i]);
}

static void
add_sandbox(GString *text, const GbeConfig *config)
{
	g_string_append(text, "[Service]\n");
	add_writable(text, config->etcd.data_dir);
	add_writable(text, config->etcd.wal_dir);
	add_writable(text, config->backup.directory);
	if (config->etcd.binary != NULL)
		add_visible(text, config->etcd.binary);
}

#define HEAD "# Written by greenboot-etcd-generator from the configuration.\n"

char *
gbe_mount_unit(const char *path)
{
	GString *name = g_string_new(NULL);
	gsize len = strlen(path);

	while (len > 0 && path[len - 1] == '/')
		len--;
	for (gsize i = strspn(path, "/"); i < len; i++) {
		char c = path[i];

		if (c == '/') {
			if (path[i - 1] != '/')
				g_string_append_c(name, '-');
		} else if (g_ascii_isalnum(c) || c == ':' || c == '_' ||
			   (c == '.' && name->len > 0)) {
			g_string_append_c(name, c);
		} else {
			g_string_append_printf(name, "\\x%02x", (guchar)c);
		}
	}
	if (name->len == 0)
		g_string_append_c(name, '-');
	g_string_append(name, ".mount");
	return g_string_free(name, false);
}

char *
gbe_unit_quote(const char *text)
{
	GString *word = g_string_new("\"");

	for (; *text != '\0'; text++) {
		if (*text == '"' || *text == '\\')
			g_string_append_c(word, '\\');
		else if (*text == '%')
			g_string_append_c(word, '%');
		g_string_append_c(word, *text);
	}
	g_string_append_c(word, '"');
	return g_string_free(word, false);
}

const char *
gbe_dropin_scope_of(const char *service)
{
	static const struct {
		const char *service, *scope;
	} known[] = {{"microshift.service", "microshift-etcd.scope"}};

	for (gsize i = 0; i < G_N_ELEMENTS(known); i++)
		if (g_str_equal(known[i].service, service))
			return known[i].scope;
	return NULL;
}

char *
gbe_dropin_service(const GbeConfig *config)
{
	return g_strconcat(
	    HEAD "[Unit]\nRequires=",
	    gbe_dropin_scope_of(config->etcd.service) != NULL ? "greenboot-etcd-start.target"
							      : "greenboot-etcd-prerun.service",
	    "\n"
	    "After=greenboot-etcd-prerun.service\n"
	    "Wants=greenboot-etcd-finalize.service greenboot-etcd-preflight.path "
	    "greenboot-etcd-renew.timer greenboot-etcd-scrub.timer greenboot-etcd-used.timer",
	    config->health.monitor > 0 ? " greenboot-etcd-monitor.timer" : "",
	    config->defrag.enabled ? " greenboot-etcd-defrag.timer" : "",
	    config->backup.schedule != NULL ? " greenboot-etcd-backup.timer" : "",
	    gbe_dropin_wants_push(config) ? " greenboot-etcd-push.timer" : "",
	    gbe_dropin_wants_send(config) ? " greenboot-etcd-send.service" : "",
	    gbe_dropin_wants_prove(config) ? " greenboot-etcd-prove.timer" : "",
	    gbe_dropin_watches_requests(config) ? " greenboot-etcd-requests.path" : "",
	    gbe_dropin_wants_requests(config) ? " greenboot-etcd-requests.timer" : "",
	    config->cluster.rejoin ? " greenboot-etcd-rejoin.timer" : "",
	    config->cluster.update_lock ? " greenboot-etcd-lock.path greenboot-etcd-lock.timer"
					: "",
	    /* Where this device is a member of a cluster (app/cluster/setup.h). */
	    "\n[Service]\nEnvironmentFile=-/var/lib/greenboot-etcd/cluster.env\n", NULL);
}

/* The empty setting cancels every time that the unit file and earlier drop-ins have named. */
char *
gbe_dropin_monitor_timer(const GbeConfig *config)
{
	return g_strdup_printf(HEAD "[Timer]\n"
				    "OnActiveSec=\nOnActiveSec=%" G_GUINT64_FORMAT "s\n"
				    "OnUnitActiveSec=%" G_GUINT64_FORMAT "s\n",
			       config->health.monitor, config->health.monitor);
}

/* The timer starts after prerun has taken the data over, so the program it starts finds a run that lasts that long. */
char *
gbe_dropin_used_timer(const GbeConfig *config)
{
	return g_strdup_printf(HEAD "[Timer]\n"
				    "OnActiveSec=\nOnActiveSec=%" G_GUINT64_FORMAT "s\n",
			       config->restore.trial_limit);
}

char *
gbe_dropin_scope(void)
{
	return g_strdup(HEAD
			"[Unit]\n"
			"After=greenboot-etcd-prerun.service greenboot-etcd-finalize.service\n");
}

char *
gbe_dropin_start(const GbeConfig *config)
{
	return g_strdup_printf(HEAD "[Unit]\nPartOf=%s\n", config->etcd.service);
}

/* Binds the unit to the service: the unit stops with it. */
static void
append_bound(GString *text, const char *service)
{
	g_string_append_printf(text, "[Unit]\nBindsTo=%s\nAfter=%s\n", service, service);
}

/* With at-start the first time comes as soon as the service is up, else after an interval. */
char *
gbe_dropin_defrag_timer(const GbeConfig *config)
{
	GString *text = g_string_new(HEAD);

	append_bound(text, config->etcd.service);
	g_string_append_printf(text,
			       "[Timer]\n"
			       "OnActiveSec=\nOnActiveSec=%" G_GUINT64_FORMAT "s\n"
			       "OnUnitActiveSec=%" G_GUINT64_FORMAT "s\n",
			       config->defrag.at_start ? 0 : config->defrag.interval,
			       config->defrag.interval);
	return g_string_free(text, false);
}

/* Not after etcd: etcd's unit may itself wait for the target that waits for the health check. */
char *
gbe_dropin_health_check(void)
{
	return g_strdup(HEAD "[Unit]\n"
			     "After=greenboot-etcd-prerun.service\n"
			     "Wants=greenboot-etcd-green.service\n");
}

/* The store is wanted and not required: where its mount fails, etcd's data is not at fault. Any directory on the way
 * may be the mount; systemd ignores a unit that does not exist. */
static void
append_store(GString *text, const char *store)
{
	g_autofree char *path = g_strdup(store);

	while (strspn(path, "/") < strlen(path)) {
		g_autofree char *unit = gbe_mount_unit(path);
		char *slash = strrchr(path, '/');

		/* Not quoted: systemd takes a unit's name with its backslashes. */
		g_string_append_printf(text, "Wants=%s\nAfter=%s\n", unit, unit);
		if (slash == NULL)
			return;
		*slash = '\0';
	}
}

/* The units themselves may only speak to this machine. A host name may be any address, and finding out which may need
 * any server. */
static void
append_addresses(GString *text, const GbeConfig *config)
{
	g_autoptr(GUri) uri = config->etcd.endpoint != NULL
				  ? g_uri_parse(config->etcd.endpoint, G_URI_FLAGS_NONE, NULL)
				  : NULL;
	const char *host = uri != NULL ? g_uri_get_host(uri) : NULL;
	g_autofree char *address = host != NULL ? g_strndup(host, strcspn(host, "%")) : NULL;
	bool literal = address != NULL && g_hostname_is_ip_address(address);

	if (address == NULL || *address == '\0' || g_str_equal(address, "localhost") ||
	    (literal && (g_str_has_prefix(address, "127.") || g_str_equal(address, "::1"))))
		return;
	g_string_append_printf(text, "IPAddressAllow=%s\n", literal ? address : "any");
}

/* etcd is asked where, and with which certificates, the configuration says. */
static void
append_asking(GString *text, const GbeConfig *config)
{
	static const char unix_scheme[] = "unix://";
	const char *endpoint = config->etcd.endpoint;
	const char *files[] = {config->etcd.cacert, config->etcd.cert, config->etcd.key};

	for (gsize i = 0; i < G_N_ELEMENTS(files); i++)
		if (files[i] != NULL)
			add_visible(text, files[i]);
	if (endpoint != NULL && g_str_has_prefix(endpoint, unix_scheme))
		add_visible(text, endpoint + strlen(unix_scheme));
	append_addresses(text, config);
}

static void
append_mounts(GString *text, const GbeConfig *config)
{
	g_string_append(text, "[Unit]\n");
	add_word(text, "RequiresMountsFor", config->etcd.data_dir);
	if (config->backup.directory != NULL)
		append_store(text, config->backup.directory);
}

/* The command may work in any file, and ask any server. */
char *
gbe_dropin_renew(const GbeConfig *config)
{
	GString *text = g_string_new(HEAD "[Service]\n");
	gsize empty = text->len;

	if (config->certs.renew_command != NULL)
		g_string_append(text, "CapabilityBoundingSet=~\nProtectSystem=no\nProtectHome=no\n"
				      "PrivateTmp=no\nDevicePolicy=auto\nRestrictAddressFamilies=\n"
				      "IPAddressDeny=\nMemoryDenyWriteExecute=no\n"
				      "RestrictNamespaces=no\nSystemCallFilter=\n"
				      "MemoryMax=infinity\nTasksMax=infinity\nUMask=0022\n");
	else
		append_asking(text, config);
	return g_string_free(text, text->len == empty);
}

/* The other members' addresses are known to etcd only. */
char *
gbe_dropin_lock(const GbeConfig *config)
{
	GString *text = g_string_new(HEAD "[Service]\nIPAddressAllow=any\n");

	add_visible(text, config->etcd.data_dir);
	return g_string_free(text, false);
}

char *
gbe_dropin_rejoin(const GbeConfig *config)
{
	g_autofree char *paths = gbe_dropin_paths(config, NULL);

	return g_strconcat(paths, "IPAddressAllow=any\n", NULL);
}

char *
gbe_dropin_renew_timer(void)
{
	return g_strdup(HEAD "[Unit]\nConditionPathExists=\n");
}

char *
gbe_dropin_paths(const GbeConfig *config, const char *before)
{
	GString *text = g_string_new(HEAD);

	append_mounts(text, config);
	if (before != NULL)
		g_string_append_printf(text, "Before=%s\n", before);
	add_sandbox(text, config);
	return g_string_free(text, false);
}

char *
gbe_dropin_green(const GbeConfig *config)
{
	g_autofree char *paths = gbe_dropin_paths(config, NULL);
	GString *text = g_string_new(paths);

	append_asking(text, config);
	return g_string_free(text, false);
}

char *
gbe_dropin_scrub(const GbeConfig *config)
{
	GString *text = g_string_new(HEAD);

	append_mounts(text, config);
	g_string_append(text, "[Service]\n");
	add_store(text, config);
	return g_string_free(text, false);
}

char *
gbe_dropin_defrag(const GbeConfig *config)
{
	GString *text = g_string_new(HEAD);

	append_bound(text, config->etcd.service);
	g_string_append(text, "[Service]\n");
	add_visible(text, config->etcd.data_dir);
	if (config->etcd.wal_dir != NULL)
		add_visible(text, config->etcd.wal_dir);
	append_asking(text, config);
	return g_string_free(text, false);
}

char *
gbe_dropin_backup(const GbeConfig *config)
{
	GString *text = g_string_new(HEAD);

	append_bound(text, config->etcd.service);
	add_sandbox(text, config);
	append_asking(text, config);
	return g_string_free(text, false);
}

/* The directory is writable, because the metrics are renamed within it. */
char *
gbe_dropin_monitor(const GbeConfig *config)
{
	GString *text = g_string_new(HEAD "[Service]\n");

	add_store(text, config);
	if (config->metrics.textfile != NULL && *config->metrics.textfile != '\0') {
		g_autofree char *directory = g_path_get_dirname(config->metrics.textfile);

		add_path(text, directory);
		add_visible(text, config->metrics.textfile);
	}
	add_certs(text, config->certs.directories);
	append_asking(text, config);
	return g_string_free(text, false);
}

/* The schedule is written as it is: the configuration accepts no specifier and no line break in it. */
char *
gbe_dropin_backup_timer(const GbeConfig *config)
{
	GString *text = g_string_new(HEAD);

	append_bound(text, config->etcd.service);
	g_string_append_printf(text,
			       "[Timer]\n"
			       "OnCalendar=\nOnCalendar=%s\n",
			       config->backup.schedule);
	return g_string_free(text, false);
}

bool
gbe_dropin_wants_push(const GbeConfig *config)
{
	return config->store.schedule != NULL &&
	       (config->store.directory != NULL || config->store.url != NULL);
}

/* A push by hand to a bucket may leave one in the queue. */
bool
gbe_dropin_wants_send(const GbeConfig *config)
{
	return config->store.url != NULL || gbe_dropin_wants_push(config);
}

bool
gbe_dropin_wants_prove(const GbeConfig *config)
{
	return config->store.prove != NULL && gbe_dropin_wants_send(config);
}

/* The files that the configuration names for a store: readable by a person, so readable by the units. */
static void
add_store_files(GString *text, const GbeConfig *config)
{
	const char *files[] = {config->store.access_key_file, config->store.ca, config->store.key,
			       config->store.encrypt_to, config->store.identity};

	for (gsize i = 0; i < G_N_ELEMENTS(files); i++)
		if (files[i] != NULL)
			add_visible(text, files[i]);
}

char *
gbe_dropin_offsite(const GbeConfig *config, bool push)
{
	GString *text = g_string_new(HEAD);

	if (push)
		append_bound(text, config->etcd.service);
	if (config->store.directory != NULL) {
		g_string_append(text, "[Unit]\n");
		append_store(text, config->store.directory);
	}
	g_string_append(text, "[Service]\n");
	if (config->store.directory != NULL)
		add_writable(text, config->store.directory);
	add_store_files(text, config);
	if (config->store.url != NULL)
		g_string_append(text, "IPAddressAllow=any\n");
	else if (push)
		append_asking(text, config);
	return g_string_free(text, false);
}

char *
gbe_dropin_prove(const GbeConfig *config)
{
	g_autofree char *text = gbe_dropin_offsite(config, false);

	return g_strconcat(text,
			   gbe_dropin_wants_push(config)
			       ? "ExecStart=/usr/bin/greenboot-etcd --quiet store prune\n"
			       : "",
			   NULL);
}

char *
gbe_dropin_push_timer(const GbeConfig *config)
{
	GString *text = g_string_new(HEAD);

	append_bound(text, config->etcd.service);
	g_string_append_printf(text, "[Timer]\nOnCalendar=\nOnCalendar=%s\n",
			       config->store.schedule);
	return g_string_free(text, false);
}

char *
gbe_dropin_prove_timer(const GbeConfig *config)
{
	return g_strdup_printf(HEAD "[Timer]\nOnCalendar=\nOnCalendar=%s\n", config->store.prove);
}

bool
gbe_dropin_wants_requests(const GbeConfig *config)
{
	return config->store.requests != GBE_REQUESTS_NO &&
	       (config->store.directory != NULL ||
		(config->store.url != NULL && config->store.key != NULL));
}

bool
gbe_dropin_watches_requests(const GbeConfig *config)
{
	return config->store.directory != NULL && config->store.requests == GBE_REQUESTS_WATCH;
}

/* A store that is away now has no requests, which is no failure. A separate process looks for it: with a Condition,
 * systemd itself would hang on a share that hangs. */
char *
gbe_dropin_requests(const GbeConfig *config)
{
	const char *store = config->store.directory;
	g_autofree char *directory =
	    g_build_filename(store != NULL ? store : "", GBE_STORE_REQUESTS, NULL);
	g_autofree char *quoted = gbe_unit_quote(directory);
	g_auto(GStrv) parts = g_strsplit(quoted, "$", -1);
	g_autofree char *word = g_strjoinv("$$", parts);
	GString *text = g_string_new(HEAD "[Unit]\n");

	if (store != NULL)
		append_store(text, store);
	add_sandbox(text, config);
	add_writable(text, store);
	if (store != NULL)
		g_string_append_printf(text, "ExecCondition=/usr/bin/test -d %s\n", word);
	if (config->store.url != NULL)
		g_string_append(text, "IPAddressAllow=any\n");
	else
		append_asking(text, config);
	return g_string_free(text, false);
}

/* Not quoted: the rest of the line is the path. */
char *
gbe_dropin_requests_path(const GbeConfig *config)
{
	g_autofree char *directory =
	    g_build_filename(config->store.directory, GBE_STORE_REQUESTS, NULL);
	g_auto(GStrv) parts = g_strsplit(directory, "%", -1);
	g_autofree char *path = g_strjoinv("%%", parts);

	return g_strdup_printf(HEAD "[Path]\nPathChanged=\nPathChanged=%s\n", path);
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "core/units/dropin.h"

#include "base/auto.h"
#include "core/config/lists.h"
#include "core/unit-name.h"

#include <string.h>

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

typedef struct {
	GString *text;
	const char *section; /* begins with the next line; NULL: none does */
	const GbeConfig *config;
	guint wanted; /* flags */
	GbeFollow *follow;
	gpointer data;
} Dropin;

/* ---- what is configured -------------------------------------------------------------------------- */

enum {
	ALWAYS = 1,
	SCOPE = 1 << 1, /* etcd starts in a scope of its own */
	MONITOR = 1 << 2,
	DEFRAG = 1 << 3,
	BACKUP = 1 << 4,
	PUSH = 1 << 5, /* a timer pushes snapshots */
	/* Also where only a person pushes: a push to a bucket may leave one in the queue. */
	SEND = 1 << 6,
	PROVE = 1 << 7,
	REQUESTS = 1 << 8,
	/* PID 1 looks a watched directory up, and would wait there as a whole on a share whose server is away. So only
	 * where the configuration says that the store is no such share. */
	WATCH = 1 << 9,
	REJOIN = 1 << 10,
	LOCK = 1 << 11,
};

static guint
wanted_units(const GbeConfig *config)
{
	bool directory = config->store.directory != NULL, bucket = config->store.url != NULL;
	bool push = config->store.schedule != NULL && (directory || bucket);
	bool send = bucket || push;
	bool requests = directory || (bucket && config->store.key != NULL);

	return ALWAYS | (gbe_dropin_scope_of(config->etcd.service) != NULL ? SCOPE : 0) |
	       (config->health.monitor > 0 ? MONITOR : 0) | (config->defrag.enabled ? DEFRAG : 0) |
	       (config->backup.schedule != NULL ? BACKUP : 0) | (push ? PUSH : 0) |
	       (send ? SEND : 0) | (send && config->store.prove != NULL ? PROVE : 0) |
	       (requests && config->store.requests != GBE_REQUESTS_NO ? REQUESTS : 0) |
	       (directory && config->store.requests == GBE_REQUESTS_WATCH ? WATCH : 0) |
	       (config->cluster.rejoin ? REJOIN : 0) | (config->cluster.update_lock ? LOCK : 0);
}

/* ---- lines --------------------------------------------------------------------------------------- */

/* The lines that follow are of that section, which is not written before there is one. */
static void
begin_section(Dropin *dropin, const char *name)
{
	dropin->section = name;
}

static void
add_lines(Dropin *dropin, const char *lines)
{
	if (dropin->section != NULL)
		g_string_append_printf(dropin->text, "[%s]\n", dropin->section);
	dropin->section = NULL;
	g_string_append(dropin->text, lines);
}

/* Paths may share a directory or a setting: each line stands once. No setting belongs to two sections. */
static void G_GNUC_PRINTF(2, 3) add_line(Dropin *dropin, const char *format, ...)
{
	g_autofree char *setting = NULL, *whole = NULL;
	va_list args;

	va_start(args, format);
	setting = g_strdup_vprintf(format, args);
	va_end(args);
	whole = g_strconcat("\n", setting, "\n", NULL);
	if (strstr(dropin->text->str, whole) == NULL)
		add_lines(dropin, whole + 1);
}

/* In place of what the unit file and earlier drop-ins have: the empty setting cancels it. */
static void G_GNUC_PRINTF(3, 4)
    replace_setting(Dropin *dropin, const char *setting, const char *format, ...)
{
	g_autofree char *value = NULL, *lines = NULL;
	va_list args;

	va_start(args, format);
	value = g_strdup_vprintf(format, args);
	va_end(args);
	lines = g_strdup_printf("%s=\n%s=%s\n", setting, setting, value);
	add_lines(dropin, lines);
}

/* The schedule is written as it is: the configuration accepts no specifier and no line break in it. */
static void
set_calendar(Dropin *dropin, const char *schedule, guint64 jitter)
{
	begin_section(dropin, "Timer");
	replace_setting(dropin, "OnCalendar", "%s", schedule);
	if (gbe_calendar_period(schedule) / 10 < jitter)
		add_line(dropin, "RandomizedDelaySec=%us",
			 (guint)(gbe_calendar_period(schedule) / 10));
}

/* A timer that first elapses after @first seconds, in place of every time of the unit, and then every @interval. */
static void
set_interval(Dropin *dropin, guint64 first, guint64 interval)
{
	begin_section(dropin, "Timer");
	replace_setting(dropin, "OnActiveSec", "%" G_GUINT64_FORMAT "s", first);
	add_line(dropin, "OnUnitActiveSec=%" G_GUINT64_FORMAT "s", interval);
}

/* Binds the unit to the service: the unit stops with it. */
static void
bind_to_service(Dropin *dropin)
{
	begin_section(dropin, "Unit");
	add_line(dropin, "BindsTo=%s", dropin->config->etcd.service);
	add_line(dropin, "After=%s", dropin->config->etcd.service);
}

/* ---- paths --------------------------------------------------------------------------------------- */

typedef void Add(Dropin *dropin, const char *path);

/* For @path, and for the target of a symlink, which a sandbox and mounts need. Not for [store]: a share on the way may
 * hang, and systemd waits for the generator. */
static void
add_followed(Dropin *dropin, const char *path, Add *add)
{
	g_autofree char *real = NULL;

	if (path == NULL || *path == '\0')
		return;
	add(dropin, path);
	real = dropin->follow != NULL ? dropin->follow(dropin->data, path) : NULL;
	if (real != NULL)
		add(dropin, real);
}

/* The units' sandbox would hide these directories, or put private ones in their place. */
static void
make_visible(Dropin *dropin, const char *path)
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
		if (g_str_has_prefix(path, hidden[i].below))
			add_line(dropin, "%s", hidden[i].setting);
}

/* With "-" the unit also starts while the path does not exist. */
static void
make_writable(Dropin *dropin, const char *path)
{
	g_autofree char *entry = g_strconcat("-", path, NULL);
	g_autofree char *word = gbe_unit_quote(entry);

	add_line(dropin, "ReadWritePaths=%s", word);
}

/* "/srv" of "/srv/backups/etcd"; a directory directly below "/" is reached through "/" alone. */
static void
make_top_writable(Dropin *dropin, const char *path)
{
	const char *name = path + strspn(path, "/");
	const char *end = strchr(name, '/');
	bool deep = end != NULL && end[strspn(end, "/")] != '\0';
	g_autofree char *top = g_strdup_printf("/%.*s", deep ? (int)(end - name) : 0, name);

	make_writable(dropin, top);
	make_visible(dropin, path);
}

static void
writable_directory_of(Dropin *dropin, const char *file)
{
	g_autofree char *directory = g_path_get_dirname(file);

	make_writable(dropin, directory);
	make_visible(dropin, file);
}

/* Any directory on the way to the data may be the top of its file system, so each gets an entry. */
static void
stores_on_the_way(Dropin *dropin, const char *data_dir)
{
	g_autofree char *path = g_strdup(data_dir);

	for (char *slash = path + strlen(path); slash != NULL; slash = strrchr(path, '/')) {
		g_autofree char *store = NULL;

		*slash = '\0';
		store = g_strconcat(path, "/.greenboot-etcd", NULL);
		make_writable(dropin, store);
	}
}

static void
mounts_required(Dropin *dropin, const char *path)
{
	g_autofree char *word = gbe_unit_quote(path);

	add_line(dropin, "RequiresMountsFor=%s", word);
}

/* A store is wanted and not required: where its mount fails, etcd's data is not at fault. Any directory on the way may
 * be the mount; systemd ignores a unit that does not exist. */
static void
mounts_wanted(Dropin *dropin, const char *store)
{
	g_autofree char *path = g_strdup(store);

	while (strspn(path, "/") < strlen(path)) {
		g_autofree char *unit = gbe_mount_unit(path);
		char *slash = strrchr(path, '/');

		/* Not quoted: systemd takes a unit's name with its backslashes. */
		add_line(dropin, "Wants=%s", unit);
		add_line(dropin, "After=%s", unit);
		if (slash == NULL)
			return;
		*slash = '\0';
	}
}

/* ---- parts that several units share -------------------------------------------------------------- */

static void
require_mounts(Dropin *dropin)
{
	begin_section(dropin, "Unit");
	add_followed(dropin, dropin->config->etcd.data_dir, mounts_required);
	add_followed(dropin, dropin->config->backup.directory, mounts_wanted);
}

static void
open_sandbox(Dropin *dropin)
{
	const GbeConfig *config = dropin->config;

	begin_section(dropin, "Service");
	add_followed(dropin, config->etcd.data_dir, make_top_writable);
	add_followed(dropin, config->etcd.wal_dir, make_top_writable);
	add_followed(dropin, config->backup.directory, make_top_writable);
	add_followed(dropin, config->etcd.binary, make_visible);
}

static void
data_visible(Dropin *dropin)
{
	add_followed(dropin, dropin->config->etcd.data_dir, make_visible);
	add_followed(dropin, dropin->config->etcd.wal_dir, make_visible);
}

/* Where no store is configured, it may be at the top of the data's file system. */
static void
backups_writable(Dropin *dropin)
{
	const char *directory = dropin->config->backup.directory;

	data_visible(dropin);
	add_followed(dropin, directory, make_writable);
	add_followed(dropin, directory, make_visible);
	if (directory == NULL || *directory == '\0')
		add_followed(dropin, dropin->config->etcd.data_dir, stores_on_the_way);
}

/* etcd is asked where, and with which certificates, the configuration says. */
static void
allow_asking(Dropin *dropin)
{
	static const char unix_scheme[] = "unix://";
	const GbeConfig *config = dropin->config;
	const char *endpoint = config->etcd.endpoint;
	g_autoptr(GUri) uri =
	    endpoint != NULL ? g_uri_parse(endpoint, G_URI_FLAGS_NONE, NULL) : NULL;
	const char *host = uri != NULL ? g_uri_get_host(uri) : NULL;
	g_autofree char *name = host != NULL ? g_strndup(host, strcspn(host, "%")) : NULL;
	bool literal = name != NULL && g_hostname_is_ip_address(name);

	add_followed(dropin, config->etcd.cacert, make_visible);
	add_followed(dropin, config->etcd.cert, make_visible);
	add_followed(dropin, config->etcd.key, make_visible);
	add_followed(dropin, config->etcd.password_file, make_visible);
	if (endpoint != NULL && g_str_has_prefix(endpoint, unix_scheme))
		add_followed(dropin, endpoint + strlen(unix_scheme), make_visible);
	/* The units themselves may only speak to this machine. A host name may be any address, and finding out which may
	 * need any server. */
	if (name != NULL && *name != '\0' && !g_str_equal(name, "localhost") &&
	    !(literal && (g_str_has_prefix(name, "127.") || g_str_equal(name, "::1"))))
		add_line(dropin, "IPAddressAllow=%s", literal ? name : "any");
}

/* ---- the units ----------------------------------------------------------------------------------- */

static void
fill_paths(Dropin *dropin)
{
	require_mounts(dropin);
	open_sandbox(dropin);
	add_followed(dropin, dropin->config->etcd.password_file, make_visible);
}

/* systemd stops a unit after the units that it is started before. */
static void
fill_finalize(Dropin *dropin)
{
	require_mounts(dropin);
	add_line(dropin, "Before=%s", dropin->config->etcd.service);
	open_sandbox(dropin);
}

static void
fill_green(Dropin *dropin)
{
	fill_paths(dropin);
	allow_asking(dropin);
}

/* The other members' addresses are known to etcd only. */
static void
fill_rejoin(Dropin *dropin)
{
	fill_paths(dropin);
	add_line(dropin, "IPAddressAllow=any");
}

static void
fill_lock(Dropin *dropin)
{
	begin_section(dropin, "Service");
	add_line(dropin, "IPAddressAllow=any");
	add_followed(dropin, dropin->config->etcd.data_dir, make_visible);
}

static void
fill_scrub(Dropin *dropin)
{
	require_mounts(dropin);
	begin_section(dropin, "Service");
	backups_writable(dropin);
}

/* The timer starts after prerun has taken the data over, so the program it starts finds a run that lasts that long. */
static void
fill_used_timer(Dropin *dropin)
{
	guint64 limit = dropin->config->restore.trial_limit;

	set_interval(dropin, limit, limit);
}

/* Not after etcd: etcd's unit may itself wait for the target that waits for the health check. */
static void
fill_health_check(Dropin *dropin)
{
	begin_section(dropin, "Unit");
	add_line(dropin, "After=greenboot-etcd-prerun.service");
	add_line(dropin, "Wants=greenboot-etcd-green.service");
}

/* The directory of the metrics is writable, because they are renamed within it; the store is, because a clone is tried
 * there. No mount: the monitor reports a missing mount, and must not bring back one that a person took away. */
static void
fill_monitor(Dropin *dropin)
{
	g_auto(GStrv) certs = NULL;

	begin_section(dropin, "Service");
	backups_writable(dropin);
	add_followed(dropin, dropin->config->metrics.textfile, writable_directory_of);
	if (gbe_certs_directories(dropin->config->certs.directories, &certs, NULL))
		for (char **directory = certs; *directory != NULL; directory++)
			add_followed(dropin, *directory, make_visible);
	allow_asking(dropin);
}

static void
fill_monitor_timer(Dropin *dropin)
{
	set_interval(dropin, dropin->config->health.monitor, dropin->config->health.monitor);
}

static void
fill_defrag(Dropin *dropin)
{
	bind_to_service(dropin);
	begin_section(dropin, "Service");
	data_visible(dropin);
	allow_asking(dropin);
}

/* With at-start the first time comes as soon as the service is up, else after an interval. */
static void
fill_defrag_timer(Dropin *dropin)
{
	guint64 interval = dropin->config->defrag.interval;

	bind_to_service(dropin);
	set_interval(dropin, dropin->config->defrag.at_start ? 0 : interval, interval);
}

static void
fill_backup(Dropin *dropin)
{
	bind_to_service(dropin);
	open_sandbox(dropin);
	allow_asking(dropin);
}

static void
fill_backup_timer(Dropin *dropin)
{
	bind_to_service(dropin);
	set_calendar(dropin, dropin->config->backup.schedule, 0);
}

/* A renew-command may work in any file, and ask any server. */
static void
fill_renew(Dropin *dropin)
{
	begin_section(dropin, "Service");
	if (dropin->config->certs.renew_command == NULL)
		allow_asking(dropin);
	else
		add_lines(dropin, "CapabilityBoundingSet=~\nProtectSystem=no\nProtectHome=no\n"
				  "PrivateTmp=no\nDevicePolicy=auto\nRestrictAddressFamilies=\n"
				  "IPAddressDeny=\nMemoryDenyWriteExecute=no\n"
				  "RestrictNamespaces=no\nSystemCallFilter=\n"
				  "MemoryMax=infinity\nTasksMax=infinity\nUMask=0022\n");
}

/* With renew-command= the timer also runs where this program makes no certificates. */
static void
fill_renew_timer(Dropin *dropin)
{
	begin_section(dropin, "Unit");
	if (dropin->config->certs.renew_command != NULL)
		add_line(dropin, "ConditionPathExists=");
}

static void
snapshots_mount(Dropin *dropin)
{
	if (dropin->config->store.directory != NULL) {
		begin_section(dropin, "Unit");
		mounts_wanted(dropin, dropin->config->store.directory);
	}
}

/* The files that the configuration names for a store are visible to the units. */
static void
snapshots_visible(Dropin *dropin)
{
	const GbeConfig *config = dropin->config;
	const char *files[] = {config->store.access_key_file, config->store.ca, config->store.key,
			       config->store.encrypt_to, config->store.identity};

	begin_section(dropin, "Service");
	if (config->store.directory != NULL)
		make_top_writable(dropin, config->store.directory);
	for (gsize i = 0; i < G_N_ELEMENTS(files); i++)
		if (files[i] != NULL)
			make_visible(dropin, files[i]);
	if (config->store.url != NULL)
		add_line(dropin, "IPAddressAllow=any");
}

static void
fill_send(Dropin *dropin)
{
	snapshots_mount(dropin);
	snapshots_visible(dropin);
}

static void
fill_push(Dropin *dropin)
{
	bind_to_service(dropin);
	fill_send(dropin);
	if (dropin->config->store.url == NULL)
		allow_asking(dropin);
}

static void
fill_push_timer(Dropin *dropin)
{
	bind_to_service(dropin);
	set_calendar(dropin, dropin->config->store.schedule, GBE_PUSH_JITTER);
}

/* Where a timer pushes, the proof also prunes. */
static void
fill_prove(Dropin *dropin)
{
	fill_send(dropin);
	if (dropin->wanted & PUSH)
		add_line(dropin, "ExecStart=/usr/bin/greenboot-etcd --quiet store prune");
}

static void
fill_prove_timer(Dropin *dropin)
{
	set_calendar(dropin, dropin->config->store.prove, GBE_PROVE_JITTER);
}

/* A store that is away now has no requests, which is no failure. A separate process looks for it: with a Condition,
 * systemd itself would hang on a share that hangs. */
static void
fill_requests(Dropin *dropin)
{
	const char *store = dropin->config->store.directory;

	snapshots_mount(dropin);
	open_sandbox(dropin);
	if (store != NULL) {
		g_autofree char *directory = g_build_filename(store, GBE_STORE_REQUESTS, NULL);
		g_autofree char *quoted = gbe_unit_quote(directory);
		g_auto(GStrv) parts = g_strsplit(quoted, "$", -1);
		g_autofree char *word = g_strjoinv("$$", parts);

		make_top_writable(dropin, store);
		add_line(dropin, "ExecCondition=/usr/bin/test -d %s", word);
	}
	if (dropin->config->store.url != NULL)
		add_line(dropin, "IPAddressAllow=any");
	else
		allow_asking(dropin);
}

/* Not quoted: the rest of the line is the path. */
static void
fill_requests_path(Dropin *dropin)
{
	g_autofree char *directory =
	    g_build_filename(dropin->config->store.directory, GBE_STORE_REQUESTS, NULL);
	g_auto(GStrv) parts = g_strsplit(directory, "%", -1);
	g_autofree char *path = g_strjoinv("%%", parts);

	begin_section(dropin, "Path");
	replace_setting(dropin, "PathChanged", "%s", path);
}

/* The scope stops before finalize stops (which is when finalize works), and before prerun starts again. */
static void
fill_scope(Dropin *dropin)
{
	begin_section(dropin, "Unit");
	add_line(dropin, "After=greenboot-etcd-prerun.service greenboot-etcd-finalize.service");
}

/* The target that such a service requires in place of prerun (hooks/start.target). */
static void
fill_start(Dropin *dropin)
{
	begin_section(dropin, "Unit");
	add_line(dropin, "PartOf=%s", dropin->config->etcd.service);
}

/* ---- which of them there are ---------------------------------------------------------------------- */

/* The units, in the order of their drop-ins. fill NULL: no drop-in; by_service: the configured service wants the
 * unit. */
static const struct {
	const char *unit;
	void (*fill)(Dropin *dropin);
	guint when;
	bool by_service;
} units[] = {
    {"greenboot-etcd-prerun.service", fill_paths, ALWAYS, false},
    {"greenboot-etcd-finalize.service", fill_finalize, ALWAYS, true},
    {"greenboot-etcd-preflight.service", fill_paths, ALWAYS, false},
    {"greenboot-etcd-preflight.path", NULL, ALWAYS, true},
    {"greenboot-etcd-renew.service", fill_renew, ALWAYS, false},
    {"greenboot-etcd-renew.timer", fill_renew_timer, ALWAYS, true},
    {"greenboot-etcd-scrub.service", fill_scrub, ALWAYS, false},
    {"greenboot-etcd-scrub.timer", NULL, ALWAYS, true},
    {"greenboot-etcd-used.service", fill_paths, ALWAYS, false},
    {"greenboot-etcd-used.timer", fill_used_timer, ALWAYS, true},
    {"greenboot-etcd-green.service", fill_green, ALWAYS, false},
    {"greenboot-etcd-start.target", fill_start, SCOPE, false},
    {"greenboot-healthcheck.service", fill_health_check, ALWAYS, false},
    {"greenboot-etcd-monitor.service", fill_monitor, MONITOR, false},
    {"greenboot-etcd-monitor.timer", fill_monitor_timer, MONITOR, true},
    {"greenboot-etcd-defrag.service", fill_defrag, DEFRAG, false},
    {"greenboot-etcd-defrag.timer", fill_defrag_timer, DEFRAG, true},
    {"greenboot-etcd-backup.service", fill_backup, BACKUP, false},
    {"greenboot-etcd-backup.timer", fill_backup_timer, BACKUP, true},
    {"greenboot-etcd-push.service", fill_push, PUSH, false},
    {"greenboot-etcd-push.timer", fill_push_timer, PUSH, true},
    {"greenboot-etcd-send.service", fill_send, SEND, true},
    {"greenboot-etcd-send.timer", NULL, SEND, true},
    {"greenboot-etcd-prove.service", fill_prove, PROVE, false},
    {"greenboot-etcd-prove.timer", fill_prove_timer, PROVE, true},
    {"greenboot-etcd-requests.service", fill_requests, REQUESTS, false},
    {"greenboot-etcd-requests.path", fill_requests_path, WATCH, true},
    {"greenboot-etcd-requests.timer", NULL, REQUESTS, true},
    {"greenboot-etcd-rejoin.service", fill_rejoin, REJOIN, false},
    {"greenboot-etcd-rejoin.timer", NULL, REJOIN, true},
    {"greenboot-etcd-lock.service", fill_lock, LOCK, false},
    {"greenboot-etcd-lock.path", NULL, LOCK, true},
    {"greenboot-etcd-lock.timer", NULL, LOCK, true},
};

static void
fill_service(Dropin *dropin)
{
	begin_section(dropin, "Unit");
	add_line(dropin, "Requires=%s",
		 dropin->wanted & SCOPE ? "greenboot-etcd-start.target"
					: "greenboot-etcd-prerun.service");
	add_line(dropin, "After=greenboot-etcd-prerun.service");
	g_string_append(dropin->text, "Wants=");
	for (gsize i = 0; i < G_N_ELEMENTS(units); i++)
		if (units[i].by_service && (dropin->wanted & units[i].when))
			g_string_append_printf(dropin->text, "%s ", units[i].unit);
	dropin->text->str[dropin->text->len - 1] = '\n';
	/* Where this device is a member of a cluster (core/units/cluster-env.h). */
	begin_section(dropin, "Service");
	add_line(dropin, "EnvironmentFile=-/var/lib/greenboot-etcd/cluster.env");
}

#define HEAD "# Written by greenboot-etcd-generator from the configuration.\n"

/* Nothing is written where the unit is right as it is. */
static bool
write_filled(Dropin *dropin, const char *unit, void (*fill)(Dropin *), GbeDropinWrite *write,
	     GError **error)
{
	g_string_assign(dropin->text, HEAD);
	dropin->section = NULL;
	fill(dropin);
	return dropin->text->len == strlen(HEAD) ||
	       write(dropin->data, unit, dropin->text->str, error);
}

bool
gbe_dropins(const GbeConfig *config, GbeFollow *follow, GbeDropinWrite *write, gpointer data,
	    GError **error)
{
	g_autoptr(GString) text = g_string_new(NULL);
	Dropin dropin = {.text = text,
			 .config = config,
			 .wanted = wanted_units(config),
			 .follow = follow,
			 .data = data};

	for (gsize i = 0; i < G_N_ELEMENTS(units); i++)
		if (units[i].fill != NULL && (dropin.wanted & units[i].when) &&
		    !write_filled(&dropin, units[i].unit, units[i].fill, write, error))
			return false;
	if ((dropin.wanted & SCOPE) &&
	    !write_filled(&dropin, gbe_dropin_scope_of(config->etcd.service), fill_scope, write,
			  error))
		return false;
	/* Last: without the units that it requires, the service would not start. */
	return write_filled(&dropin, config->etcd.service, fill_service, write, error);
}

#define MINUTE 60
#define HOUR 3600
#define DAY 86400

static const struct {
	const char *word;
	guint64 seconds;
} words[] = {
    {"minutely", MINUTE},
    {"hourly", HOUR},
    {"daily", DAY},
    {"weekly", 7 * DAY},
    {"monthly", 28 * DAY},
    {"quarterly", 90 * DAY},
    {"semiannually", 181 * DAY},
    {"semi-annually", 181 * DAY},
    {"yearly", 365 * DAY},
    {"annually", 365 * DAY},
};

/* ---- how often a calendar event comes around -------------------------------------------------------- */

/* Between two values of a field that counts to @whole, in its own unit. "X/N" comes every N, and once more at the end
 * where N does not divide @whole. Lists and ranges may have neighbours. */
static guint64
gap(const char *field, guint64 whole)
{
	const char *slash = strchr(field, '/');
	guint64 step = 1;

	if (strpbrk(field, "*/,.") == NULL)
		return whole;
	if (slash == NULL || strpbrk(field, ",.") != NULL ||
	    !g_ascii_string_to_unsigned(slash + 1, 10, 1, whole, &step, NULL))
		return 1;
	return whole % step == 0 ? step : whole % step;
}

guint64
gbe_calendar_period(const char *event)
{
	g_auto(GStrv) parts = g_strsplit(event, " ", -1);

	for (gsize i = 0; i < G_N_ELEMENTS(words); i++)
		if (g_ascii_strcasecmp(parts[0] != NULL ? parts[0] : "", words[i].word) == 0)
			return words[i].seconds;
	for (guint i = 0; parts[i] != NULL; i++) {
		/* "HH:MM" or "HH:MM:SS" */
		g_auto(GStrv) fields = g_strsplit(parts[i], ":", 3);

		if (fields[0] == NULL || fields[1] == NULL)
			continue;
		if (fields[2] != NULL && gap(fields[2], 60) < 60)
			return gap(fields[2], 60);
		return gap(fields[1], 60) < 60 ? gap(fields[1], 60) * MINUTE
					       : gap(fields[0], 24) * HOUR;
	}
	return DAY;
}

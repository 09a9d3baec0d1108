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
wanted(const GbeConfig *config)
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
section(Dropin *dropin, const char *name)
{
	dropin->section = name;
}

static void
put(Dropin *dropin, const char *lines)
{
	if (dropin->section != NULL)
		g_string_append_printf(dropin->text, "[%s]\n", dropin->section);
	dropin->section = NULL;
	g_string_append(dropin->text, lines);
}

/* Paths may share a directory or a setting: each line stands once. No setting belongs to two sections. */
static void G_GNUC_PRINTF(2, 3) line(Dropin *dropin, const char *format, ...)
{
	g_autofree char *setting = NULL, *whole = NULL;
	va_list args;

	va_start(args, format);
	setting = g_strdup_vprintf(format, args);
	va_end(args);
	whole = g_strconcat("\n", setting, "\n", NULL);
	if (strstr(dropin->text->str, whole) == NULL)
		put(dropin, whole + 1);
}

/* In place of what the unit file and earlier drop-ins have: the empty setting cancels it. */
static void G_GNUC_PRINTF(3, 4)
    instead(Dropin *dropin, const char *setting, const char *format, ...)
{
	g_autofree char *value = NULL, *lines = NULL;
	va_list args;

	va_start(args, format);
	value = g_strdup_vprintf(format, args);
	va_end(args);
	lines = g_strdup_printf("%s=\n%s=%s\n", setting, setting, value);
	put(dropin, lines);
}

/* The schedule is written as it is: the configuration accepts no specifier and no line break in it. */
static void
calendar(Dropin *dropin, const char *schedule, guint64 jitter)
{
	section(dropin, "Timer");
	instead(dropin, "OnCalendar", "%s", schedule);
	if (gbe_calendar_period(schedule) / 10 < jitter)
		line(dropin, "RandomizedDelaySec=%us", (guint)(gbe_calendar_period(schedule) / 10));
}

/* Binds the unit to the service: the unit stops with it. */
static void
bound(Dropin *dropin)
{
	section(dropin, "Unit");
	line(dropin, "BindsTo=%s", dropin->config->etcd.service);
	line(dropin, "After=%s", dropin->config->etcd.service);
}

/* ---- paths --------------------------------------------------------------------------------------- */

typedef void Add(Dropin *dropin, const char *path);

/* For @path, and for the target of a symlink, which a sandbox and mounts need. Not for [store]: a share on the way may
 * hang, and systemd waits for the generator. */
static void
followed(Dropin *dropin, const char *path, Add *add)
{
	g_autofree char *real = NULL;

	if (path == NULL || *path == '\0')
		return;
	add(dropin, path);
	real = dropin->follow != NULL ? dropin->follow(dropin->data, path) : NULL;
	if (real != NULL)
		add(dropin, real);
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
visible(Dropin *dropin, const char *path)
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
			line(dropin, "%s", hidden[i].setting);
}

/* With "-" the unit also starts while the path does not exist. */
static void
writable(Dropin *dropin, const char *path)
{
	g_autofree char *entry = g_strconcat("-", path, NULL);
	g_autofree char *word = gbe_unit_quote(entry);

	line(dropin, "ReadWritePaths=%s", word);
}

static void
writable_top(Dropin *dropin, const char *path)
{
	g_autofree char *top = granted(path);

	writable(dropin, top);
	visible(dropin, path);
}

static void
writable_directory_of(Dropin *dropin, const char *file)
{
	g_autofree char *directory = g_path_get_dirname(file);

	writable(dropin, directory);
	visible(dropin, file);
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
		writable(dropin, store);
	}
}

static void
mounts_required(Dropin *dropin, const char *path)
{
	g_autofree char *word = gbe_unit_quote(path);

	line(dropin, "RequiresMountsFor=%s", word);
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
		line(dropin, "Wants=%s", unit);
		line(dropin, "After=%s", unit);
		if (slash == NULL)
			return;
		*slash = '\0';
	}
}

/* ---- parts that several units share -------------------------------------------------------------- */

static void
mounts(Dropin *dropin)
{
	section(dropin, "Unit");
	followed(dropin, dropin->config->etcd.data_dir, mounts_required);
	followed(dropin, dropin->config->backup.directory, mounts_wanted);
}

static void
sandbox(Dropin *dropin)
{
	const GbeConfig *config = dropin->config;

	section(dropin, "Service");
	followed(dropin, config->etcd.data_dir, writable_top);
	followed(dropin, config->etcd.wal_dir, writable_top);
	followed(dropin, config->backup.directory, writable_top);
	followed(dropin, config->etcd.binary, visible);
}

static void
data_visible(Dropin *dropin)
{
	followed(dropin, dropin->config->etcd.data_dir, visible);
	followed(dropin, dropin->config->etcd.wal_dir, visible);
}

/* Where no store is configured, it may be at the top of the data's file system. */
static void
backups_writable(Dropin *dropin)
{
	const char *directory = dropin->config->backup.directory;

	data_visible(dropin);
	followed(dropin, directory, writable);
	followed(dropin, directory, visible);
	if (directory == NULL || *directory == '\0')
		followed(dropin, dropin->config->etcd.data_dir, stores_on_the_way);
}

/* The units themselves may only speak to this machine. A host name may be any address, and finding out which may need
 * any server. */
static void
address(Dropin *dropin)
{
	const char *endpoint = dropin->config->etcd.endpoint;
	g_autoptr(GUri) uri =
	    endpoint != NULL ? g_uri_parse(endpoint, G_URI_FLAGS_NONE, NULL) : NULL;
	const char *host = uri != NULL ? g_uri_get_host(uri) : NULL;
	g_autofree char *name = host != NULL ? g_strndup(host, strcspn(host, "%")) : NULL;
	bool literal = name != NULL && g_hostname_is_ip_address(name);

	if (name != NULL && *name != '\0' && !g_str_equal(name, "localhost") &&
	    !(literal && (g_str_has_prefix(name, "127.") || g_str_equal(name, "::1"))))
		line(dropin, "IPAddressAllow=%s", literal ? name : "any");
}

/* etcd is asked where, and with which certificates, the configuration says. */
static void
asking(Dropin *dropin)
{
	static const char unix_scheme[] = "unix://";
	const GbeConfig *config = dropin->config;
	const char *endpoint = config->etcd.endpoint;

	followed(dropin, config->etcd.cacert, visible);
	followed(dropin, config->etcd.cert, visible);
	followed(dropin, config->etcd.key, visible);
	followed(dropin, config->etcd.password_file, visible);
	if (endpoint != NULL && g_str_has_prefix(endpoint, unix_scheme))
		followed(dropin, endpoint + strlen(unix_scheme), visible);
	address(dropin);
}

/* ---- the units ----------------------------------------------------------------------------------- */

static void
paths(Dropin *dropin)
{
	mounts(dropin);
	sandbox(dropin);
	followed(dropin, dropin->config->etcd.password_file, visible);
}

/* systemd stops a unit after the units that it is started before. */
static void
finalize(Dropin *dropin)
{
	mounts(dropin);
	line(dropin, "Before=%s", dropin->config->etcd.service);
	sandbox(dropin);
}

static void
green(Dropin *dropin)
{
	paths(dropin);
	asking(dropin);
}

/* The other members' addresses are known to etcd only. */
static void
rejoin(Dropin *dropin)
{
	paths(dropin);
	line(dropin, "IPAddressAllow=any");
}

static void
lock(Dropin *dropin)
{
	section(dropin, "Service");
	line(dropin, "IPAddressAllow=any");
	followed(dropin, dropin->config->etcd.data_dir, visible);
}

static void
scrub(Dropin *dropin)
{
	mounts(dropin);
	section(dropin, "Service");
	backups_writable(dropin);
}

/* The timer starts after prerun has taken the data over, so the program it starts finds a run that lasts that long. */
static void
used_timer(Dropin *dropin)
{
	section(dropin, "Timer");
	/* This clears every time of the unit. */
	instead(dropin, "OnActiveSec", "%" G_GUINT64_FORMAT "s",
		dropin->config->restore.trial_limit);
	line(dropin, "OnUnitActiveSec=%" G_GUINT64_FORMAT "s", dropin->config->restore.trial_limit);
}

/* Not after etcd: etcd's unit may itself wait for the target that waits for the health check. */
static void
health_check(Dropin *dropin)
{
	section(dropin, "Unit");
	line(dropin, "After=greenboot-etcd-prerun.service");
	line(dropin, "Wants=greenboot-etcd-green.service");
}

/* The directory of the metrics is writable, because they are renamed within it; the store is, because a clone is tried
 * there. No mount: the monitor reports a missing mount, and must not bring back one that a person took away. */
static void
monitor(Dropin *dropin)
{
	g_auto(GStrv) certs = NULL;

	section(dropin, "Service");
	backups_writable(dropin);
	followed(dropin, dropin->config->metrics.textfile, writable_directory_of);
	if (gbe_certs_directories(dropin->config->certs.directories, &certs, NULL))
		for (char **directory = certs; *directory != NULL; directory++)
			followed(dropin, *directory, visible);
	asking(dropin);
}

static void
monitor_timer(Dropin *dropin)
{
	section(dropin, "Timer");
	instead(dropin, "OnActiveSec", "%" G_GUINT64_FORMAT "s", dropin->config->health.monitor);
	line(dropin, "OnUnitActiveSec=%" G_GUINT64_FORMAT "s", dropin->config->health.monitor);
}

static void
defrag(Dropin *dropin)
{
	bound(dropin);
	section(dropin, "Service");
	data_visible(dropin);
	asking(dropin);
}

/* With at-start the first time comes as soon as the service is up, else after an interval. */
static void
defrag_timer(Dropin *dropin)
{
	guint64 interval = dropin->config->defrag.interval;

	bound(dropin);
	section(dropin, "Timer");
	instead(dropin, "OnActiveSec", "%" G_GUINT64_FORMAT "s",
		dropin->config->defrag.at_start ? 0 : interval);
	line(dropin, "OnUnitActiveSec=%" G_GUINT64_FORMAT "s", interval);
}

static void
backup(Dropin *dropin)
{
	bound(dropin);
	sandbox(dropin);
	asking(dropin);
}

static void
backup_timer(Dropin *dropin)
{
	bound(dropin);
	calendar(dropin, dropin->config->backup.schedule, 0);
}

/* A renew-command may work in any file, and ask any server. */
static void
renew(Dropin *dropin)
{
	section(dropin, "Service");
	if (dropin->config->certs.renew_command == NULL)
		asking(dropin);
	else
		put(dropin, "CapabilityBoundingSet=~\nProtectSystem=no\nProtectHome=no\n"
			    "PrivateTmp=no\nDevicePolicy=auto\nRestrictAddressFamilies=\n"
			    "IPAddressDeny=\nMemoryDenyWriteExecute=no\n"
			    "RestrictNamespaces=no\nSystemCallFilter=\n"
			    "MemoryMax=infinity\nTasksMax=infinity\nUMask=0022\n");
}

/* With renew-command= the timer also runs where this program makes no certificates. */
static void
renew_timer(Dropin *dropin)
{
	section(dropin, "Unit");
	if (dropin->config->certs.renew_command != NULL)
		line(dropin, "ConditionPathExists=");
}

static void
snapshots_mount(Dropin *dropin)
{
	if (dropin->config->store.directory != NULL) {
		section(dropin, "Unit");
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

	section(dropin, "Service");
	if (config->store.directory != NULL)
		writable_top(dropin, config->store.directory);
	for (gsize i = 0; i < G_N_ELEMENTS(files); i++)
		if (files[i] != NULL)
			visible(dropin, files[i]);
	if (config->store.url != NULL)
		line(dropin, "IPAddressAllow=any");
}

static void
send(Dropin *dropin)
{
	snapshots_mount(dropin);
	snapshots_visible(dropin);
}

static void
push(Dropin *dropin)
{
	bound(dropin);
	send(dropin);
	if (dropin->config->store.url == NULL)
		asking(dropin);
}

static void
push_timer(Dropin *dropin)
{
	bound(dropin);
	calendar(dropin, dropin->config->store.schedule, GBE_PUSH_JITTER);
}

/* Where a timer pushes, the proof also prunes. */
static void
prove(Dropin *dropin)
{
	send(dropin);
	if (dropin->wanted & PUSH)
		line(dropin, "ExecStart=/usr/bin/greenboot-etcd --quiet store prune");
}

static void
prove_timer(Dropin *dropin)
{
	calendar(dropin, dropin->config->store.prove, GBE_PROVE_JITTER);
}

/* A store that is away now has no requests, which is no failure. A separate process looks for it: with a Condition,
 * systemd itself would hang on a share that hangs. */
static void
requests(Dropin *dropin)
{
	const char *store = dropin->config->store.directory;

	snapshots_mount(dropin);
	sandbox(dropin);
	if (store != NULL) {
		g_autofree char *directory = g_build_filename(store, GBE_STORE_REQUESTS, NULL);
		g_autofree char *quoted = gbe_unit_quote(directory);
		g_auto(GStrv) parts = g_strsplit(quoted, "$", -1);
		g_autofree char *word = g_strjoinv("$$", parts);

		writable_top(dropin, store);
		line(dropin, "ExecCondition=/usr/bin/test -d %s", word);
	}
	if (dropin->config->store.url != NULL)
		line(dropin, "IPAddressAllow=any");
	else
		asking(dropin);
}

/* Not quoted: the rest of the line is the path. */
static void
requests_path(Dropin *dropin)
{
	g_autofree char *directory =
	    g_build_filename(dropin->config->store.directory, GBE_STORE_REQUESTS, NULL);
	g_auto(GStrv) parts = g_strsplit(directory, "%", -1);
	g_autofree char *path = g_strjoinv("%%", parts);

	section(dropin, "Path");
	instead(dropin, "PathChanged", "%s", path);
}

/* The scope stops before finalize stops (which is when finalize works), and before prerun starts again. */
static void
scope(Dropin *dropin)
{
	section(dropin, "Unit");
	line(dropin, "After=greenboot-etcd-prerun.service greenboot-etcd-finalize.service");
}

/* The target that such a service requires in place of prerun (hooks/start.target). */
static void
start(Dropin *dropin)
{
	section(dropin, "Unit");
	line(dropin, "PartOf=%s", dropin->config->etcd.service);
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
    {"greenboot-etcd-prerun.service", paths, ALWAYS, false},
    {"greenboot-etcd-finalize.service", finalize, ALWAYS, true},
    {"greenboot-etcd-preflight.service", paths, ALWAYS, false},
    {"greenboot-etcd-preflight.path", NULL, ALWAYS, true},
    {"greenboot-etcd-renew.service", renew, ALWAYS, false},
    {"greenboot-etcd-renew.timer", renew_timer, ALWAYS, true},
    {"greenboot-etcd-scrub.service", scrub, ALWAYS, false},
    {"greenboot-etcd-scrub.timer", NULL, ALWAYS, true},
    {"greenboot-etcd-used.service", paths, ALWAYS, false},
    {"greenboot-etcd-used.timer", used_timer, ALWAYS, true},
    {"greenboot-etcd-green.service", green, ALWAYS, false},
    {"greenboot-etcd-start.target", start, SCOPE, false},
    {"greenboot-healthcheck.service", health_check, ALWAYS, false},
    {"greenboot-etcd-monitor.service", monitor, MONITOR, false},
    {"greenboot-etcd-monitor.timer", monitor_timer, MONITOR, true},
    {"greenboot-etcd-defrag.service", defrag, DEFRAG, false},
    {"greenboot-etcd-defrag.timer", defrag_timer, DEFRAG, true},
    {"greenboot-etcd-backup.service", backup, BACKUP, false},
    {"greenboot-etcd-backup.timer", backup_timer, BACKUP, true},
    {"greenboot-etcd-push.service", push, PUSH, false},
    {"greenboot-etcd-push.timer", push_timer, PUSH, true},
    {"greenboot-etcd-send.service", send, SEND, true},
    {"greenboot-etcd-send.timer", NULL, SEND, true},
    {"greenboot-etcd-prove.service", prove, PROVE, false},
    {"greenboot-etcd-prove.timer", prove_timer, PROVE, true},
    {"greenboot-etcd-requests.service", requests, REQUESTS, false},
    {"greenboot-etcd-requests.path", requests_path, WATCH, true},
    {"greenboot-etcd-requests.timer", NULL, REQUESTS, true},
    {"greenboot-etcd-rejoin.service", rejoin, REJOIN, false},
    {"greenboot-etcd-rejoin.timer", NULL, REJOIN, true},
    {"greenboot-etcd-lock.service", lock, LOCK, false},
    {"greenboot-etcd-lock.path", NULL, LOCK, true},
    {"greenboot-etcd-lock.timer", NULL, LOCK, true},
};

static void
service(Dropin *dropin)
{
	section(dropin, "Unit");
	line(dropin, "Requires=%s",
	     dropin->wanted & SCOPE ? "greenboot-etcd-start.target"
				    : "greenboot-etcd-prerun.service");
	line(dropin, "After=greenboot-etcd-prerun.service");
	g_string_append(dropin->text, "Wants=");
	for (gsize i = 0; i < G_N_ELEMENTS(units); i++)
		if (units[i].by_service && (dropin->wanted & units[i].when))
			g_string_append_printf(dropin->text, "%s ", units[i].unit);
	dropin->text->str[dropin->text->len - 1] = '\n';
	/* Where this device is a member of a cluster (core/units/cluster-env.h). */
	section(dropin, "Service");
	line(dropin, "EnvironmentFile=-/var/lib/greenboot-etcd/cluster.env");
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
			 .wanted = wanted(config),
			 .follow = follow,
			 .data = data};

	for (gsize i = 0; i < G_N_ELEMENTS(units); i++)
		if (units[i].fill != NULL && (dropin.wanted & units[i].when) &&
		    !write_filled(&dropin, units[i].unit, units[i].fill, write, error))
			return false;
	if ((dropin.wanted & SCOPE) &&
	    !write_filled(&dropin, gbe_dropin_scope_of(config->etcd.service), scope, write, error))
		return false;
	/* Last: without the units that it requires, the service would not start. */
	return write_filled(&dropin, config->etcd.service, service, write, error);
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

/* @time: "HH:MM" or "HH:MM:SS". */
static guint64
period_of_time(const char *time)
{
	g_auto(GStrv) fields = g_strsplit(time, ":", 3);
	guint64 hours = gap(fields[0], 24), minutes = gap(fields[1], 60);

	if (fields[2] != NULL && gap(fields[2], 60) < 60)
		return gap(fields[2], 60);
	if (minutes < 60)
		return minutes * MINUTE;
	return hours * HOUR;
}

guint64
gbe_calendar_period(const char *event)
{
	g_auto(GStrv) parts = g_strsplit(event, " ", -1);

	for (gsize i = 0; i < G_N_ELEMENTS(words); i++)
		if (g_ascii_strcasecmp(parts[0] != NULL ? parts[0] : "", words[i].word) == 0)
			return words[i].seconds;
	for (guint i = 0; parts[i] != NULL; i++)
		if (strchr(parts[i], ':') != NULL)
			return period_of_time(parts[i]);
	return DAY;
}

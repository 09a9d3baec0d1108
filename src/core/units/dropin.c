/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "core/units/dropin.h"

#include "base/format.h"
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
	const char *section; /* begins with the next line, if there is one; NULL */
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

/* Begins ->section, if it has not begun. */
static void
add_lines(Dropin *dropin, const char *lines)
{
	if (dropin->section != NULL)
		g_string_append_printf(dropin->text, "[%s]\n", dropin->section);
	dropin->section = NULL;
	g_string_append(dropin->text, lines);
}

/* Paths may share a directory or a setting: each line stands once. No setting belongs to two sections. To replace what
 * the unit file and earlier drop-ins have, an empty setting comes first. */
static void G_GNUC_PRINTF(2, 3) add_line(Dropin *dropin, const char *format, ...)
{
	g_autofree char *setting = GBE_VFORMAT(format);
	g_autofree char *whole = g_strconcat("\n", setting, "\n", NULL);

	if (strstr(dropin->text->str, whole) == NULL)
		add_lines(dropin, whole + 1);
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

/* The units' sandbox would hide these directories, or replace them by private ones. */
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
make_directory_writable(Dropin *dropin, const char *file)
{
	g_autofree char *directory = g_path_get_dirname(file);

	make_writable(dropin, directory);
	make_visible(dropin, file);
}

/* Any directory on the way to the data may be the top of its file system, so each gets an entry. */
static void
make_stores_writable(Dropin *dropin, const char *data_dir)
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
require_mount(Dropin *dropin, const char *path)
{
	g_autofree char *word = gbe_unit_quote(path);

	add_line(dropin, "RequiresMountsFor=%s", word);
}

/* A store is wanted and not required: where its mount fails, etcd's data is not at fault. Any directory on the way may
 * be the mount; systemd ignores a unit that does not exist. */
static void
want_mounts(Dropin *dropin, const char *store)
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

/* A store that is not configured may be at the top of the data's file system. */
static void
make_backups_writable(Dropin *dropin)
{
	const char *directory = dropin->config->backup.directory;

	add_followed(dropin, directory, make_writable);
	add_followed(dropin, directory, make_visible);
	if (directory == NULL || *directory == '\0')
		add_followed(dropin, dropin->config->etcd.data_dir, make_stores_writable);
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

/* The files that the configuration names for a store are visible to the units. */
static void
make_snapshots_visible(Dropin *dropin)
{
	const GbeConfig *config = dropin->config;
	const char *files[] = {config->store.access_key_file, config->store.ca, config->store.key,
			       config->store.encrypt_to, config->store.identity};

	if (config->store.directory != NULL)
		make_top_writable(dropin, config->store.directory);
	for (gsize i = 0; i < G_N_ELEMENTS(files); i++)
		if (files[i] != NULL)
			make_visible(dropin, files[i]);
	if (config->store.url != NULL)
		add_line(dropin, "IPAddressAllow=any");
}

enum {
	BOUND = 1,	 /* stops with etcd's service */
	MOUNTS = 1 << 1, /* of the data and of the backups */
	/* systemd stops a unit after those that it is started before. */
	BEFORE = 1 << 2,
	/* The target that a service with a scope requires in place of prerun (hooks/start.target). */
	PART_OF = 1 << 3,
	/* Not after etcd: etcd's unit may itself wait for the target that waits for the health check. */
	CHECKS = 1 << 4,
	STORE_MOUNT = 1 << 5,
	SANDBOX = 1 << 6, /* renames the data and the backups */
	PASSWORD = 1 << 7,
	SEES_DATA = 1 << 8,
	BACKUPS = 1 << 9, /* writes backups only */
	SNAPSHOTS = 1 << 10,
	ASKS = 1 << 11,
	ASKS_WITHOUT_BUCKET = 1 << 12,
	ASKS_ALL = 1 << 13, /* also the other members: etcd alone knows their addresses */
	PRUNES = 1 << 14,   /* where a timer pushes */
	SEES_DIRECTORY = 1 << 15,
	FIRST_AT_START = 1 << 16, /* with [defrag] at-start; else after an interval */
};

/* Leaves the section "Service" begun. */
static void
add_parts(Dropin *dropin, guint parts)
{
	const GbeConfig *config = dropin->config;

	dropin->section = "Unit";
	if (parts & BOUND) {
		add_line(dropin, "BindsTo=%s", config->etcd.service);
		add_line(dropin, "After=%s", config->etcd.service);
	}
	if (parts & MOUNTS) {
		add_followed(dropin, config->etcd.data_dir, require_mount);
		add_followed(dropin, config->backup.directory, want_mounts);
	}
	if (parts & PART_OF)
		add_line(dropin, "PartOf=%s", config->etcd.service);
	if (parts & CHECKS)
		add_lines(dropin, "After=greenboot-etcd-prerun.service\n"
				  "Wants=greenboot-etcd-green.service\n");
	if (parts & BEFORE)
		add_line(dropin, "Before=%s", config->etcd.service);
	if ((parts & STORE_MOUNT) && config->store.directory != NULL) {
		dropin->section = "Unit";
		want_mounts(dropin, config->store.directory);
	}
	dropin->section = "Service";
	if (parts & SANDBOX) {
		add_followed(dropin, config->etcd.data_dir, make_top_writable);
		add_followed(dropin, config->etcd.wal_dir, make_top_writable);
		add_followed(dropin, config->backup.directory, make_top_writable);
		add_followed(dropin, config->etcd.binary, make_visible);
	}
	if (parts & PASSWORD)
		add_followed(dropin, config->etcd.password_file, make_visible);
	if (parts & SEES_DATA) {
		add_followed(dropin, config->etcd.data_dir, make_visible);
		add_followed(dropin, config->etcd.wal_dir, make_visible);
	}
	if (parts & BACKUPS)
		make_backups_writable(dropin);
	if (parts & SNAPSHOTS)
		make_snapshots_visible(dropin);
	if ((parts & ASKS) || ((parts & ASKS_WITHOUT_BUCKET) && config->store.url == NULL))
		allow_asking(dropin);
	if ((parts & PRUNES) && (dropin->wanted & PUSH))
		add_line(dropin, "ExecStart=/usr/bin/greenboot-etcd --quiet store prune");
	if (parts & ASKS_ALL)
		add_line(dropin, "IPAddressAllow=any");
	if (parts & SEES_DIRECTORY)
		add_followed(dropin, config->etcd.data_dir, make_visible);
}

/* ---- the units that need more ---------------------------------------------------------------------- */

/* The directory of the metrics is writable, because they are renamed within it; the store is, because a clone is tried
 * there. No mount: the monitor reports a missing mount, and must not bring back one that a person took away. */
static void
fill_monitor(Dropin *dropin)
{
	g_auto(GStrv) certs = NULL;

	add_followed(dropin, dropin->config->metrics.textfile, make_directory_writable);
	if (gbe_certs_directories(dropin->config->certs.directories, &certs, NULL))
		for (char **directory = certs; *directory != NULL; directory++)
			add_followed(dropin, *directory, make_visible);
	allow_asking(dropin);
}

/* A renew-command may work in any file, and ask any server. */
static void
fill_renew(Dropin *dropin)
{
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
	dropin->section = "Unit";
	if (dropin->config->certs.renew_command != NULL)
		add_line(dropin, "ConditionPathExists=");
}

/* A store that is away now has no requests, which is no failure. A separate process looks for it: with a Condition,
 * systemd itself would hang on a share that hangs. */
static void
fill_requests(Dropin *dropin)
{
	const char *store = dropin->config->store.directory;

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

	dropin->section = "Path";
	add_line(dropin, "PathChanged=\nPathChanged=%s", path);
}

#define AT(field) G_STRUCT_OFFSET(GbeConfig, field)

/* The units, in the order of their drop-ins. A unit without parts, times and fill gets no drop-in. ->by_service: the
 * configured service wants the unit. ->every: the configuration's interval for a timer, which replaces every time of
 * the unit. ->calendar: the schedule, with at most ->jitter seconds of delay. */
static const struct {
	const char *unit;
	guint when;
	bool by_service;
	guint parts;
	void (*fill)(Dropin *dropin);
	gsize every, calendar;
	guint64 jitter;
} units[] = {
    {"greenboot-etcd-prerun.service", ALWAYS, false, MOUNTS | SANDBOX | PASSWORD},
    {"greenboot-etcd-finalize.service", ALWAYS, true, MOUNTS | BEFORE | SANDBOX},
    {"greenboot-etcd-preflight.service", ALWAYS, false, MOUNTS | SANDBOX | PASSWORD},
    {"greenboot-etcd-preflight.path", ALWAYS, true},
    {"greenboot-etcd-renew.service", ALWAYS, false, 0, fill_renew},
    {"greenboot-etcd-renew.timer", ALWAYS, true, 0, fill_renew_timer},
    {"greenboot-etcd-scrub.service", ALWAYS, false, MOUNTS | SEES_DATA | BACKUPS},
    {"greenboot-etcd-scrub.timer", ALWAYS, true},
    {"greenboot-etcd-used.service", ALWAYS, false, MOUNTS | SANDBOX | PASSWORD},
    /* The timer starts after prerun has taken the data over, so the program it starts finds a run that lasts that long. */
    {"greenboot-etcd-used.timer", ALWAYS, true, .every = AT(restore.trial_limit)},
    {"greenboot-etcd-green.service", ALWAYS, false, MOUNTS | SANDBOX | PASSWORD | ASKS},
    {"greenboot-etcd-start.target", SCOPE, false, PART_OF},
    {"greenboot-healthcheck.service", ALWAYS, false, CHECKS},
    {"greenboot-etcd-monitor.service", MONITOR, false, SEES_DATA | BACKUPS, fill_monitor},
    {"greenboot-etcd-monitor.timer", MONITOR, true, .every = AT(health.monitor)},
    {"greenboot-etcd-defrag.service", DEFRAG, false, BOUND | SEES_DATA | ASKS},
    {"greenboot-etcd-defrag.timer", DEFRAG, true, BOUND | FIRST_AT_START,
     .every = AT(defrag.interval)},
    {"greenboot-etcd-backup.service", BACKUP, false, BOUND | SANDBOX | ASKS},
    {"greenboot-etcd-backup.timer", BACKUP, true, BOUND, .calendar = AT(backup.schedule)},
    {"greenboot-etcd-push.service", PUSH, false,
     BOUND | STORE_MOUNT | SNAPSHOTS | ASKS_WITHOUT_BUCKET},
    {"greenboot-etcd-push.timer", PUSH, true, BOUND, NULL, 0, AT(store.schedule), GBE_PUSH_JITTER},
    {"greenboot-etcd-send.service", SEND, true, STORE_MOUNT | SNAPSHOTS},
    {"greenboot-etcd-send.timer", SEND, true},
    {"greenboot-etcd-prove.service", PROVE, false, STORE_MOUNT | SNAPSHOTS | PRUNES},
    {"greenboot-etcd-prove.timer", PROVE, true, 0, NULL, 0, AT(store.prove), GBE_PROVE_JITTER},
    {"greenboot-etcd-requests.service", REQUESTS, false, STORE_MOUNT | SANDBOX, fill_requests},
    {"greenboot-etcd-requests.path", WATCH, true, 0, fill_requests_path},
    {"greenboot-etcd-requests.timer", REQUESTS, true},
    {"greenboot-etcd-rejoin.service", REJOIN, false, MOUNTS | SANDBOX | PASSWORD | ASKS_ALL},
    {"greenboot-etcd-rejoin.timer", REJOIN, true},
    {"greenboot-etcd-lock.service", LOCK, false, ASKS_ALL | SEES_DIRECTORY},
    {"greenboot-etcd-lock.path", LOCK, true},
    {"greenboot-etcd-lock.timer", LOCK, true},
};

static void
fill_unit(Dropin *dropin, gsize at)
{
	const char *config = (const char *)dropin->config;

	add_parts(dropin, units[at].parts);
	if (units[at].every != 0) {
		guint64 every = *(const guint64 *)(gconstpointer)(config + units[at].every);
		bool now = (units[at].parts & FIRST_AT_START) && dropin->config->defrag.at_start;

		dropin->section = "Timer";
		add_line(dropin, "OnActiveSec=\nOnActiveSec=%" G_GUINT64_FORMAT "s",
			 now ? 0 : every);
		add_line(dropin, "OnUnitActiveSec=%" G_GUINT64_FORMAT "s", every);
	}
	if (units[at].calendar != 0) {
		const char *event = *(char *const *)(gconstpointer)(config + units[at].calendar);
		guint64 delay = gbe_calendar_period(event) / 10;

		dropin->section = "Timer";
		/* As it is: the configuration accepts no specifier and no line break in it. */
		add_line(dropin, "OnCalendar=\nOnCalendar=%s", event);
		if (delay < units[at].jitter)
			add_line(dropin, "RandomizedDelaySec=%us", (guint)delay);
	}
	if (units[at].fill != NULL)
		units[at].fill(dropin);
}

static void
fill_service(Dropin *dropin)
{
	dropin->section = "Unit";
	add_line(dropin, "Requires=%s",
		 dropin->wanted & SCOPE ? "greenboot-etcd-start.target"
					: "greenboot-etcd-prerun.service");
	add_line(dropin, "After=greenboot-etcd-prerun.service");
	g_string_append(dropin->text, "Wants=");
	for (gsize i = 0; i < G_N_ELEMENTS(units); i++)
		if (units[i].by_service && (dropin->wanted & units[i].when))
			g_string_append_printf(dropin->text, "%s ", units[i].unit);
	dropin->text->str[dropin->text->len - 1] = '\n';
	/* For a member of a cluster (core/units/cluster-env.h). */
	dropin->section = "Service";
	add_line(dropin, "EnvironmentFile=-/var/lib/greenboot-etcd/cluster.env");
}

#define HEAD "# Written by greenboot-etcd-generator from the configuration.\n"

static bool
write_dropin(Dropin *dropin, const char *unit, GbeDropinWrite *write, GError **error)
{
	bool written = dropin->text->len == strlen(HEAD) ||
		       write(dropin->data, unit, dropin->text->str, error);

	g_string_assign(dropin->text, HEAD);
	dropin->section = NULL;
	return written;
}

bool
gbe_dropins(const GbeConfig *config, GbeFollow *follow, GbeDropinWrite *write, gpointer data,
	    GError **error)
{
	g_autoptr(GString) text = g_string_new(HEAD);
	Dropin dropin = {.text = text,
			 .config = config,
			 .wanted = wanted_units(config),
			 .follow = follow,
			 .data = data};

	for (gsize i = 0; i < G_N_ELEMENTS(units); i++) {
		if (!(dropin.wanted & units[i].when))
			continue;
		fill_unit(&dropin, i);
		/* A unit that is right as it is gets no drop-in. */
		if (!write_dropin(&dropin, units[i].unit, write, error))
			return false;
	}
	if (dropin.wanted & SCOPE) {
		/* The scope stops before finalize stops (which is when finalize works), and before prerun starts again. */
		dropin.section = "Unit";
		add_line(&dropin, "After=greenboot-etcd-prerun.service "
				  "greenboot-etcd-finalize.service");
		if (!write_dropin(&dropin, gbe_dropin_scope_of(config->etcd.service), write, error))
			return false;
	}
	/* Last: without the units that it requires, the service would not start. */
	fill_service(&dropin);
	return write_dropin(&dropin, config->etcd.service, write, error);
}

#define MINUTE 60
#define HOUR 3600
#define DAY 86400

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

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "app/run/etcd-copy.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/backup-name.h"
#include "core/config/lists.h"
#include "etcd/layout.h"
#include "fs/copy/clone.h"
#include "fs/open.h"
#include "fs/tree.h"

#define WORK "etcd"
#define DATA "data"
/* etcd wants a host and a port even for a unix socket, and makes a file of that name in its working directory. */
#define CLIENT "client:1"
#define PEER "peer:1"
#define ETCD                                                                                       \
	"etcd --data-dir=%d --name=default --listen-client-urls=unix://%s "                        \
	"--advertise-client-urls=unix://%s --listen-peer-urls=unix://" PEER " "                    \
	"--initial-advertise-peer-urls=unix://" PEER " --initial-cluster=default=unix://" PEER " " \
	"--heartbeat-interval=10 --election-timeout=100 --quota-backend-bytes=-1"
#define ALONE " --force-new-cluster"
#define VERSION_SECONDS 20
#define VERSION_MAX 1024

bool
gbe_etcd_copy_make(GbeApp *app, const GbeStore *store, const char *name, const struct stat *owner,
		   GbeEtcdCopy *ret_copy, GError **error)
{
	g_auto(GbeEtcdCopy) copy = GBE_ETCD_COPY_NONE;

	copy.app = app;
	copy.store = store;
	copy.place = g_strconcat(GBE_RUNG_PARTIAL, name, NULL);
	if (!gbe_walled_user(app, owner, &copy.user, error) ||
	    !gbe_store_make_partial(store, copy.place, &copy.place_fd, error))
		return false;
	if (mkdirat(copy.place_fd, WORK, 0700) < 0)
		return gbe_throw_errno(error, errno, "make %s in %s", WORK, copy.place);
	if (!gbe_open_dir_at(copy.place_fd, WORK, &copy.work_fd, error))
		return false;
	if (mkdirat(copy.work_fd, DATA, 0700) < 0)
		return gbe_throw_errno(error, errno, "make %s in %s", DATA, copy.place);
	if (!gbe_walled_give(copy.work_fd, &copy.user, error))
		return false;
	*ret_copy = copy;
	copy = (GbeEtcdCopy)GBE_ETCD_COPY_NONE;
	return true;
}

static void
disconnect(GbeEtcdCopy *copy)
{
	g_clear_pointer(&copy->client, gbe_client_close);
	gbe_close_fd(&copy->socket_fd);
	g_clear_pointer(&copy->url, g_free);
	gbe_app_endpoint_clear(&copy->live);
}

void
gbe_etcd_copy_clear(GbeEtcdCopy *copy)
{
	disconnect(copy);
	gbe_walled_clear(&copy->run);
	gbe_close_fd(&copy->place_fd);
	gbe_close_fd(&copy->work_fd);
	gbe_close_fd(&copy->data_fd);
	if (copy->place != NULL)
		gbe_store_drop_partial(copy->store, copy->place);
	g_clear_pointer(&copy->place, g_free);
}

/* Call this after each clone: a subvolume within a tree ends the walk. */
static bool
give_to_user(const GbeEtcdCopy *copy, int dir_fd, const char *name, GError **error)
{
	gbe_autofd int fd = -1;

	return gbe_open_dir_at(dir_fd, name, &fd, error) && gbe_walled_give(fd, &copy->user, error);
}

bool
gbe_etcd_copy_clone(GbeEtcdCopy *copy, int from_fd, const char *member_path, int wal_fd, bool live,
		    bool cow_only, GError **error)
{
	/* In this order the rules between the files hold (etcd.md, 9). .snap files have hex numbers as names. */
	static const char *const order[] = {"snap/0", "snap/db", NULL};
	const GbeCloneOptions options = {.allowed = GBE_METHOD_SNAPSHOT,
					 .cow_only = cow_only,
					 .atomic = live,
					 .first = live ? order : NULL,
					 .progress = gbe_app_progress,
					 .progress_data = copy->app};
	g_auto(GbeCloneResult) result = {0};
	g_auto(GbeCloneResult) log = {0};
	gbe_autofd int parent_fd = -1;
	gbe_autofd int from_member_fd = -1;
	gbe_autofd int member_fd = -1;

	if ((copy->data_fd < 0 && !gbe_open_dir_at(copy->work_fd, DATA, &copy->data_fd, error)) ||
	    !gbe_remove_tree_at(copy->data_fd, "member", error))
		return false;
	if (!gbe_layout_open(from_fd, member_path, "member", &from_member_fd, error) ||
	    !gbe_open_dir_at(from_member_fd, "..", &parent_fd, error))
		return false;
	if (!gbe_clone_tree_at(parent_fd, "member", copy->data_fd, "member", &options, &result,
			       error) ||
	    !give_to_user(copy, copy->data_fd, "member", error))
		return false;
	copy->size = result.info.bytes;
	if (wal_fd < 0)
		return true;
	/* After member/, because the log comes last in a clone of running data. With --wal-dir, a log in member/wal is
	 * old. */
	if (!gbe_open_dir_at(copy->data_fd, "member", &member_fd, error) ||
	    !gbe_remove_tree_at(member_fd, "wal", error))
		return false;
	if (!gbe_clone_tree_at(wal_fd, ".", member_fd, "wal", &options, &log, error) ||
	    !give_to_user(copy, member_fd, "wal", error))
		return false;
	copy->size += log.info.bytes;
	return true;
}

static bool
run_program(GbeEtcdCopy *copy, const GbeEtcdCopyStart *start, const char *const *argv,
	    guint64 seconds, GError **error)
{
	const GbeWalled walled = {.tree = start->tree,
				  .tree_fd = start->tree_fd,
				  .program = start->command != NULL ? argv[0] : start->program,
				  .argv = argv,
				  .work_fd = copy->work_fd,
				  .seconds = seconds,
				  .size = copy->size};

	gbe_walled_clear(&copy->run);
	copy->run = (GbeWalledRun){0};
	/* Sockets of an earlier etcd: a stale one is never taken for a new one. */
	(void)unlinkat(copy->work_fd, CLIENT, 0);
	(void)unlinkat(copy->work_fd, PEER, 0);
	return gbe_walled_start(copy->app, &walled, &copy->run, error);
}

bool
gbe_etcd_copy_start(GbeEtcdCopy *copy, const GbeEtcdCopyStart *start, GError **error)
{
	const char *command = start->command != NULL ? start->command
			      : start->alone	     ? ETCD ALONE
						     : ETCD;
	g_auto(GStrv) argv = NULL;

	if (!gbe_words("[preflight] rehearse-command", command, &argv, error))
		return false;
	/* %d and %s stand for the data directory and for the socket, both relative to the working directory. */
	for (guint i = 0; argv[i] != NULL; i++) {
		g_autoptr(GString) word = g_string_new(argv[i]);

		g_string_replace(word, "%d", DATA, 0);
		g_string_replace(word, "%s", CLIENT, 0);
		g_free(argv[i]);
		argv[i] = g_strdup(word->str);
	}
	return run_program(copy, start, (const char *const *)argv, start->seconds, error);
}

bool
gbe_etcd_copy_version(GbeEtcdCopy *copy, const GbeEtcdCopyStart *start, char **ret_version,
		      GError **error)
{
	static const char label[] = "etcd Version: ";
	const char *const argv[] = {"etcd", "--version", NULL};
	const GbeWalledWait wait = {.seconds = VERSION_SECONDS};
	const GbeEtcdCopyStart plain = {.tree = start->tree,
					.tree_fd = start->tree_fd,
					.program = start->program};
	char text[VERSION_MAX] = "";
	const char *at;

	if (!run_program(copy, &plain, argv, VERSION_SECONDS, error) ||
	    !gbe_walled_wait(&copy->run, &wait, error))
		return gbe_prefix(error, "%s --version", start->program);
	if (pread(copy->run.child.out_fd, text, sizeof text - 1, 0) < 0)
		return gbe_throw_errno(error, errno, "cannot read what etcd printed");
	at = strstr(text, label);
	if (at == NULL)
		return gbe_throw(error, GBE_ERROR_CANNOT_TELL, "%s --version prints no version",
				 start->program);
	at += strlen(label);
	*ret_version = g_strndup(at, strspn(at, G_CSET_DIGITS G_CSET_a_2_z ".+-~"));
	return true;
}

bool
gbe_etcd_copy_connect(GbeEtcdCopy *copy, GbeCallFailure *ret_failure)
{
	struct stat st;

	disconnect(copy);
	copy->socket_fd = openat(copy->work_fd, CLIENT, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	if (copy->socket_fd < 0 || fstat(copy->socket_fd, &st) < 0 || !S_ISSOCK(st.st_mode))
		return gbe_call_fail(ret_failure, GBE_REACH_DOWN, "there is no socket");
	/* The path of a unix socket must be short, but the store's path may have any length. */
	copy->url = g_strdup_printf("unix:///proc/self/fd/%d", copy->socket_fd);
	gbe_app_endpoint(copy->app, &copy->live);
	copy->endpoint = (GbeEndpoint){.endpoint = copy->url,
				       .user = copy->live.endpoint.user,
				       .password = copy->live.password,
				       .no_password = copy->live.no_password};
	return gbe_client_open(&copy->endpoint, &copy->client, ret_failure);
}

void
gbe_etcd_copy_end(GbeEtcdCopy *copy)
{
	disconnect(copy);
	gbe_walled_end(&copy->run);
}

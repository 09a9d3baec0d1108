/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Runs when a system update was staged: would the update go well? Changes nothing. */
#include <sys/stat.h>

#include "app/boot/boot.h"
#include "app/boot/supervise.h"
#include "app/device/hook.h"
#include "app/rehearse/rehearse.h"

#define LIMIT_SECONDS 60
#define REHEARSE_SECONDS 900
#define PATIENCE_SECONDS 300

static int
work(GbeApp *app, gpointer data)
{
	gbe_hook_apply(data, app);
	return gbe_preflight_run(app);
}

static int
rehearse(GbeApp *app, gpointer data)
{
	gbe_hook_apply(data, app);
	gbe_rehearse_staged(app, PATIENCE_SECONDS);
	return GBE_EXIT_DONE;
}

/* The file that ostree writes anew for each staging. All is zero where none is staged. */
static struct stat
staged_file(const GbeHook *hook)
{
	g_autofree char *path = g_build_filename(hook->root != NULL ? hook->root : "/",
						 "run/ostree/staged-deployment", NULL);
	struct stat st = {0};

	return stat(path, &st) == 0 ? st : (struct stat){0};
}

static bool
is_same(struct stat a, struct stat b)
{
	return a.st_ino == b.st_ino && a.st_mtim.tv_sec == b.st_mtim.tv_sec &&
	       a.st_mtim.tv_nsec == b.st_mtim.tv_nsec;
}

int
main(int argc, char **argv)
{
	g_auto(GbeHook) hook = {NULL};
	struct stat staged;
	int status;

	if (!gbe_hook_parse(&hook, "preflight",
			    "Would the backup before the next update succeed, and can the update "
			    "be taken back?\nEnds with 0, with 5 where not, or with 7 where that "
			    "cannot be told.",
			    NULL, &argc, &argv, GBE_EXIT_USAGE, &status))
		return status;
	/* systemd's path unit watches nothing while the service runs. ostree takes the file of the last staging away
	 * first, which starts the service, and writes the new one while it runs. */
	do {
		staged = staged_file(&hook);
		/* A rehearsal that hangs or crashes is none, and says nothing of the update. */
		(void)gbe_supervise_bounded("preflight", hook.root, rehearse, &hook,
					    REHEARSE_SECONDS, GBE_EXIT_CANNOT_TELL);
		status = gbe_supervise_bounded("preflight", hook.root, work, &hook, LIMIT_SECONDS,
					       GBE_EXIT_CANNOT_TELL);
	} while (!is_same(staged, staged_file(&hook)));
	return status;
}

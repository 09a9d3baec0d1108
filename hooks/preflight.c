/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Runs when a system update was staged: would the update go well? Changes nothing. */
#include <sys/stat.h>

#include "app/boot/boot.h"
#include "app/boot/supervise.h"
#include "app/rehearse/rehearse.h"

#define PATIENCE_SECONDS 300

static int
rehearse(GbeApp *app)
{
	gbe_rehearse_staged(app, PATIENCE_SECONDS);
	return GBE_EXIT_DONE;
}

/* The file that ostree writes again for each staging. All is zero where none is staged. */
static struct stat
staged_file(const char *root)
{
	g_autofree char *path =
	    g_build_filename(root != NULL ? root : "/", "run/ostree/staged-deployment", NULL);
	struct stat st = {0};

	return stat(path, &st) == 0 ? st : (struct stat){0};
}

static int
run_preflight(const char *root, const char *config)
{
	/* A rehearsal that hangs or crashes gives no result. It does not count against the update. */
	static const GbeHook rehearsal = {.program = "preflight",
					  .work = rehearse,
					  .seconds = 900,
					  .on_failure = GBE_EXIT_CANNOT_TELL};
	static const GbeHook checks = {.program = "preflight",
				       .work = gbe_preflight_run,
				       .seconds = 60,
				       .on_failure = GBE_EXIT_CANNOT_TELL};
	struct stat before, after;
	int status;

	/* systemd's path unit watches nothing while the service runs. ostree takes the file of the last staging away
	 * first, which starts the service, and writes the new one while it runs. */
	do {
		before = staged_file(root);
		(void)gbe_hook_run(&rehearsal, root, config);
		status = gbe_hook_run(&checks, root, config);
		after = staged_file(root);
	} while (before.st_ino != after.st_ino || before.st_mtim.tv_sec != after.st_mtim.tv_sec ||
		 before.st_mtim.tv_nsec != after.st_mtim.tv_nsec);
	return status;
}

GBE_HOOK(.program = "preflight",
	 .summary = "Would the backup before the next update succeed, and can the update "
		    "be taken back?\nThe exit status is 0 for yes, 5 for no, and 7 for "
		    "unknown.",
	 .on_usage = GBE_EXIT_USAGE, .run = run_preflight)

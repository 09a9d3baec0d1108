/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * in-booted DEPLOYMENT ROOT STATEROOT COMMAND...: runs COMMAND in a mount namespace of its own with the directory
 * DEPLOYMENT as /. ROOT is at /sysroot and the machine's programs are in /usr, as ostree requires for staging. A shell
 * needs ten programs for the same, which is most of the time of staging.
 */
#define _GNU_SOURCE
#include <limits.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <unistd.h>

static void
check(int result, const char *what)
{
	if (result == 0)
		return;
	perror(what);
	exit(EXIT_FAILURE);
}

static void
bind_at(const char *source, const char *in_source, const char *top, const char *target,
	unsigned long flags)
{
	char from[PATH_MAX], to[PATH_MAX];

	snprintf(from, sizeof(from), "%s%s", source, in_source);
	snprintf(to, sizeof(to), "%s%s", top, target);
	check(mount(from, to, NULL, MS_BIND | flags, NULL), to);
}

int
main(int argc, char **argv)
{
	char var[PATH_MAX];
	const char *top, *root;

	if (argc < 5)
		return EXIT_FAILURE;
	top = argv[1];
	root = argv[2];
	snprintf(var, sizeof(var), "/ostree/deploy/%s/var", argv[3]);
	check(unshare(CLONE_NEWNS), "unshare");
	check(mount(NULL, "/", NULL, MS_PRIVATE | MS_REC, NULL), "make / private");
	bind_at(top, "", top, "", 0);
	bind_at(root, "", top, "/sysroot", 0);
	bind_at(root, "/boot", top, "/boot", 0);
	bind_at(root, "/run", top, "/run", 0);
	bind_at(root, var, top, "/var", 0);
	bind_at("/usr", "", top, "/usr", MS_REC);
	bind_at("/dev", "", top, "/dev", MS_REC);
	check(chdir(top), top);
	check(mount("proc", "proc", "proc", 0, NULL), "proc");
	check(chroot("."), "chroot");
	execvp(argv[4], argv + 4);
	perror(argv[4]);
	return EXIT_FAILURE;
}

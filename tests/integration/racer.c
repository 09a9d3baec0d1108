/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * racer UID DIRECTORY OUTSIDE: plays the hostile owner of the data directory while root copies, exchanges and removes
 * it. Becomes user UID and stays in DIRECTORY, also when it is moved. Until it is killed it replaces names there by its
 * own files and directories, FIFOs, and symlinks to OUTSIDE (a directory) and OUTSIDE/secret. Other names come and go.
 */
#include <fcntl.h>
#include <glib.h>
#include <grp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

static void
make(const char *name, const char *text)
{
	int fd =
	    open(name, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0666);

	if (fd < 0)
		return;
	(void)!write(fd, text, strlen(text));
	(void)close(fd);
}

static void
exchange(const char *a, const char *b)
{
	(void)!renameat2(AT_FDCWD, a, AT_FDCWD, b, RENAME_EXCHANGE);
}

static void
one_round(const char *outside, const char *secret, unsigned round)
{
	make("file", "of the racer");
	(void)!symlink(secret, "link");
	exchange("file", "link");
	(void)!mkdir("dir", 0777);
	make("dir/file", "of the racer");
	(void)!symlink(outside, "way");
	exchange("dir", "way");
	exchange("db", "link");
	exchange("db", "link");
	(void)!mkfifo("pipe", 0666);
	exchange("pipe", "other");
	make("other", "of the racer");
	exchange("file", "link");
	exchange("dir", "way");
	if (round % 64 == 0) {
		/* Sometimes there is nothing odd at all, and a copy succeeds. */
		(void)!unlink("pipe");
		(void)!unlink("link");
		(void)!unlink("way");
		(void)!unlink("other");
		(void)usleep(20000);
	}
}

int
main(int argc, char **argv)
{
	char *secret;

	if (argc != 4 || chdir(argv[2]) < 0)
		return 2;
	if (setgroups(0, NULL) < 0 || setgid((gid_t)atoi(argv[1])) < 0 ||
	    setuid((uid_t)atoi(argv[1])) < 0)
		return 2;
	(void)prctl(PR_SET_PDEATHSIG, 9);
	(void)umask(0);
	secret = g_strdup_printf("%s/secret", argv[3]);
	for (unsigned round = 0;; round++)
		one_round(argv[3], secret, round);
	return 0;
}

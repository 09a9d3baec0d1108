/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "store/snapshots.h"

#include "app/device/endpoint.h"
#include "fs/open.h"
#include "sys/child.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>

#define PROGRAM "/usr/bin/age"
/* The path of the file of keys in the child. */
#define KEYS "/proc/self/fd/4"
#define SAID_MAX 300
/* The child has read all of its input by then. */
#define END_SECONDS 120

static bool
start_age(GbeApp *app, const char *const *argv, const char *keys, bool secret, int in_fd,
	  int out_fd, GbeChild *ret_child, GError **error)
{
	gbe_autofd int program_fd = -1;
	gbe_autofd int keys_fd = -1;
	GbeChildStreams streams = {.in_fd = in_fd, .out_fd = out_fd};

	if (!gbe_open_in_root(app->root_fd, PROGRAM, O_RDONLY, &program_fd, NULL))
		return gbe_throw(error, GBE_ERROR_REFUSED,
				 "" PROGRAM
				 " is missing: install age, which encrypts and decrypts snapshots");
	if (!gbe_key_file_open(app, keys, secret, &keys_fd, error))
		return gbe_prefix(error, "%s", keys);
	streams.file_fd = keys_fd;
	return gbe_child_start_filter(program_fd, argv, &streams, ret_child, error);
}

/* These words mean that the bytes were changed after the encryption. Any other failure (a signal, a read error,
 * another identity) proves no damage. */
static bool
is_damage(const char *said)
{
	static const char *const words[] = {"failed to read header: ", "bad header MAC",
					    "failed to read nonce: ", "payload chunk",
					    "last chunk is empty"};

	for (gsize i = 0; i < G_N_ELEMENTS(words); i++)
		if (strstr(said, words[i]) != NULL)
			return strstr(said, "read /dev/stdin: ") == NULL;
	return false;
}

/* Waits until the child has ended; the first line of its output is the reason. */
static bool
wait_for_age(GbeChild *child, const char *what, GError **error)
{
	g_autoptr(GError) local = NULL;
	char said[SAID_MAX + 1] = "";
	g_autofree char *valid = NULL;

	if (gbe_child_wait(child, END_SECONDS, &local))
		return true;
	(void)!pread(child->out_fd, said, SAID_MAX, 0);
	said[strcspn(said, "\n")] = '\0';
	valid = g_utf8_make_valid(said, -1);
	return gbe_throw(error, is_damage(said) ? GBE_ERROR_VERIFY_FAILED : GBE_ERROR_CANNOT_TELL,
			 "%s: %s", what, *valid != '\0' ? valid : local->message);
}

typedef struct {
	int fd;
	GbeArchivePut watch;
	gpointer data;
	bool refused; /* age reads no more; its output says why */
} Feed;

static bool
feed_age(const void *bytes, gsize size, gpointer data, GError **error)
{
	Feed *to = data;

	if (!to->watch(bytes, size, to->data, error))
		return false;
	for (gsize at = 0; at < size;) {
		ssize_t n = write(to->fd, (const char *)bytes + at, size - at);

		to->refused = to->refused || (n < 0 && errno == EPIPE);
		if (n < 0 && errno != EINTR)
			return gbe_throw_errno(error, errno, "cannot give age more");
		at += (gsize)MAX(n, 0);
	}
	return true;
}

bool
gbe_age_encrypt_gzip(GbeApp *app, const char *recipients, int in_fd, const char *what, int out_fd,
		     GbeArchivePut watch, gpointer data, GError **error)
{
	static const char *const argv[] = {"age", "-R", KEYS, NULL};
	g_auto(GbeChild) child = {0};
	g_autoptr(GError) local = NULL, ended = NULL;
	gbe_autofd int read_fd = -1;
	gbe_autofd int write_fd = -1;
	struct sigaction ignore = {.sa_handler = SIG_IGN}, before;
	Feed to = {.watch = watch, .data = data};
	int fds[2];
	bool fed;

	if (pipe2(fds, O_CLOEXEC) < 0)
		return gbe_throw_errno(error, errno, "make a pipe");
	read_fd = fds[0];
	to.fd = write_fd = fds[1];
	if (!start_age(app, argv, recipients, false, read_fd, out_fd, &child, error))
		return false;
	gbe_close_fd(&read_fd);
	/* The reader of a pipe may be gone: that must be an error, and not kill this process. */
	(void)sigaction(SIGPIPE, &ignore, &before);
	fed = gbe_archive_gzip(in_fd, what, feed_age, &to, &local);
	(void)sigaction(SIGPIPE, &before, NULL);
	gbe_close_fd(&write_fd);
	if (!fed && !to.refused)
		return gbe_pass(error, &local);
	if (wait_for_age(&child, what, &ended))
		return fed || gbe_throw(error, GBE_ERROR_FAILED, "%s", local->message);
	gbe_rethrow(&ended, GBE_ERROR_FAILED);
	g_propagate_prefixed_error(error, g_steal_pointer(&ended), "encrypt to %s: ", recipients);
	return false;
}

/* Does age have more? Then its reader has refused bytes, and not met an end that came too soon. */
static bool
has_more(int fd)
{
	char byte;
	ssize_t n;

	do
		n = read(fd, &byte, 1);
	while (n < 0 && errno == EINTR);
	return n > 0;
}

bool
gbe_age_decrypt(GbeApp *app, const char *identity, int in_fd, const char *what, GbeAgeRead use,
		gpointer data, GError **error)
{
	static const char *const argv[] = {"age", "-d", "-i", KEYS, NULL};
	g_auto(GbeChild) child = {0};
	g_autoptr(GError) local = NULL, ended = NULL;
	gbe_autofd int read_fd = -1;
	gbe_autofd int write_fd = -1;
	int fds[2];
	bool done, early;

	if (pipe2(fds, O_CLOEXEC) < 0)
		return gbe_throw_errno(error, errno, "make a pipe");
	read_fd = fds[0];
	write_fd = fds[1];
	if (!start_age(app, argv, identity, true, in_fd, write_fd, &child, error))
		return false;
	gbe_close_fd(&write_fd);
	done = use(read_fd, data, &local);
	early = !done && g_error_matches(local, GBE_ERROR, GBE_ERROR_VERIFY_FAILED) &&
		!has_more(read_fd);
	/* A write into the closed pipe ends the child: then the reader's error is the reason. */
	gbe_close_fd(&read_fd);
	if (wait_for_age(&child, what, &ended) && done)
		return true;
	if (ended != NULL && (done || early || strstr(ended->message, "age: error") != NULL))
		return gbe_pass(error, &ended);
	return gbe_pass(error, &local);
}

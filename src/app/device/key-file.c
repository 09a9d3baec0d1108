/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "app/device/key-file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/prctl.h>

#include "fs/open.h"
#include "fs/write.h"

bool
gbe_key_file_open(const GbeApp *app, const char *path, bool secret, int *ret_fd, GError **error)
{
	/* The mode bits that give users other than root access. */
	mode_t others = secret ? S_IRWXG | S_IRWXO : S_IWGRP | S_IWOTH;
	gbe_autofd int fd = -1;
	struct stat st;

	if (!gbe_check_parents(app->root_fd, path, error) ||
	    !gbe_open_in_root(app->root_fd, path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK, &fd, error))
		return false;
	if (fstat(fd, &st) < 0)
		return gbe_throw_errno(error, errno, "cannot look at it");
	if (!S_ISREG(st.st_mode))
		return gbe_throw(error, GBE_ERROR_UNSAFE_SOURCE, "it is not a regular file");
	if (st.st_uid != geteuid() || (st.st_mode & others) != 0)
		return gbe_throw(error, GBE_ERROR_UNSAFE_SOURCE,
				 "it is not root's alone (owner %u, mode %04o): chown it to root, "
				 "chmod %04o",
				 (unsigned)st.st_uid, (unsigned)(st.st_mode & 07777),
				 0644 & ~(unsigned)others);
	*ret_fd = gbe_steal_fd(&fd);
	return true;
}

bool
gbe_key_file_read(const GbeApp *app, const char *path, const char *credential,
		  char bytes[GBE_KEY_FILE_MAX], gsize *ret_size, GError **error)
{
	const char *credentials = g_getenv("CREDENTIALS_DIRECTORY");
	gbe_autofd int fd = -1;
	ssize_t size;

	if (path != NULL) {
		if (!gbe_key_file_open(app, path, true, &fd, error))
			return false;
	} else if (credentials != NULL) {
		g_autofree char *name = g_build_filename(credentials, credential, NULL);

		fd = open(name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	}
	if (fd < 0)
		return gbe_throw(error, GBE_ERROR_NOT_FOUND, "there is no systemd credential %s",
				 credential);
	/* The secret is in this process's memory, and in no core that it leaves. */
	(void)prctl(PR_SET_DUMPABLE, 0);
	size = pread(fd, bytes, GBE_KEY_FILE_MAX, 0);
	if (size < 0)
		return gbe_throw_errno(error, errno, "cannot read it");
	if (size == GBE_KEY_FILE_MAX) {
		explicit_bzero(bytes, GBE_KEY_FILE_MAX);
		return gbe_throw(error, GBE_ERROR_INVALID_CONFIG, "it is too long");
	}
	*ret_size = (gsize)size;
	return true;
}

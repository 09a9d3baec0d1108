/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* cacert, cert and key of [etcd], with a NUL between one and the next. */
#include "etcd/tls/pem.h"
#include "lib/fuzz.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* The path of a file in memory that holds so much. */
static char *
file_of(const guint8 *bytes, gsize size, int *ret_fd)
{
	*ret_fd = memfd_create("pem", MFD_CLOEXEC);
	if (*ret_fd < 0 || write(*ret_fd, bytes, size) != (ssize_t)size)
		abort();
	return g_strdup_printf("/proc/self/fd/%d", *ret_fd);
}

int
LLVMFuzzerTestOneInput(const guint8 *bytes, gsize size)
{
	const guint8 *end = bytes + size;
	GbeTlsFile tls[3] = {{0}};
	char *paths[3];
	int fds[3];

	for (guint i = 0; i < G_N_ELEMENTS(paths); i++) {
		const guint8 *nul =
		    i < 2 && end > bytes ? memchr(bytes, 0, (gsize)(end - bytes)) : NULL;
		const guint8 *stop = nul != NULL ? nul : end;

		paths[i] = file_of(bytes, (gsize)(stop - bytes), &fds[i]);
		bytes = nul != NULL ? nul + 1 : end;
	}
	gbe_certificates_look(paths[0], paths[1], paths[2], tls);
	for (guint i = 0; i < G_N_ELEMENTS(paths); i++) {
		/* Each result has its path, and a key has no date. */
		if (tls[i].path == NULL || (i == 2 && tls[i].expires != -1))
			abort();
		g_free(tls[i].path);
		g_free(tls[i].problem);
		g_free(paths[i]);
		(void)close(fds[i]);
	}
	return 0;
}

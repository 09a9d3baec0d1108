/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* make-db FILE ROWS KEYS VALUE-BYTES [COMPACTED [DELETE-EVERY [PAGE-SIZE [NOISE]]]]: a database as etcd would have
 * it after ROWS puts to KEYS keys in turns. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>

#include "lib/etcd-db.h"

int
main(int argc, char **argv)
{
	DbSpec spec = {.page_size = 4096};
	int fd;

	if (argc < 5 || argc > 9)
		return 2;
	spec.rows = g_ascii_strtoull(argv[2], NULL, 10);
	spec.keys = g_ascii_strtoull(argv[3], NULL, 10);
	spec.value = (gsize)g_ascii_strtoull(argv[4], NULL, 10);
	if (argc > 5)
		spec.compacted = g_ascii_strtoull(argv[5], NULL, 10);
	if (argc > 6)
		spec.delete_every = g_ascii_strtoull(argv[6], NULL, 10);
	if (argc > 7)
		spec.page_size = (guint32)g_ascii_strtoull(argv[7], NULL, 10);
	if (argc > 8)
		spec.noise = (gsize)g_ascii_strtoull(argv[8], NULL, 10);
	if (spec.keys == 0)
		return 2;
	fd = open(argv[1], O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	if (fd < 0) {
		perror(argv[1]);
		return 1;
	}
	db_write(&spec, fd);
	return close(fd) == 0 ? 0 : 1;
}

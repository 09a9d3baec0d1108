/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A log of any bytes. The first byte selects the form of the rest: the last segment as it is, or the types and contents
 * of records. Their frames and checksums are then made valid, so that the reader also looks at their content.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "etcd/wal/read.h"
#include "lib/fuzz-etcd.h"

#define NAME "0000000000000000-0000000000000000.wal"

static int dir_fd = -1;
static char *dir_path;

static void
remove_dir(void)
{
	(void)unlinkat(dir_fd, NAME, 0);
	(void)rmdir(dir_path);
	g_free(dir_path);
}

/* One directory serves all inputs: making and removing one takes longer than reading the log. Use TMPDIR=/dev/shm to
 * avoid the disk. */
static void
need_dir(void)
{
	if (dir_fd >= 0)
		return;
	dir_path = g_build_filename(g_get_tmp_dir(), "gbe-fuzz-wal-XXXXXX", NULL);
	if (g_mkdtemp(dir_path) != NULL)
		dir_fd = open(dir_path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (dir_fd < 0 || atexit(remove_dir) != 0)
		abort();
}

static void
put_file(const GByteArray *bytes)
{
	gbe_autofd int fd = openat(dir_fd, NAME, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	if (fd < 0 || (bytes->len > 0 && write(fd, bytes->data, bytes->len) != (ssize_t)bytes->len))
		abort();
}

int
LLVMFuzzerTestOneInput(const guint8 *data, gsize size)
{
	static const GbeVersion versions[] = {{0}, {3, 4, true}, {3, 5, true}};
	g_autoptr(GByteArray) bytes = g_byte_array_new();
	g_auto(GbeFindings) findings = {0};
	g_autoptr(GError) error = NULL;
	g_auto(GbeWal) wal = {0};
	guint32 crc = 0;

	if (size == 0)
		return 0;
	if (data[0] % 2 == 0)
		(void)g_byte_array_append(bytes, data + 1, (guint)size - 1);
	else
		fuzz_wal_records(bytes, data + 1, size - 1, &crc);
	need_dir();
	put_file(bytes);
	gbe_findings_init(&findings);
	if (!gbe_wal_read(dir_fd, "wal", versions[data[0] / 2 % 3], NULL, NULL, NULL, &wal,
			  &findings, &error))
		fuzz_fail("%s", error->message);
	/* An incomplete log is reported as such. */
	if (!wal.complete && gbe_findings_worst(&findings) < GBE_FINDING_DAMAGE)
		fuzz_fail("not complete, and nothing wrong");
	return 0;
}

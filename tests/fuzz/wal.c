/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A log of any bytes. The first byte says how: the rest is the last segment as it is, or it is the types
 * and contents of records, whose frames and checksums are made right, so that what they carry is looked
 * at and not only they.
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

/* One for all inputs: to make and remove one each time takes longer than to read the log. TMPDIR=/dev/shm, and
 * no disk has to do with it. */
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
	/* What is not whole is said to be so. */
	if (!wal.complete && gbe_findings_worst(&findings) < GBE_FINDING_DAMAGE)
		fuzz_fail("not complete, and nothing wrong");
	return 0;
}

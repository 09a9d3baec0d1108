/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A .snap file of any bytes: as they are, or with a head whose checksum is right. */
#include <string.h>
#include <sys/mman.h>

#include "etcd/wal/snapfile.h"
#include "lib/fuzz-etcd.h"

int
LLVMFuzzerTestOneInput(const guint8 *data, gsize size)
{
	g_autoptr(GByteArray) bytes = g_byte_array_new();
	g_autoptr(GbeSnapfile) snapfile = NULL;
	g_autoptr(GError) error = NULL;
	gbe_autofd int fd = memfd_create("snap", MFD_CLOEXEC);

	if (size == 0)
		return 0;
	if (data[0] % 2 == 0) {
		(void)g_byte_array_append(bytes, data + 1, (guint)size - 1);
	} else {
		fuzz_snap(bytes, data + 1, size - 1);
	}
	if (bytes->len > 0 && write(fd, bytes->data, bytes->len) != (ssize_t)bytes->len)
		fuzz_fail("cannot write");
	if (!gbe_snapfile_read(fd, "0000000000000002-0000000000001b63.snap", NULL, &snapfile,
			       &error))
		fuzz_fail("%s", error->message);
	/* Whole, or not; and if it is, then its configuration is there. */
	if (snapfile->fault == NULL && !snapfile->unknown && snapfile->conf.voters == NULL)
		fuzz_fail("sound, and no configuration");
	return 0;
}

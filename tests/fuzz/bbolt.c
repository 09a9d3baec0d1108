/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A database of any bytes. The checksums of the meta pages are made right, so that what they lead to is
 * looked at and not only they. With histories that need more than one pass: tests/unit/etcd-history.c.
 */
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "etcd/db/db.h"
#include "lib/fuzz-etcd.h"

static void
read_all(int fd, const GbeDbOptions *options)
{
	g_auto(GbeFindings) findings = {0};
	g_autoptr(GError) error = NULL;
	g_auto(GbeDb) db = {0};

	gbe_findings_init(&findings);
	if (!gbe_db_read(fd, "db", options, &db, &findings, &error))
		fuzz_fail("%s", error->message);
	/* A result without findings requires that the whole file was read. */
	if (options->level == GBE_VERIFY_FULL && !options->quick && db.present &&
	    gbe_findings_worst(&findings) <= GBE_FINDING_WARNING && !db.has_hash)
		fuzz_fail("sound, and no hash");
}

int
LLVMFuzzerTestOneInput(const guint8 *data, gsize size)
{
	GbeDbOptions options = {.level = GBE_VERIFY_FULL};
	g_autofree guint8 *bytes = NULL;
	static int fd = -1;

	if (fd < 0)
		fd = memfd_create("db", MFD_CLOEXEC);
	bytes = g_malloc(size + 1);
	if (size > 0)
		memcpy(bytes, data, size);
	fuzz_db_mend(bytes, size);
	if (ftruncate(fd, 0) < 0 || pwrite(fd, bytes, size, 0) != (ssize_t)size)
		fuzz_fail("cannot write");
	read_all(fd, &options);
	options.quick = true;
	read_all(fd, &options);
	options.level = GBE_VERIFY_SANITY;
	read_all(fd, &options);
	return 0;
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "fs/exchange.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>

#include "base/fault.h"
#include "fs/unprotect.h"
#include "fs/write.h"

#define PROBE_A GBE_TMP_PREFIX "rename-a"
#define PROBE_B GBE_TMP_PREFIX "rename-b"

bool
gbe_exchange_at(int dir_a, const char *a, int dir_b, const char *b, GError **error)
{
	int errsv = gbe_rename_unprotected(dir_a, a, dir_b, b, RENAME_EXCHANGE);

	switch (errsv) {
	case 0:
		return !GBE_FAULT("exchange-exchanged", error);
	case EBUSY:
		return gbe_throw(error, GBE_ERROR_UNSUPPORTED,
				 "%s and %s cannot change places: one of them is a mount point", a,
				 b);
	case EXDEV:
		return gbe_throw(error, GBE_ERROR_UNSUPPORTED,
				 "%s and %s cannot change places: they are on different file "
				 "systems, mounts or subvolumes",
				 a, b);
	case EINVAL:
	case ENOSYS:
		return gbe_throw(error, GBE_ERROR_UNSUPPORTED,
				 "%s and %s cannot change places: the file system cannot exchange "
				 "names",
				 a, b);
	default:
		return gbe_throw_errno(error, errsv, "%s and %s cannot change places", a, b);
	}
}

bool
gbe_rename_new_at(int from_dir, const char *from, int to_dir, const char *to, GError **error)
{
	int errsv = gbe_rename_unprotected(from_dir, from, to_dir, to, RENAME_NOREPLACE);

	switch (errsv) {
	case 0:
		return !GBE_FAULT("exchange-renamed", error);
	case EEXIST:
		return gbe_throw(error, GBE_ERROR_BUSY, "cannot rename %s to %s: that is there",
				 from, to);
	case EXDEV:
		return gbe_throw(error, GBE_ERROR_UNSUPPORTED,
				 "cannot rename %s to %s: they are on different file systems, "
				 "mounts or subvolumes",
				 from, to);
	case EINVAL:
	case ENOSYS:
		return gbe_throw(error, GBE_ERROR_UNSUPPORTED,
				 "cannot rename %s to %s: the file system cannot rename without "
				 "replacing",
				 from, to);
	default:
		return gbe_throw_errno(error, errsv, "cannot rename %s to %s", from, to);
	}
}

void
gbe_probe_rename_sweep(int dir_fd)
{
	(void)unlinkat(dir_fd, PROBE_A, AT_REMOVEDIR);
	(void)unlinkat(dir_fd, PROBE_B, AT_REMOVEDIR);
}

bool
gbe_probe_rename(int stage_dir, int parent_dir)
{
	bool works = false;

	/* A program that was killed here left its probe directories. */
	gbe_probe_rename_sweep(stage_dir);
	gbe_probe_rename_sweep(parent_dir);
	if (mkdirat(stage_dir, PROBE_A, 0700) == 0) {
		/* An exchange takes a rename in each direction. */
		works = mkdirat(parent_dir, PROBE_B, 0700) == 0 &&
			renameat2(stage_dir, PROBE_A, parent_dir, PROBE_B, RENAME_EXCHANGE) == 0;
		gbe_probe_rename_sweep(parent_dir);
		gbe_probe_rename_sweep(stage_dir);
	}
	return works;
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * db-read [--quick|--sanity] FILE: reads a database of etcd with the program's reader. Prints one line of JSON: the
 * figures that etcdctl prints, the time, and the peak memory. The bench compares with `etcdctl snapshot status`.
 */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include "etcd/db/db.h"

static double
now(void)
{
	struct timespec ts;

	(void)clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

int
main(int argc, char **argv)
{
	GbeDbOptions options = {.level = GBE_VERIFY_FULL};
	g_auto(GbeFindings) findings = {0};
	g_autoptr(GError) error = NULL;
	g_auto(GbeDb) db = {0};
	struct rusage usage;
	double started;
	int fd;

	if (argc == 3 && strcmp(argv[1], "--quick") == 0)
		options.quick = true;
	else if (argc == 3 && strcmp(argv[1], "--sanity") == 0)
		options.level = GBE_VERIFY_SANITY;
	else if (argc != 2)
		return 2;
	fd = open(argv[argc - 1], O_RDONLY | O_CLOEXEC);
	if (fd < 0) {
		perror(argv[argc - 1]);
		return 1;
	}
	gbe_findings_init(&findings);
	started = now();
	if (!gbe_db_read(fd, "db", &options, &db, &findings, &error)) {
		fprintf(stderr, "%s\n", error->message);
		return 1;
	}
	started = now() - started;
	(void)getrusage(RUSAGE_SELF, &usage);
	printf("{\"hash\":%u,\"revision\":%" G_GINT64_FORMAT ",\"totalKey\":%" G_GUINT64_FORMAT
	       ",\"totalSize\":%" G_GUINT64_FORMAT ",\"hash_kv\":%u,\"has_hash_kv\":%d,"
	       "\"compact_revision\":%" G_GINT64_FORMAT ",\"consistent_index\":%" G_GUINT64_FORMAT
	       ",\"live_keys\":%" G_GUINT64_FORMAT ",\"checked\":%u,\"read\":%" G_GUINT64_FORMAT
	       ",\"seconds\":%.4f,\"rss_kib\":%ld}\n",
	       db.snapshot_hash, db.revision, db.keys, db.total_size, db.hash_kv, db.has_hash_kv,
	       db.compact_revision, db.consistent_index, db.live_keys, db.checked, db.bytes_read,
	       started, usage.ru_maxrss);
	for (guint i = 0; i < findings.items->len; i++) {
		const GbeFinding *finding = g_ptr_array_index(findings.items, i);
		g_autofree char *text = gbe_finding_to_text(finding);

		fprintf(stderr, "%s: %s: %s\n", gbe_severity_to_string(finding->severity),
			finding->code, text);
	}
	return gbe_findings_worst(&findings) >= GBE_FINDING_DAMAGE ? 6 : 0;
}

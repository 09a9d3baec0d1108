/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Preloaded into the programs of a played device, so that its clock is another than the machine's:
 * GBE_TEST_CLOCK is added to CLOCK_REALTIME, in seconds, GBE_TEST_UPTIME to CLOCK_BOOTTIME. Devices boot in
 * 1970, and are told the time later; trials last weeks.
 */
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static long
offset(const char *name)
{
	const char *text = getenv(name);

	return text != NULL ? strtol(text, NULL, 10) : 0;
}

int
clock_gettime(clockid_t id, struct timespec *time)
{
	int r = (int)syscall(SYS_clock_gettime, id, time);

	if (r == 0 && (id == CLOCK_REALTIME || id == CLOCK_REALTIME_COARSE))
		time->tv_sec += offset("GBE_TEST_CLOCK");
	if (r == 0 && id == CLOCK_BOOTTIME)
		time->tv_sec += offset("GBE_TEST_UPTIME");
	return r;
}

time_t
time(time_t *ret)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_REALTIME, &now);
	if (ret != NULL)
		*ret = now.tv_sec;
	return now.tv_sec;
}

int
gettimeofday(struct timeval *restrict ret, void *restrict zone)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_REALTIME, &now);
	ret->tv_sec = now.tv_sec;
	ret->tv_usec = now.tv_nsec / 1000;
	return 0;
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The time that libcurl signs with. A server refuses a signature that is more than 15 minutes old, and a device may
 * have started with a wrong clock. libcurl asks time(2) alone: a header of our own with another date is sent beside
 * libcurl's, and refused (curl issue 11738). The program therefore has a time() of its own, which adds what the server's
 * clock is ahead. GLib and this program take their time from clock_gettime(2), which stays as it is.
 */
#pragma once

#include <glib.h>

/* @seconds: how far time() is ahead of the device's clock from now on, for the whole process. */
void gbe_bucket_set_clock(gint64 seconds);

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * CRC-32C (Castagnoli, RFC 3720 appendix B.4). etcd uses it in its write-ahead log, its .snap files
 * and its hashes. The sum comes from the instruction of SSE4.2 on a processor that has it, else from tables.
 */
#pragma once

#include <glib.h>

/* Continues @crc (0 at the start) over @size bytes. Two calls on two pieces give the sum of both together. */
guint32 gbe_crc32c(guint32 crc, const void *data, gsize size);

/* @difference is the exclusive or of two sums. Returns the difference after both sums have read the same @size bytes
 * more. The sum of a stream thus gives the sum of the same stream from another start: b_end = a_end ^
 * gbe_crc32c_shift(a_start ^ b_start, size). */
guint32 gbe_crc32c_shift(guint32 difference, guint64 size);

/* The same sum from tables, on every machine. Tests compare both. */
guint32 gbe_crc32c_portable(guint32 crc, const void *data, gsize size);

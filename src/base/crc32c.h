/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * CRC-32C (Castagnoli, RFC 3720 appendix B.4), which etcd uses in its write-ahead log, its .snap files
 * and its hashes. The processor's instruction where it has one, found out at run time; tables else.
 */
#pragma once

#include <glib.h>
#include <stdbool.h>

/* Continues @crc, 0 at first, over @size bytes: the sum of two pieces is that of both together. */
guint32 gbe_crc32c(guint32 crc, const void *data, gsize size);

/* What the difference (exclusive or) of two sums becomes when both go on over the same @size bytes. So
 * the sum over a stream says what another start of the same stream would have come to:
 * b_end = a_end ^ gbe_crc32c_shift(a_start ^ b_start, size). */
guint32 gbe_crc32c_shift(guint32 difference, guint64 size);

/* The same from tables, on every machine: what the tests compare with. */
guint32 gbe_crc32c_portable(guint32 crc, const void *data, gsize size);
/* Does gbe_crc32c() use an instruction of the processor? */
bool gbe_crc32c_is_hardware(void);

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/crc32c.h"

#include <string.h>

#ifdef __x86_64__
#include <immintrin.h>
#endif

/* The polynomial with reversed bits, in the order that the sum uses: bit 31 is x^0. */
#define POLYNOMIAL 0x82F63B78U
#define ONE 0x80000000U

static inline guint64
load64(const guint8 *at)
{
	guint64 word;

	memcpy(&word, at, sizeof(word));
	return GUINT64_FROM_LE(word);
}

guint32
gbe_crc32c_portable(guint32 crc, const void *data, gsize size)
{
	static guint32 table[8][256];
	static gsize ready;
	const guint8 *at = data;
	guint32 state = ~crc;

	if (g_once_init_enter(&ready)) {
		for (guint32 i = 0; i < 256; i++) {
			table[0][i] = i;
			for (guint bit = 0; bit < 8; bit++)
				table[0][i] =
				    (table[0][i] >> 1) ^ ((table[0][i] & 1) != 0 ? POLYNOMIAL : 0);
		}
		for (guint slice = 1; slice < 8; slice++)
			for (guint32 i = 0; i < 256; i++) {
				guint32 before = table[slice - 1][i];

				table[slice][i] = (before >> 8) ^ table[0][before & 0xff];
			}
		g_once_init_leave(&ready, 1);
	}
	for (; size >= 8; at += 8, size -= 8) {
		guint64 word = load64(at) ^ state;

		state = 0;
		for (guint slice = 0; slice < 8; slice++)
			state ^= table[7 - slice][(word >> (8 * slice)) & 0xff];
	}
	for (; size > 0; at++, size--)
		state = (state >> 8) ^ table[0][(state ^ *at) & 0xff];
	return ~state;
}

#ifdef __x86_64__
/* The instruction takes three cycles, and the processor can start one in each. So three pieces are summed at a time.
 * The sums of the first two are then moved over the bytes that follow them: multiplied by x^(8 * bytes). The factors
 * are x^(8 * bytes - 33): a carry-less product has one bit less than its word, and the instruction adds x^32. */
#define PIECE 1024U
#define OVER_ONE_PIECE 0x170076faU
#define OVER_TWO_PIECES 0xa51b6135U

static __attribute__((target("sse4.2,pclmul"))) guint32
crc32c_sse42(guint32 crc, const guint8 *at, gsize size)
{
	const __m128i factors = _mm_set_epi64x(OVER_TWO_PIECES, OVER_ONE_PIECE);
	guint64 state = ~crc;

	for (; size >= 3 * PIECE; at += 3 * PIECE, size -= 3 * PIECE) {
		guint64 second = 0, third = 0;
		__m128i sums;

		for (gsize i = 0; i < PIECE; i += 8) {
			state = _mm_crc32_u64(state, load64(at + i));
			second = _mm_crc32_u64(second, load64(at + PIECE + i));
			third = _mm_crc32_u64(third, load64(at + 2 * PIECE + i));
		}
		sums = _mm_set_epi64x((gint64)state, (gint64)second);
		sums = _mm_xor_si128(_mm_clmulepi64_si128(sums, factors, 0x11),
				     _mm_clmulepi64_si128(sums, factors, 0x00));
		state = _mm_crc32_u64(0, (guint64)_mm_cvtsi128_si64(sums)) ^ third;
	}
	for (; size >= 8; at += 8, size -= 8)
		state = _mm_crc32_u64(state, load64(at));
	for (; size > 0; at++, size--)
		state = _mm_crc32_u8((guint32)state, *at);
	return ~(guint32)state;
}
#endif

guint32
gbe_crc32c(guint32 crc, const void *data, gsize size)
{
#ifdef __x86_64__
	if (__builtin_cpu_supports("sse4.2") && __builtin_cpu_supports("pclmul"))
		return crc32c_sse42(crc, data, size);
#endif
	return gbe_crc32c_portable(crc, data, size);
}

/* a*b modulo the polynomial. */
static guint32
multiply(guint32 a, guint32 b)
{
	guint32 product = 0;

	for (guint32 bit = ONE; bit != 0; bit >>= 1) {
		if ((a & bit) != 0)
			product ^= b;
		b = (b >> 1) ^ ((b & 1) != 0 ? POLYNOMIAL : 0);
	}
	return product;
}

guint32
gbe_crc32c_shift(guint32 difference, guint64 size)
{
	/* x^8, by which a byte multiplies; then its squares, for two bytes, for four... */
	guint32 power = ONE >> 8;

	for (; size != 0; size >>= 1) {
		if ((size & 1) != 0)
			difference = multiply(difference, power);
		power = multiply(power, power);
	}
	return difference;
}

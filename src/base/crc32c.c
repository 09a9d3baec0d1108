/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/crc32c.h"

#include <string.h>

#if defined(__x86_64__)
#include <immintrin.h>
#elif defined(__aarch64__)
#include <arm_acle.h>
#include <sys/auxv.h>
#ifndef HWCAP_CRC32
#define HWCAP_CRC32 (1 << 7)
#endif
#endif

/* The polynomial with reversed bits, in the order that the sum uses: bit 31 is x^0. */
#define POLYNOMIAL 0x82F63B78U
#define ONE 0x80000000U

typedef guint32 (*Update)(guint32 state, const guint8 *at, gsize size);

static struct {
	Update update;
	bool hardware;
	guint32 table[8][256];
	/* x^(8*2^i) modulo the polynomial. */
	guint32 power[64];
} self;

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

static void
make_tables(void)
{
	for (guint32 i = 0; i < 256; i++) {
		guint32 crc = i;

		for (guint bit = 0; bit < 8; bit++)
			crc = (crc >> 1) ^ ((crc & 1) != 0 ? POLYNOMIAL : 0);
		self.table[0][i] = crc;
	}
	for (guint32 i = 0; i < 256; i++)
		for (guint slice = 1; slice < 8; slice++) {
			guint32 before = self.table[slice - 1][i];

			self.table[slice][i] = (before >> 8) ^ self.table[0][before & 0xff];
		}
	self.power[0] = ONE >> 8;
	for (guint i = 1; i < G_N_ELEMENTS(self.power); i++)
		self.power[i] = multiply(self.power[i - 1], self.power[i - 1]);
}

static inline guint64
load64(const guint8 *at)
{
	guint64 word;

	memcpy(&word, at, sizeof(word));
	return GUINT64_FROM_LE(word);
}

static guint32
update_portable(guint32 state, const guint8 *at, gsize size)
{
	for (; size >= 8; at += 8, size -= 8) {
		guint64 word = load64(at) ^ state;

		state = 0;
		for (guint slice = 0; slice < 8; slice++)
			state ^= self.table[7 - slice][(word >> (8 * slice)) & 0xff];
	}
	for (; size > 0; at++, size--)
		state = (state >> 8) ^ self.table[0][(state ^ *at) & 0xff];
	return state;
}

#if defined(__x86_64__)

/* The instruction takes three cycles, and the processor can start one in each cycle. So three pieces are summed side
 * by side, and then joined: the sums of the first two are moved over the bytes that follow them. */
#define LONG_PIECE 1024U
#define SHORT_PIECE 128U

/* x^(8*size-33). The factor corrects two shifts: a carry-less product has one bit less than its word, and the
 * instruction multiplies the product by x^32. */
static struct {
	guint32 once, twice;
} join_long, join_short;
static guint32 power_33[64];

#define SSE42 __attribute__((target("sse4.2,pclmul")))

static inline SSE42 guint32
multiply_x33(guint32 a, guint32 b)
{
	__m128i product =
	    _mm_clmulepi64_si128(_mm_cvtsi32_si128((int)a), _mm_cvtsi32_si128((int)b), 0);

	return (guint32)_mm_crc32_u64(0, (guint64)_mm_cvtsi128_si64(product));
}

static inline SSE42 const guint8 *
three_pieces(guint32 *state, const guint8 *at, gsize piece, guint32 once, guint32 twice)
{
	guint64 a = *state;
	guint64 b = 0;
	guint64 c = 0;

	for (const guint8 *end = at + piece; at < end; at += 8) {
		a = _mm_crc32_u64(a, load64(at));
		b = _mm_crc32_u64(b, load64(at + piece));
		c = _mm_crc32_u64(c, load64(at + 2 * piece));
	}
	*state = multiply_x33((guint32)a, twice) ^ multiply_x33((guint32)b, once) ^ (guint32)c;
	return at + 2 * piece;
}

static SSE42 guint32
update_sse42(guint32 state, const guint8 *at, gsize size)
{
	guint64 wide;

	for (; size >= 3 * LONG_PIECE; size -= 3 * LONG_PIECE)
		at = three_pieces(&state, at, LONG_PIECE, join_long.once, join_long.twice);
	for (; size >= 3 * SHORT_PIECE; size -= 3 * SHORT_PIECE)
		at = three_pieces(&state, at, SHORT_PIECE, join_short.once, join_short.twice);
	wide = state;
	for (; size >= 8; at += 8, size -= 8)
		wide = _mm_crc32_u64(wide, load64(at));
	state = (guint32)wide;
	for (; size > 0; at++, size--)
		state = _mm_crc32_u8(state, *at);
	return state;
}

/* x^-1. The polynomial contains x^0, so a shift the other way divides by x. */
static guint32
divide_by_x(guint32 value, guint times)
{
	for (guint i = 0; i < times; i++)
		value = (value & ONE) != 0 ? ((value ^ POLYNOMIAL) << 1) | 1 : value << 1;
	return value;
}

static guint32
power_of(guint32 bytes)
{
	guint32 power = ONE;

	for (guint i = 0; bytes >> i != 0; i++)
		if ((bytes >> i & 1) != 0)
			power = multiply(power, self.power[i]);
	return power;
}

static void
choose(void)
{
	if (!__builtin_cpu_supports("sse4.2") || !__builtin_cpu_supports("pclmul"))
		return;
	join_long.once = divide_by_x(power_of(LONG_PIECE), 33);
	join_long.twice = divide_by_x(power_of(2 * LONG_PIECE), 33);
	join_short.once = divide_by_x(power_of(SHORT_PIECE), 33);
	join_short.twice = divide_by_x(power_of(2 * SHORT_PIECE), 33);
	for (guint i = 0; i < G_N_ELEMENTS(power_33); i++)
		power_33[i] = divide_by_x(self.power[i], 33);
	self.update = update_sse42;
	self.hardware = true;
}

static inline guint32
move_by(guint32 difference, guint i)
{
	return self.hardware ? multiply_x33(difference, power_33[i])
			     : multiply(difference, self.power[i]);
}

#else

#if defined(__aarch64__)

static __attribute__((target("+crc"))) guint32
update_armv8(guint32 state, const guint8 *at, gsize size)
{
	for (; size >= 8; at += 8, size -= 8)
		state = __crc32cd(state, load64(at));
	for (; size > 0; at++, size--)
		state = __crc32cb(state, *at);
	return state;
}

static void
choose(void)
{
	if ((getauxval(AT_HWCAP) & HWCAP_CRC32) == 0)
		return;
	self.update = update_armv8;
	self.hardware = true;
}

#else

static void
choose(void)
{
}

#endif

static inline guint32
move_by(guint32 difference, guint i)
{
	return multiply(difference, self.power[i]);
}

#endif

static void
get_ready(void)
{
	static gsize ready;

	if (g_once_init_enter(&ready)) {
		self.update = update_portable;
		make_tables();
		choose();
		g_once_init_leave(&ready, 1);
	}
}

guint32
gbe_crc32c(guint32 crc, const void *data, gsize size)
{
	get_ready();
	return ~self.update(~crc, data, size);
}

guint32
gbe_crc32c_portable(guint32 crc, const void *data, gsize size)
{
	get_ready();
	return ~update_portable(~crc, data, size);
}

guint32
gbe_crc32c_shift(guint32 difference, guint64 size)
{
	get_ready();
	for (guint i = 0; size != 0; i++, size >>= 1)
		if ((size & 1) != 0)
			difference = move_by(difference, i);
	return difference;
}

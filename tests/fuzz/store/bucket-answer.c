/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The XML of an object store, in one piece, and in pieces as long as the first byte says: both give the same. */
#include "lib/fuzz.h"
#include "store/bucket/answer.h"

#include <string.h>

#define DEPTH_MAX 8
#define TEXT_MAX 8192

typedef struct {
	GString *seen;
	guint roots;
} Seen;

static void
take(const char *name, guint depth, const char *text, gpointer data)
{
	Seen *seen = data;

	if (depth >= DEPTH_MAX || strlen(text) > TEXT_MAX || !g_utf8_validate(text, -1, NULL))
		fuzz_fail("%u %s", depth, name);
	seen->roots += depth == 0;
	g_string_append_printf(seen->seen, "%u %s=%s\n", depth, name, text);
}

/* Returns the elements, or NULL if the answer is invalid. */
static GString *
read_in_pieces(const guint8 *bytes, gsize size, gsize piece)
{
	Seen seen = {.seen = g_string_new(NULL)};
	g_autoptr(GString) text = seen.seen;
	g_autoptr(GbeAnswer) answer = gbe_answer_new("ListBucketResult", take, &seen);
	g_autoptr(GError) error = NULL;
	bool going = true;

	for (gsize at = 0; going && at < size; at += piece)
		going = gbe_answer_push(answer, bytes + at, MIN(piece, size - at));
	if (!gbe_answer_end(answer, &error)) {
		if (!g_error_matches(error, GBE_ERROR, GBE_ERROR_CANNOT_TELL))
			fuzz_fail("refused without a word");
		return NULL;
	}
	if (!going || seen.roots != 1)
		fuzz_fail("%u roots", seen.roots);
	return g_steal_pointer(&text);
}

int
LLVMFuzzerTestOneInput(const guint8 *bytes, gsize size)
{
	g_autoptr(GString) whole = NULL;
	g_autoptr(GString) pieces = NULL;

	if (size == 0)
		return 0;
	whole = read_in_pieces(bytes + 1, size - 1, size);
	pieces = read_in_pieces(bytes + 1, size - 1, (gsize)bytes[0] + 1);
	if ((whole == NULL) != (pieces == NULL) ||
	    (whole != NULL && !g_string_equal(whole, pieces)))
		fuzz_fail("\"%s\" or \"%s\"", whole != NULL ? whole->str : "(none)",
			  pieces != NULL ? pieces->str : "(none)");
	return 0;
}

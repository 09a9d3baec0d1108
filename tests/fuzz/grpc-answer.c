/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Lines up to an empty one are headers; the rest is the answer, in pieces as long as the first byte says. */
#include "etcd/api/grpc.h"
#include "lib/fuzz.h"

#include <stdlib.h>
#include <string.h>

#define LIMIT 4096

static bool
take(const guint8 *message, gsize size, gpointer data)
{
	if (size > LIMIT)
		abort();
	return true;
}

int
LLVMFuzzerTestOneInput(const guint8 *bytes, gsize size)
{
	g_auto(GbeGrpcAnswer) answer = {0};
	const guint8 *end = bytes + size;
	gsize piece;

	if (size == 0)
		return 0;
	piece = (gsize)*bytes++ + 1;
	gbe_grpc_answer_init(&answer, LIMIT, take, NULL);
	while (bytes < end && *bytes != '\n') {
		const guint8 *newline = memchr(bytes, '\n', (gsize)(end - bytes));
		const guint8 *stop = newline != NULL ? newline : end;

		gbe_grpc_answer_header((const char *)bytes, (gsize)(stop - bytes), &answer);
		bytes = stop == end ? end : stop + 1;
	}
	for (bytes += bytes < end; bytes < end; bytes += MIN(piece, (gsize)(end - bytes)))
		if (!gbe_grpc_answer_push(bytes, MIN(piece, (gsize)(end - bytes)), &answer))
			break;
	if (answer.message->len > LIMIT)
		abort();
	return 0;
}

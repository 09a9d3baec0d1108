/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Any bytes as a message, and its fields as messages again. */
#include "etcd/protobuf.h"
#include "lib/fuzz.h"

#include <stdlib.h>

static void
walk(const guint8 *bytes, gsize size, guint depth)
{
	GbeProtobuf pb = gbe_protobuf_begin(bytes, size);

	while (gbe_protobuf_next(&pb)) {
		if (pb.number == 0 || pb.at > pb.end)
			abort();
		if (pb.type != GBE_WIRE_BYTES)
			continue;
		if (pb.data < bytes || pb.data + pb.size > bytes + size)
			abort();
		if (depth > 0)
			walk(pb.data, pb.size, depth - 1);
	}
	if (pb.bad == (pb.at == pb.end))
		abort();
}

int
LLVMFuzzerTestOneInput(const guint8 *bytes, gsize size)
{
	walk(bytes, size, 3);
	return 0;
}

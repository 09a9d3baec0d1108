/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Any bytes as a message, and what lies in it as messages, too. */
#include "etcd/protobuf.h"
#include "lib/fuzz.h"

#include <stdlib.h>

static void
walk(const guint8 *bytes, gsize size, guint depth)
{
	GbeFieldResult result;
	GbeProtobuf pb;
	GbeField field;

	gbe_protobuf_init(&pb, bytes, size);
	while ((result = gbe_protobuf_next(&pb, &field)) == GBE_FIELD_NEXT) {
		if (field.number == 0 || pb.at > pb.end)
			abort();
		if (field.type != GBE_WIRE_BYTES)
			continue;
		if (field.data < bytes || field.data + field.size > bytes + size)
			abort();
		if (depth > 0)
			walk(field.data, field.size, depth - 1);
	}
	if ((result == GBE_FIELD_END) != (pb.at == pb.end))
		abort();
}

int
LLVMFuzzerTestOneInput(const guint8 *bytes, gsize size)
{
	walk(bytes, size, 3);
	return 0;
}

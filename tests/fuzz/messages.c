/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The first byte says which answer of etcd's the rest is to be. */
#include "etcd/api/messages.h"
#include "lib/fuzz.h"

int
LLVMFuzzerTestOneInput(const guint8 *bytes, gsize size)
{
	union {
		GbeEtcdHeader header;
		GbeEtcdStatus status;
		GbeEtcdAlarms alarms;
		GbeEtcdMembers members;
		GbeEtcdHashKv hash;
		GbeEtcdRange range;
	} data;
	GbeMessage message;

	if (size == 0)
		return 0;
	message = (GbeMessage)(*bytes % GBE_N_MESSAGES);
	if (gbe_message_from_protobuf(message, bytes + 1, size - 1, &data, NULL))
		gbe_message_clear(message, &data);
	return 0;
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The first byte says which answer of etcd's the rest is to be, and in which form. */
#include "etcd/messages.h"
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
	gboolean json;
	bool ok;

	if (size == 0)
		return 0;
	message = (GbeMessage)(*bytes % GBE_N_MESSAGES);
	json = *bytes / GBE_N_MESSAGES % 2 == 1;
	ok = json ? gbe_message_from_json(message, (const char *)bytes + 1, size - 1, &data, NULL)
		  : gbe_message_from_protobuf(message, bytes + 1, size - 1, &data, NULL);
	if (ok)
		gbe_message_clear(message, &data);
	return 0;
}

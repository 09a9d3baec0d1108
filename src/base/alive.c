/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/alive.h"

static struct {
	GbeAlive tell;
	gpointer data;
} listener;

void
gbe_alive_set(GbeAlive tell, gpointer data)
{
	listener.tell = tell;
	listener.data = data;
}

void
gbe_alive(guint64 amount)
{
	if (listener.tell != NULL)
		listener.tell(amount, listener.data);
}

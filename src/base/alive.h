/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Signs of life from work that reports no progress of its own: names listed or removed, bytes read.
 * A watched worker sets one listener for them. Without a listener, gbe_alive() does nothing.
 */
#pragma once

#include <glib.h>

typedef void (*GbeAlive)(guint64 amount, gpointer data);

void gbe_alive_set(GbeAlive tell, gpointer data);
/* Reports that @amount of work is done: names or bytes. Cheap enough to call for each name. */
void gbe_alive(guint64 amount);

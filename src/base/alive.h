/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Signs of life from work that has no progress of its own: names that are listed or removed, bytes that
 * are read. A worker that is watched says once whom they are told to; without that they go nowhere.
 */
#pragma once

#include <glib.h>

typedef void (*GbeAlive)(guint64 amount, gpointer data);

void gbe_alive_set(GbeAlive tell, gpointer data);
/* Some @amount of work is done: names or bytes. Cheap enough for each name. */
void gbe_alive(guint64 amount);

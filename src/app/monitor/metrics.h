/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The text file for Prometheus' node_exporter ([metrics] textfile): etcd's health and the backups. An unknown value
 * has no line. The names are in greenboot-etcd-monitor(8).
 */
#pragma once

#include "app/backup/observe.h"
#include "app/health/look.h"

/* The text; newly allocated. @look: at etcd just now. @observed: NULL when observing failed; etcd's part is then
 * still written. */
char *gbe_metrics_text(const GbeHealthLook *look, GbeObserved *observed);

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What Prometheus' node_exporter takes from a file ([metrics] textfile): etcd's health and the backups. What is
 * not known has no line. The names are in greenboot-etcd-prerun(8).
 */
#pragma once

#include "app/health-look.h"
#include "app/observe.h"

/* The text; newly allocated. @look: of just now. @observed: NULL where that failed: etcd's part is there all the
 * same. @last: may be empty. */
char *gbe_metrics_text(const GbeHealthLook *look, GbeObserved *observed);

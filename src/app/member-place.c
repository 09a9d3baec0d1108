/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "app/member.h"

#include <errno.h>
#include <stdio.h>

#include "app/prerun-done.h"
#include "app/use-cases.h"
#include "core/record.h"
#include "sys/events.h"

/* A developer's data elsewhere is nothing that prerun would know of. */
static gboolean
is_protected(const GbeMember *member)
{
	const GbeConfig *config = member->app->config;

	return config->etcd.service != NULL && *config->etcd.service != '\0' &&
	       gbe_etcd_command_check(&member->command, config, NULL);
}

bool
gbe_member_execute(GbeMember *member, GError **error)
{
	g_autoptr(JsonObject) done = NULL;

	if (!gbe_member_check_addresses(member, error))
		return false;
	member->protected = is_protected(member);
	if (member->protected) {
		gbe_events_init("prerun", FALSE, FALSE, 0);
		if (gbe_prerun_start(NULL, member->app->config_file) != 0) {
			done = gbe_prerun_done_read(member->app);
			return gbe_throw(error, GBE_ERROR_REFUSED, "prerun holds etcd back: %s",
					 done != NULL ? gbe_json_string(done, "reason", "see above")
						      : "see above");
		}
	}
	(void)fflush(NULL);
	(void)execve(member->argv[0], member->argv, member->environment);
	return gbe_throw_errno(error, errno, "cannot start %s", member->argv[0]);
}

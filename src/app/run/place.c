/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "app/run/member.h"

#include <errno.h>
#include <stdio.h>

#include "app/boot/boot.h"
#include "app/state/state.h"
#include "core/json/parse.h"
#include "sys/systemd/events.h"

/* prerun does not know a developer's data in another place. */
static bool
is_protected(const GbeMember *member)
{
	const GbeConfig *config = member->app->config;

	return !gbe_config_is_off(config) && gbe_etcd_command_check(&member->command, config, NULL);
}

bool
gbe_member_execute(GbeMember *member, GError **error)
{
	g_autoptr(JsonObject) done = NULL;

	member->protected = is_protected(member);
	if (member->protected) {
		gbe_events_init("prerun", false, false, 0);
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

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "app/report/verified.h"

#include "app/backup/damage.h"
#include "app/report/status.h"
#include "core/decide/situation.h"
#include "sys/systemd/events.h"

static const GbeFinding *
damage_of(const GbeVerification *verification)
{
	const GbeFinding *worst = gbe_findings_first(&verification->findings);

	return verification->kind == GBE_VERIFY_BACKUP && worst != NULL &&
		       worst->severity == GBE_FINDING_DAMAGE
		   ? worst
		   : NULL;
}

static char *
advice(const GbeManifest *other)
{
	if (other == NULL)
		return g_strdup("do not restore it; there is no good backup that is not damaged: "
				"`greenboot-etcd backup --stop` makes one of the present data");
	return g_strdup_printf("do not restore it; the newest good backup that is not damaged is "
			       "%s (`greenboot-etcd restore %s`)",
			       other->name, other->name);
}

void
gbe_verified_record(GbeApp *app, GbeObserved *observed, const GPtrArray *verifications)
{
	guint damaged = 0;

	for (guint i = 0; i < verifications->len; i++) {
		const GbeVerification *verification = verifications->pdata[i];
		const GbeFinding *finding = damage_of(verification);
		g_autofree char *why = finding != NULL ? gbe_finding_to_text(finding) : NULL;
		g_autoptr(GError) error = NULL;

		if (finding == NULL)
			continue;
		damaged++;
		if (!gbe_damage_record(app, observed, verification->name, why, "verify", &error))
			gbe_complain("that %s is damaged is not recorded: %s", verification->name,
				     error->message);
	}
	for (guint i = 0; i < verifications->len; i++) {
		GbeVerification *verification = verifications->pdata[i];

		if (damage_of(verification) == NULL)
			continue;
		g_free(verification->advice);
		verification->advice = advice(gbe_situation_last_good(observed->facts));
	}
	if (damaged > 0)
		gbe_status_refresh(app, observed, "verify");
}

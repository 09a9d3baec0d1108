# SPDX-License-Identifier: LGPL-2.1-or-later
#
# A plugin of sos: what `greenboot-etcd diagnose` collects goes into the report. It has no key and no
# value of etcd in it, no secret that the program knows of, and is below 1 MiB as a rule.

from sos.report.plugins import Plugin, RedHatPlugin, DebianPlugin


class GreenbootEtcd(Plugin, RedHatPlugin, DebianPlugin):

    short_desc = 'Backups of etcd that follow ostree deployments'

    plugin_name = 'greenboot_etcd'
    profiles = ('boot', 'storage')
    packages = ('greenboot-etcd',)
    commands = ('greenboot-etcd',)

    def setup(self):
        self.add_cmd_output(
            'greenboot-etcd diagnose --output=-',
            suggest_filename='diagnosis.tar.gz',
            binary=True,
            stderr=False,
            timeout=120,
        )

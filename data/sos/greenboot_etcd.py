# SPDX-License-Identifier: LGPL-2.1-or-later
#
# A plugin of sos that adds the output of `greenboot-etcd diagnose` to the report. The output has no keys and values of
# etcd and no known secrets, and is usually smaller than 1 MiB.

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

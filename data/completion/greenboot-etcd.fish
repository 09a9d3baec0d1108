# SPDX-License-Identifier: LGPL-2.1-or-later
# fish completion for greenboot-etcd(8). Only names of backups and units are asked for; the rest is in this table.

# Written by `make completions`
function __greenboot_etcd_row
	switch "$argv"
		case verbs
			printf '%s\n' status list show verify explain log config health preflight rehearse etcdctl endpoint diagnose backup restore undo snapshot export import run defrag alarm certs mark pin unpin delete prune help version +store +cluster +member
		case '+certs'
			printf '%s\n' list init renew rotate-ca issue sign reset export --undo --timeout= --force --ca-cert=@file --ca-key=@file --token=@file --seal --client --server --peer --host= --for= --out=@directory --dry-run -n
		case '+certs export'
			printf '%s\n' :@file
		case '+certs init'
			printf '%s\n' --ca-cert=@file --ca-key=@file --seal --for= --dry-run -n
		case '+certs issue'
			printf '%s\n' : --client --server --peer --host= --for= --out=@directory
		case '+certs list'
			printf '%s\n' 
		case '+certs renew'
			printf '%s\n' --timeout= --force --dry-run -n
		case '+certs reset'
			printf '%s\n' --undo --timeout= --dry-run -n
		case '+certs rotate-ca'
			printf '%s\n' --undo --timeout= --force --ca-cert=@file --ca-key=@file --token=@file --seal --for= --dry-run -n
		case '+certs sign'
			printf '%s\n' :@file --client --server --peer --host= --for= --out=@file
		case '+cluster'
			printf '%s\n' status init join rejoin token leave reset recover lock unlock --name= --peer-url= --client-url= --from=@backup,@file --token=@file --data=@directory --timeout= --force --for-update --if-needed --dry-run -n
		case '+cluster init'
			printf '%s\n' --name= --peer-url= --client-url= --from=@backup,@file --timeout= --dry-run -n
		case '+cluster join'
			printf '%s\n' : --name= --peer-url= --client-url= --token=@file --timeout= --dry-run -n
		case '+cluster leave'
			printf '%s\n' --timeout= --force --dry-run -n
		case '+cluster lock'
			printf '%s\n' --for-update --dry-run -n
		case '+cluster recover'
			printf '%s\n' --name= --peer-url= --client-url= --data=@directory --timeout= --force --dry-run -n
		case '+cluster rejoin'
			printf '%s\n' : --token=@file --timeout= --force --if-needed --dry-run -n
		case '+cluster reset'
			printf '%s\n' --force --dry-run -n
		case '+cluster status'
			printf '%s\n' 
		case '+cluster token'
			printf '%s\n' :@file
		case '+cluster unlock'
			printf '%s\n' --force --dry-run -n
		case '+member'
			printf '%s\n' list add promote update remove replace --name= --voter --wait= --force --no-backup --dry-run -n
		case '+member add'
			printf '%s\n' : ... --name= --voter --wait= --force --no-backup --dry-run -n
		case '+member list'
			printf '%s\n' 
		case '+member promote'
			printf '%s\n' : --wait= --force --no-backup --dry-run -n
		case '+member remove'
			printf '%s\n' : --wait= --force --no-backup --dry-run -n
		case '+member replace'
			printf '%s\n' : : ... --name= --voter --wait= --force --no-backup --dry-run -n
		case '+member update'
			printf '%s\n' : : ... --force --dry-run -n
		case '+store'
			printf '%s\n' list push pull verify send prune requests --store=@directory --timeout= --identity=@file --device= --queue --wait --dry-run -n
		case '+store list'
			printf '%s\n' --store=@directory --timeout=
		case '+store prune'
			printf '%s\n' --store=@directory --timeout= --dry-run -n
		case '+store pull'
			printf '%s\n' :latest :@file --store=@directory --timeout= --identity=@file --device=
		case '+store push'
			printf '%s\n' :@backup,@file --store=@directory --timeout= --queue
		case '+store requests'
			printf '%s\n' list run delete --store=@directory --timeout= --dry-run -n
		case '+store requests delete'
			printf '%s\n' : --store=@directory --timeout= --dry-run -n
		case '+store requests list'
			printf '%s\n' --store=@directory --timeout=
		case '+store requests run'
			printf '%s\n' --store=@directory --timeout=
		case '+store send'
			printf '%s\n' --timeout= --wait
		case '+store verify'
			printf '%s\n' :latest --store=@directory --timeout= --identity=@file --device=
		case '-'
			printf '%s\n' --root=@directory --config=@file --json --quiet -q --verbose -v --help -h --version -V
		case 'alarm'
			printf '%s\n' list clear --no-backup --timeout= --dry-run -n
		case 'alarm clear'
			printf '%s\n' --no-backup --timeout= --dry-run -n
		case 'alarm list'
			printf '%s\n' 
		case 'backup'
			printf '%s\n' : --description= -d= --stop --live --pin --digest --dry-run -n
		case 'certs'
			printf '%s\n' list reset export --undo --timeout= --dry-run -n
		case 'certs export'
			printf '%s\n' :@file
		case 'certs list'
			printf '%s\n' 
		case 'certs reset'
			printf '%s\n' --undo --timeout= --dry-run -n
		case 'config'
			printf '%s\n' --check
		case 'create'
			printf '%s\n' : --description= -d= --stop --live --pin --digest --dry-run -n
		case 'defrag'
			printf '%s\n' :@backup : --data --if-needed --no-backup --timeout= --dry-run -n
		case 'delete'
			printf '%s\n' :@backup ... --force --dry-run -n
		case 'diagnose'
			printf '%s\n' :@file --output=@file -o=@file
		case 'endpoint'
			printf '%s\n' status
		case 'endpoint status'
			printf '%s\n' 
		case 'etcdctl'
			printf '%s\n' : ...
		case 'explain'
			printf '%s\n' --booted=rollback,staged --verdict=green,red,none --return=deliberate,accidental --full
		case 'export'
			printf '%s\n' :@backup :@file --drop-wal --v3-only --timeout= --force
		case 'health'
			printf '%s\n' --wait=
		case 'help'
			printf '%s\n' : ...
		case 'import'
			printf '%s\n' :@file : --no-checksum --etcd-only --keep-owners --bump-revision= --mark-compacted --timeout=
		case 'list'
			printf '%s\n' --exclusive --deployment= --grade=good,unproven,bad,unreadable --names --full
		case 'log'
			printf '%s\n' --since= --backup=@backup --full
		case 'ls'
			printf '%s\n' --exclusive --deployment= --grade=good,unproven,bad,unreadable --names --full
		case 'mark'
			printf '%s\n' good bad --reason= --dry-run -n
		case 'mark bad'
			printf '%s\n' :@backup --reason= --dry-run -n
		case 'mark good'
			printf '%s\n' :@backup --reason= --dry-run -n
		case 'pin'
			printf '%s\n' :@backup ... --dry-run -n
		case 'preflight'
			printf '%s\n' 
		case 'prune'
			printf '%s\n' --dry-run -n
		case 'rehearse'
			printf '%s\n' --deployment=staged,rollback --keep --timeout=
		case 'restore'
			printf '%s\n' :@backup --last-good --stop --next-boot --cancel --keep-existing=@directory --skip-backup --force --dry-run -n
		case 'rm'
			printf '%s\n' :@backup ... --force --dry-run -n
		case 'run'
			printf '%s\n' :@command ... --parent=@unit --name= --no-block --timeout=
		case 'save'
			printf '%s\n' : --description= -d= --stop --live --pin --digest --dry-run -n
		case 'show'
			printf '%s\n' :@backup
		case 'snapshot'
			printf '%s\n' save status --timeout= --force
		case 'snapshot save'
			printf '%s\n' :@file --timeout= --force
		case 'snapshot status'
			printf '%s\n' :@file
		case 'status'
			printf '%s\n' --check --full
		case 'undo'
			printf '%s\n' --stop --next-boot --cancel --force --dry-run -n
		case 'unpin'
			printf '%s\n' :@backup ... --dry-run -n
		case 'verify'
			printf '%s\n' :@backup,@file ... --data --full --quick
		case 'version'
			printf '%s\n' 
		case "*"
			return 1
	end
end

function __greenboot_etcd_about
	switch "$argv"
		case '+certs --ca-cert'
			echo 'Use your own authority; FILE may have those that signed it'
		case '+certs --ca-key'
			echo 'Read the private key of --ca-cert'
		case '+certs --client'
			echo 'Make a client\'s certificate'
		case '+certs --dry-run'
			echo 'Print the changes, but make none'
		case '+certs --for'
			echo 'Set the validity of the certificate or authority'
		case '+certs --force'
			echo 'Also replace certificates that are not due'
		case '+certs --host'
			echo 'Add a name or an address; may be repeated'
		case '+certs --out'
			echo 'Write into this directory'
		case '+certs --peer'
			echo 'Make a certificate for etcd\'s peers'
		case '+certs --seal'
			echo 'Seal the authority\'s key also without a TPM'
		case '+certs --server'
			echo 'Make a certificate for an etcd server'
		case '+certs --timeout'
			echo 'Wait DURATION for a healthy etcd (timeout= of [health])'
		case '+certs --token'
			echo 'Take the next authority from this file of `cluster token FILE`'
		case '+certs --undo'
			echo 'Put back the files that the last reset removed'
		case '+certs export'
			echo 'Pack a client\'s files for another machine'
		case '+certs init'
			echo 'Make an authority and the certificates of a server, a peer and a client'
		case '+certs issue'
			echo 'Make a key and a certificate for another person or program'
		case '+certs list'
			echo 'List etcd\'s certificates and keys, and the authority'
		case '+certs renew'
			echo 'Replace the certificates if one of them is due'
		case '+certs reset'
			echo 'Remove the certificates that are made again at the next start'
		case '+certs rotate-ca'
			echo 'Take the next of three steps to a new authority'
		case '+certs sign'
			echo 'Make a certificate for a request'
		case '+cluster --client-url'
			echo 'Set the address for clients'
		case '+cluster --data'
			echo 'Compare a copy of another member\'s data; may be repeated'
		case '+cluster --dry-run'
			echo 'Print the changes, but make none'
		case '+cluster --for-update'
			echo 'Take it for a staged update, release it after a green one'
		case '+cluster --force'
			echo 'Skip the checks of quorum, members and update lock'
		case '+cluster --from'
			echo 'Begin with a backup, or with a snapshot file (a path)'
		case '+cluster --if-needed'
			echo 'Rejoin, like the timer, if data is damaged or gone; without URL'
		case '+cluster --name'
			echo 'Set the member\'s name (name= of [etcd], or the machine\'s)'
		case '+cluster --peer-url'
			echo 'Set the address for other members'
		case '+cluster --timeout'
			echo 'Wait DURATION for a healthy etcd that accepts the change'
		case '+cluster --token'
			echo 'Read the authority from a file of `cluster token FILE`'
		case '+cluster init'
			echo 'Make this device\'s etcd the first member of a cluster'
		case '+cluster join'
			echo 'Make this device\'s etcd one more member of a cluster'
		case '+cluster leave'
			echo 'Remove this device from its cluster'
		case '+cluster lock'
			echo 'Take the update lock of the cluster'
		case '+cluster recover'
			echo 'Make a new cluster of this device alone, if the quorum is lost'
		case '+cluster rejoin'
			echo 'Join again, if the data is damaged or gone, or this member was removed'
		case '+cluster reset'
			echo 'Forget the membership of this device, without the cluster'
		case '+cluster status'
			echo 'Show the members, the leader and the update lock'
		case '+cluster token'
			echo 'Write the authority of this device for other members'
		case '+cluster unlock'
			echo 'Release the update lock of the cluster'
		case '+member --dry-run'
			echo 'Print the changes, but make none'
		case '+member --force'
			echo 'Change members even if the cluster loses its quorum'
		case '+member --name'
			echo 'Set the new member\'s name'
		case '+member --no-backup'
			echo 'Take no copy first'
		case '+member --voter'
			echo 'Add a voter at once, and no learner'
		case '+member --wait'
			echo 'Wait DURATION until etcd accepts the change'
		case '+member add'
			echo 'Add a member with these addresses, as a learner'
		case '+member list'
			echo 'List etcd\'s members'
		case '+member promote'
			echo 'Give a learner its vote'
		case '+member remove'
			echo 'Remove a member permanently'
		case '+member replace'
			echo 'Remove a member, and add another one'
		case '+member update'
			echo 'Set the addresses of a member from its next start on'
		case '+store --device'
			echo 'Also accept a signed snapshot of this device; or unknown'
		case '+store --dry-run'
			echo 'Print the changes, but make none'
		case '+store --identity'
			echo 'Decrypt with FILE; default: identity= of [store]'
		case '+store --queue'
			echo 'Only queue a snapshot, and only if etcd has new data'
		case '+store --store'
			echo 'Use this store; default: directory= or url= of [store]'
		case '+store --timeout'
			echo 'Limit the time for a bucket (list 10min, else 1d), or for etcd'
		case '+store --wait'
			echo 'Retry until all is sent, with growing pauses'
		case '+store list'
			echo 'List the snapshots, newest first'
		case '+store prune'
			echo 'Remove the snapshots that hourly= and daily= do not keep'
		case '+store pull'
			echo 'Make a snapshot file of a snapshot, or of the latest'
		case '+store push'
			echo 'Write a snapshot of etcd, of a backup or of a snapshot file'
		case '+store requests'
			echo 'List, run or delete the requests in the store'
		case '+store requests delete'
			echo 'Remove a request'
		case '+store requests list'
			echo 'List the requests in the store'
		case '+store requests run'
			echo 'Do the waiting requests'
		case '+store send'
			echo 'Send the queue, the newest first'
		case '+store verify'
			echo 'Read a snapshot, or the latest, back in full'
		case '- --config'
			echo 'Read only FILE as the configuration'
		case '- --help'
			echo 'Show help'
		case '- --json'
			echo 'Print JSON for programs'
		case '- --quiet'
			echo 'Print only the result'
		case '- --root'
			echo 'Work on the system below DIR only'
		case '- --verbose'
			echo 'Print each step'
		case '- --version'
			echo 'Show the version'
		case 'alarm --dry-run'
			echo 'Print the changes, but make none'
		case 'alarm --no-backup'
			echo 'Take no copy first'
		case 'alarm --timeout'
			echo 'Wait DURATION for etcd in each step (10min)'
		case 'alarm clear'
			echo 'Make room in etcd\'s database, and clear NOSPACE'
		case 'alarm list'
			echo 'List etcd\'s alarms'
		case 'backup --description'
			echo 'Describe the backup'
		case 'backup --digest'
			echo 'Read every file for its SHA-256 in the manifest'
		case 'backup --dry-run'
			echo 'Print the changes, but make none'
		case 'backup --live'
			echo 'Back up a running etcd; needs a file system that clones'
		case 'backup --pin'
			echo 'Keep the backup until it is unpinned'
		case 'backup --stop'
			echo 'Stop etcd\'s service for it, and start it again'
		case 'certs --dry-run'
			echo 'Print the changes, but make none'
		case 'certs --timeout'
			echo 'Wait DURATION for a healthy etcd (timeout= of [health])'
		case 'certs --undo'
			echo 'Put back the files that the last reset removed'
		case 'certs export'
			echo 'Pack a client\'s files for another machine'
		case 'certs list'
			echo 'List etcd\'s certificates and keys'
		case 'certs reset'
			echo 'Remove the certificates that are made again at the next start'
		case 'config --check'
			echo 'Check all files, and list every error'
		case 'create --description'
			echo 'Describe the backup'
		case 'create --digest'
			echo 'Read every file for its SHA-256 in the manifest'
		case 'create --dry-run'
			echo 'Print the changes, but make none'
		case 'create --live'
			echo 'Back up a running etcd; needs a file system that clones'
		case 'create --pin'
			echo 'Keep the backup until it is unpinned'
		case 'create --stop'
			echo 'Stop etcd\'s service for it, and start it again'
		case 'defrag --data'
			echo 'Defragment the stopped data directory by etcd\'s own tool'
		case 'defrag --dry-run'
			echo 'Print the changes, but make none'
		case 'defrag --if-needed'
			echo 'Only if min-size and max-fragmentation of [defrag] are reached'
		case 'defrag --no-backup'
			echo 'Take no copy first'
		case 'defrag --timeout'
			echo 'Wait DURATION for etcd or its tool (10min)'
		case 'delete --dry-run'
			echo 'Print the changes, but make none'
		case 'delete --force'
			echo 'Also delete the last valid backup, pinned and unreadable ones'
		case 'diagnose --output'
			echo 'The archive to make (default: in /var/tmp, named by the time); -: standard output'
		case 'endpoint status'
			echo 'Show the answer of etcd'
		case 'explain --booted'
			echo 'Assume that this deployment boots: ID, rollback, staged, INDEX'
		case 'explain --full'
			echo 'Print whole names and long lines, also on a terminal'
		case 'explain --return'
			echo 'Assume a deliberate or an accidental return'
		case 'explain --verdict'
			echo 'Assume this verdict for the run that owns the data'
		case 'export --drop-wal'
			echo 'Leave out writes that only the log has'
		case 'export --force'
			echo 'Replace an existing FILE'
		case 'export --timeout'
			echo 'Wait DURATION for etcd to apply the log (5min)'
		case 'export --v3-only'
			echo 'Leave out keys of the v2 API, which no snapshot holds'
		case 'health --wait'
			echo 'Ask for DURATION at most until etcd is healthy (10s, 5min)'
		case 'import --bump-revision'
			echo 'Skip N revisions; 0 skips none, also for Kubernetes'
		case 'import --etcd-only'
			echo 'Accept that a restore removes other files of data-dir'
		case 'import --keep-owners'
			echo 'Keep owners, setuid bits, capabilities and ACLs of a directory'
		case 'import --mark-compacted'
			echo 'Mark older revisions as compacted; needs --bump-revision'
		case 'import --no-checksum'
			echo 'Accept a copied database, which has no checksum'
		case 'import --timeout'
			echo 'Wait DURATION for etcd\'s tool (5min)'
		case 'list --deployment'
			echo 'List only backups of deployment ID'
		case 'list --exclusive'
			echo 'Count the bytes that the removal of each would free'
		case 'list --full'
			echo 'Print whole names, one line each, also on a terminal'
		case 'list --grade'
			echo 'List only good, unproven, bad or unreadable backups'
		case 'list --names'
			echo 'Print only names, one on each line'
		case 'log --backup'
			echo 'Print events of backup NAME'
		case 'log --full'
			echo 'Print whole names and long lines, also on a terminal'
		case 'log --since'
			echo 'Print events since TIME: 2d, 2026-05-01, "2026-05-01 12:00"'
		case 'ls --deployment'
			echo 'List only backups of deployment ID'
		case 'ls --exclusive'
			echo 'Count the bytes that the removal of each would free'
		case 'ls --full'
			echo 'Print whole names, one line each, also on a terminal'
		case 'ls --grade'
			echo 'List only good, unproven, bad or unreadable backups'
		case 'ls --names'
			echo 'Print only names, one on each line'
		case 'mark --dry-run'
			echo 'Print the changes, but make none'
		case 'mark --reason'
			echo 'Record the reason'
		case 'mark bad'
			echo 'Judge the present run, or grade a backup, as bad'
		case 'mark good'
			echo 'Judge the present run, or grade a backup, as good'
		case 'pin --dry-run'
			echo 'Print the changes, but make none'
		case 'prune --dry-run'
			echo 'Print the changes, but make none'
		case 'rehearse --deployment'
			echo 'Rehearse this deployment: ID, staged (default), rollback'
		case 'rehearse --keep'
			echo 'Keep the clone'
		case 'rehearse --timeout'
			echo 'Wait DURATION for a ready etcd (2min)'
		case 'restore --cancel'
			echo 'Cancel the request of --next-boot'
		case 'restore --dry-run'
			echo 'Print the changes, but make none'
		case 'restore --force'
			echo 'Do what is refused as unsafe without it'
		case 'restore --keep-existing'
			echo 'Move the present data to DIR, and make no backup of it'
		case 'restore --last-good'
			echo 'Restore the newest good backup'
		case 'restore --next-boot'
			echo 'Restore at the next boot, before etcd starts'
		case 'restore --skip-backup'
			echo 'Remove the present data once etcd is healthy after the restore'
		case 'restore --stop'
			echo 'Stop etcd\'s service for it, and start it again'
		case 'rm --dry-run'
			echo 'Print the changes, but make none'
		case 'rm --force'
			echo 'Also delete the last valid backup, pinned and unreadable ones'
		case 'run --name'
			echo 'Set the name of etcd\'s unit; default: greenboot-etcd-member.service'
		case 'run --no-block'
			echo 'Do not wait until etcd is ready'
		case 'run --parent'
			echo 'Bind etcd to this unit; default: the calling unit'
		case 'run --timeout'
			echo 'Wait DURATION for a ready etcd; default: 5min'
		case 'save --description'
			echo 'Describe the backup'
		case 'save --digest'
			echo 'Read every file for its SHA-256 in the manifest'
		case 'save --dry-run'
			echo 'Print the changes, but make none'
		case 'save --live'
			echo 'Back up a running etcd; needs a file system that clones'
		case 'save --pin'
			echo 'Keep the backup until it is unpinned'
		case 'save --stop'
			echo 'Stop etcd\'s service for it, and start it again'
		case 'snapshot --force'
			echo 'Replace an existing FILE'
		case 'snapshot --timeout'
			echo 'Give up after DURATION (10min); default: 30s without a byte'
		case 'snapshot save'
			echo 'Save etcd\'s own snapshot to a file'
		case 'snapshot status'
			echo 'Show the contents of a snapshot file'
		case 'status --check'
			echo 'Set the exit status: 0 protected, 6 not protected, 7 unknown'
		case 'status --full'
			echo 'Print whole names and long lines, also on a terminal'
		case 'undo --cancel'
			echo 'Cancel the request of --next-boot'
		case 'undo --dry-run'
			echo 'Print the changes, but make none'
		case 'undo --force'
			echo 'Do what is refused as unsafe without it'
		case 'undo --next-boot'
			echo 'Restore at the next boot, before etcd starts'
		case 'undo --stop'
			echo 'Stop etcd\'s service for it, and start it again'
		case 'unpin --dry-run'
			echo 'Print the changes, but make none'
		case 'verbs +certs'
			echo 'Make certificates for etcd, renew them, list them, pack them'
		case 'verbs +cluster'
			echo 'Begin, join, leave or recover a cluster of etcd, update its members one at a time'
		case 'verbs +member'
			echo 'List and change the members of etcd\'s cluster'
		case 'verbs +store'
			echo 'Keep snapshots off the device, in a directory or a bucket'
		case 'verbs alarm'
			echo 'List etcd\'s alarms, or clear NOSPACE'
		case 'verbs backup'
			echo 'Back the data up now'
		case 'verbs certs'
			echo 'List etcd\'s certificates, reset them, pack a client\'s'
		case 'verbs config'
			echo 'Show the effective configuration with its origins'
		case 'verbs defrag'
			echo 'Give free space of etcd\'s database back to the disk'
		case 'verbs delete'
			echo 'Remove backups'
		case 'verbs diagnose'
			echo 'Collect information for support in one archive'
		case 'verbs endpoint'
			echo 'Show the answer of etcd; health checks more'
		case 'verbs etcdctl'
			echo 'Start the real etcdctl for the configured etcd'
		case 'verbs explain'
			echo 'Show the decision of the next start, with its reason'
		case 'verbs export'
			echo 'Make etcd\'s own snapshot of a backup'
		case 'verbs health'
			echo 'Ask etcd whether it is healthy'
		case 'verbs help'
			echo 'Show help, also of a verb'
		case 'verbs import'
			echo 'Make a backup of etcd\'s own snapshot, or of a copied data directory'
		case 'verbs list'
			echo 'List the backups, newest first'
		case 'verbs log'
			echo 'Show the events of the data, with their times'
		case 'verbs mark'
			echo 'Judge the present run, or grade a backup'
		case 'verbs pin'
			echo 'Keep backups until they are unpinned'
		case 'verbs preflight'
			echo 'Check whether the next upgrade would succeed'
		case 'verbs prune'
			echo 'Remove backups that retention does not keep'
		case 'verbs rehearse'
			echo 'Start the staged update\'s etcd on a clone of today\'s data'
		case 'verbs restore'
			echo 'Replace the data with a backup'
		case 'verbs run'
			echo 'Start etcd for the unit that needs it'
		case 'verbs show'
			echo 'Show a backup\'s manifest'
		case 'verbs snapshot'
			echo 'Save etcd\'s own snapshot, or show what one holds'
		case 'verbs status'
			echo 'Show the state of the data, and what the next boot will do'
		case 'verbs undo'
			echo 'Put back the data that the last restore replaced'
		case 'verbs unpin'
			echo 'Leave backups to retention again'
		case 'verbs verify'
			echo 'Check backups, the stopped data, or a snapshot file'
		case 'verbs version'
			echo 'Show the version'
		case 'verify --data'
			echo 'Check the data directory; etcd must be stopped'
		case 'verify --full'
			echo 'Read every page and row, and compare recorded digests'
		case 'verify --quick'
			echo 'With --full: skip checks that need memory for each key'
		case "*"
			return 1
	end
end
# End

# KEY NAME: the name with its description, after a tab. An option's description belongs to its verb, or to all verbs.
function __greenboot_etcd_tell
	set -l name (string replace -r '=$' '' -- $argv[2])
	set -l verb (string split ' ' -- $argv[1])[1]
	set -l about (__greenboot_etcd_about "$argv[1] $name"; or __greenboot_etcd_about "$verb $name"
		or __greenboot_etcd_about "- $name")
	printf '%s\t%s\n' (string replace -r '^\+' '' -- $argv[2]) "$about"
end

function __greenboot_etcd_offer
	set -l programs /usr/libexec/greenboot-etcd/greenboot-etcd-
	set -l current (commandline -ct)
	set -l key verbs
	set -l n 1
	set -l arguments
	set -l option
	set -l root
	set -l help
	set -l kinds
	set -l many
	set -l before ''

	for word in (commandline -opc)[2..-1]
		if test -n "$option"
			test $option != --root; or set root --root=$word
			set option
		else if string match -q -- '-*' $word
			string match -q -- '--root=*' $word; and set root $word
			contains -- $word (string replace -rf -- '=.*' '' (__greenboot_etcd_row $key) (__greenboot_etcd_row -))
			and set option $word
		else if test $key != verbs
			if __greenboot_etcd_row "$key $word" >/dev/null
				set key "$key $word"
			else
				set n (math $n + 1)
			end
		else if test "$word" = help
			set help yes
		else if __greenboot_etcd_row "+$word" >/dev/null; and test -x $programs$word
			set key +$word
		else if __greenboot_etcd_row "$word" >/dev/null
			set key $word
		else
			return
		end
	end
	# With "--root=DIR", the value is offered with its option.
	if test -z "$option"; and string match -q -- '--*=*' $current
		set option (string replace -r -- '=.*' '' $current)
		set before $option=
		set current (string replace -r -- '^[^=]*=' '' $current)
	end

	for word in (__greenboot_etcd_row $key) (__greenboot_etcd_row -)
		switch "$word"
			case '-*'
				if test -n "$option"
					string match -q -- "$option=*" $word; and set kinds (string replace -r -- '^[^=]*=' '' $word)
				else if string match -q -- '-*' $current
					set -l name (string replace -rf -- '^(--[^=]*=?).*' '$1' $word)
					and __greenboot_etcd_tell $key $name
				end
			case ':*'
				set arguments $arguments $word
			case ...
				set many yes
			case ''
			case '*'
				test -z "$option"; and not string match -q -- '-*' $current; and test $n -eq 1; or continue
				not string match -q -- '+*' $word; or test -x $programs(string replace + '' $word)
				and __greenboot_etcd_tell $key $word
		end
	end
	if test -z "$option$help"; and not string match -q -- '-*' $current; and set -q arguments[1]
		test $n -le (count $arguments); or test -z "$many"; or set n (count $arguments)
		set kinds (string replace -r '^:' '' -- "$arguments[$n]")
	end
	for word in (string split -n , -- $kinds)
		switch $word
			case @backup
				printf '%s\n' $before(greenboot-etcd $root list --names 2>/dev/null)
			case @unit
				printf '%s\n' $before(systemctl list-units --all --plain --no-legend --type=service 2>/dev/null |
					string replace -r ' .*' '')
			case @command
				__fish_complete_command
			case @directory
				printf '%s\n' $before(__fish_complete_directories "$current" '')
			case @file
				# A file in the place of a backup has a slash.
				not string match -q '*@backup*' $kinds; or string match -q '*/*' -- $current; or continue
				printf '%s\n' $before(__fish_complete_path "$current" '')
			case '*'
				printf '%s\n' $before$word
		end
	end
end

complete -c greenboot-etcd -f -a '(__greenboot_etcd_offer)'

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
			printf '%s\n' --stop --force --dry-run -n
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
# End

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
					string replace -rf -- '^(--[^=]*=?).*' '$1' $word
				end
			case ':*'
				set arguments $arguments $word
			case ...
				set many yes
			case ''
			case '*'
				test -z "$option"; and not string match -q -- '-*' $current; and test $n -eq 1; or continue
				not string match -q -- '+*' $word; or test -x $programs(string replace + '' $word)
				and string replace -r '^\+' '' $word
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

# SPDX-License-Identifier: LGPL-2.1-or-later
# fish completion for greenboot-etcd(8). Verbs and options are those that the program's help has.

function __greenboot_etcd_words
	greenboot-etcd help 2>/dev/null | string replace -rf '^  ([a-z]+)( .*)?$' '$1'
end

function __greenboot_etcd_verb
	string match -rv -- '^-' (commandline -opc)[2..-1] | head -n 1
end

function __greenboot_etcd_options
	greenboot-etcd help (__greenboot_etcd_verb) 2>/dev/null |
		string replace -rf '^  (-., |    )(--[a-z-]+=?).*' '$2'
end

function __greenboot_etcd_names
	greenboot-etcd (string match -r -- '^--root=.*' (commandline -opc)) list --names 2>/dev/null
end

set -l named show verify restore mark pin unpin delete rm export defrag store
set -l files verify export import snapshot store certs cluster diagnose

complete -c greenboot-etcd -f
complete -c greenboot-etcd -n 'string match -q -- "-*" (commandline -ct)' -a '(__greenboot_etcd_options)'
complete -c greenboot-etcd -n 'test -z (__greenboot_etcd_verb)""' -a '(__greenboot_etcd_words)'
complete -c greenboot-etcd -n '__fish_seen_subcommand_from help' -a '(__greenboot_etcd_words)'
complete -c greenboot-etcd -n "__fish_seen_subcommand_from $named" -a '(__greenboot_etcd_names)'
complete -c greenboot-etcd -n "__fish_seen_subcommand_from $files" -F
complete -c greenboot-etcd -n '__fish_seen_subcommand_from store' -a 'list push pull verify send prune requests'
complete -c greenboot-etcd -n '__fish_seen_subcommand_from requests' -a 'list run delete'
complete -c greenboot-etcd -n '__fish_seen_subcommand_from pull' -a latest
complete -c greenboot-etcd -n '__fish_seen_subcommand_from certs' -a 'list init renew rotate-ca issue sign reset export'
complete -c greenboot-etcd -n '__fish_seen_subcommand_from alarm' -a 'list clear'
complete -c greenboot-etcd -n '__fish_seen_subcommand_from snapshot' -a 'save status'
complete -c greenboot-etcd -n '__fish_seen_subcommand_from mark' -a 'good bad'
complete -c greenboot-etcd -n '__fish_seen_subcommand_from member' -a 'list add promote update remove replace'
complete -c greenboot-etcd -n '__fish_seen_subcommand_from cluster' -a 'status init join rejoin token leave reset recover lock unlock'
complete -c greenboot-etcd -n '__fish_seen_subcommand_from endpoint' -a status
for option in token data
	complete -c greenboot-etcd -n '__fish_seen_subcommand_from cluster' -l $option -r -F
end
for option in ca-cert ca-key token out
	complete -c greenboot-etcd -n '__fish_seen_subcommand_from certs' -l $option -r -F
end
complete -c greenboot-etcd -n '__fish_seen_subcommand_from cluster' -l from -r -F -a '(__greenboot_etcd_names)'
complete -c greenboot-etcd -n '__fish_seen_subcommand_from log' -l backup -x -a '(__greenboot_etcd_names)'
complete -c greenboot-etcd -n '__fish_seen_subcommand_from rehearse' -l deployment -x -a 'staged rollback'

# SPDX-License-Identifier: LGPL-2.1-or-later
# fish completion for greenboot-etcd(8). Verbs, their words and options are those that the program's help has.

function __greenboot_etcd_verbs
	greenboot-etcd help 2>/dev/null | string replace -rf '^  ([a-z]+)( .*)?$' '$1'
end

function __greenboot_etcd_verb
	string match -rv -- '^-' (commandline -opc)[2..-1] | head -n 1
end

function __greenboot_etcd_options
	greenboot-etcd help (__greenboot_etcd_verb) 2>/dev/null |
		string replace -rf '^  (-., |    )(--[a-z-]+=?).*' '$2'
end

# The words that a verb takes: "list|pull NAME|requests (run|delete NAME)". Behind a word, those that stand in
# parentheses there.
function __greenboot_etcd_words
	set -l usage (greenboot-etcd help (__greenboot_etcd_verb) 2>/dev/null)[1]
	set -l last (string escape --style=regex -- (commandline -opc)[-1])
	set -l inner (string match -rg -- "[ |]$last \(([^)]*)\)" $usage)
	if test -n "$inner"
		set usage $inner
	else
		set usage (string replace -r '^[^\]]*\] [a-z]+ ?' '' -- $usage | string replace -ra '\([^)]*\)' '')
	end
	string split '|' -- $usage | string replace -rf '^([a-z][a-z-]*)( .*)?$' '$1'
end

function __greenboot_etcd_names
	greenboot-etcd (string match -r -- '^--root=.*' (commandline -opc)) list --names 2>/dev/null
end

# Is the verb one of these, and installed?
function __greenboot_etcd_verb_is
	set -l verb (__greenboot_etcd_verb)
	contains -- "$verb" $argv; and greenboot-etcd help $verb >/dev/null 2>&1
end

set -l named show verify restore mark pin unpin delete rm export defrag store
set -l files verify export import snapshot store certs cluster diagnose

complete -c greenboot-etcd -f
complete -c greenboot-etcd -n 'string match -q -- "-*" (commandline -ct)' -a '(__greenboot_etcd_options)'
complete -c greenboot-etcd -n '__greenboot_etcd_verb_is "" help' -a '(__greenboot_etcd_verbs)'
complete -c greenboot-etcd -n 'not __greenboot_etcd_verb_is "" help' -a '(__greenboot_etcd_words)'
complete -c greenboot-etcd -n "__greenboot_etcd_verb_is $named" -a '(__greenboot_etcd_names)'
complete -c greenboot-etcd -n "__greenboot_etcd_verb_is $files" -F
complete -c greenboot-etcd -n '__greenboot_etcd_verb_is store; and __fish_seen_subcommand_from pull' -a latest
for option in token data
	complete -c greenboot-etcd -n '__greenboot_etcd_verb_is cluster' -l $option -r -F
end
# Without its package, certs lacks these.
for option in ca-cert ca-key token out
	complete -c greenboot-etcd -n "__greenboot_etcd_verb_is certs; and contains -- --$option= (__greenboot_etcd_options)" -l $option -r -F
end
complete -c greenboot-etcd -n '__greenboot_etcd_verb_is cluster' -l from -r -F -a '(__greenboot_etcd_names)'
complete -c greenboot-etcd -n '__greenboot_etcd_verb_is log' -l backup -x -a '(__greenboot_etcd_names)'
complete -c greenboot-etcd -n '__greenboot_etcd_verb_is rehearse' -l deployment -x -a 'staged rollback'

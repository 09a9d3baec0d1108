#!/bin/bash
exec /usr/libexec/greenboot-etcd/green

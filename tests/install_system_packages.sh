#!/bin/sh
# Install what the tests need from Debian, if it is absent and we may.
set -u
wanted=""
ls /usr/lib/postgresql/*/bin/initdb >/dev/null 2>&1 || command -v initdb >/dev/null 2>&1 || wanted="$wanted postgresql"
command -v chromium >/dev/null 2>&1 || wanted="$wanted chromium"
[ -z "$wanted" ] && exit 0
if [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null 2>&1; then
  echo "not installed:$wanted (needs root and apt-get); the tests that use them are skipped"
  exit 0
fi
export DEBIAN_FRONTEND=noninteractive
apt-get update -qq
apt-get install -y -qq --no-install-recommends $wanted >/dev/null

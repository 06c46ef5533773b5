#!/bin/sh
# Install what the tests need from Debian, if it is absent and we may.
set -u
wanted=""
ls /usr/lib/postgresql/*/bin/initdb >/dev/null 2>&1 || command -v initdb >/dev/null 2>&1 || wanted="$wanted postgresql"
command -v openssl >/dev/null 2>&1 || wanted="$wanted openssl"
command -v chromium >/dev/null 2>&1 || wanted="$wanted chromium"
command -v chromium-headless-shell >/dev/null 2>&1 || wanted="$wanted chromium-headless-shell"
command -v mosquitto >/dev/null 2>&1 || [ -x /usr/sbin/mosquitto ] || wanted="$wanted mosquitto"
java_version() { "$1" -version 2>&1 | sed -n 's/.*version "\([0-9]*\).*/\1/p' | head -n 1; }
java=""
for program in "${JAVA_HOME:-/nowhere}/bin/java" "$(command -v java)" /usr/lib/jvm/*/bin/java; do
  [ -x "$program" ] && [ "$(java_version "$program")" -ge 17 ] 2>/dev/null && java="$program" && break
done
[ -n "$java" ] || wanted="$wanted java"
[ -z "$wanted" ] && exit 0
if [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null 2>&1; then
  echo "not installed:$wanted (needs root and apt-get); the tests that use them are skipped"
  exit 0
fi
export DEBIAN_FRONTEND=noninteractive
apt-get update -qq
# Spark runs on Java 17 and 21; a Debian has one of them.
jre=openjdk-17-jre-headless
apt-cache show "$jre" >/dev/null 2>&1 || jre=openjdk-21-jre-headless
wanted=$(echo "$wanted" | sed "s/ java\$/ $jre/")
# Not every Debian has it; the tests do with Chromium then.
apt-cache show chromium-headless-shell >/dev/null 2>&1 || wanted=$(echo "$wanted" | sed "s/ chromium-headless-shell//")
apt-get install -y -qq --no-install-recommends $wanted >/dev/null

#!/bin/sh
# Installs Debian's PostgreSQL where it is missing and may be installed; says what to do where it may not.
command -v initdb >/dev/null && exit 0
for folder in /usr/lib/postgresql/*/bin; do
    [ -x "$folder/initdb" ] && exit 0
done
if [ "$(id -u)" -eq 0 ] && command -v apt-get >/dev/null; then
    echo "installing PostgreSQL, to test workers that share a study in it"
    if { apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends postgresql; } \
        >/dev/null 2>&1; then
        exit 0
    fi
fi
echo "no PostgreSQL here, and it cannot be installed without root and apt-get: the test of workers on it is skipped." >&2
echo "Install PostgreSQL to run it." >&2

#!/bin/sh
# Installs Debian's Chromium where it is missing and may be installed; says what to do where it may not.
for name in "${CHROMIUM:-chromium}" chromium-browser google-chrome google-chrome-stable; do
    command -v "$name" >/dev/null && exit 0
done
if [ "$(id -u)" -eq 0 ] && command -v apt-get >/dev/null; then
    echo "installing Chromium, to test the page of results in it"
    if { apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends chromium; } \
        >/dev/null 2>&1; then
        exit 0
    fi
fi
echo "no Chromium here, and it cannot be installed without root and apt-get: the test of the page is skipped." >&2
echo "Install Chromium, or set CHROMIUM to its path, to run it." >&2

#!/usr/bin/env bash
# Reads REF, DEPTH, PERSIST, TOKEN and what the runner sets: GITHUB_SERVER_URL, GITHUB_REPOSITORY,
# GITHUB_SHA, GITHUB_REF.
set -euo pipefail

git init --quiet --initial-branch=main .
git remote add origin "$GITHUB_SERVER_URL/$GITHUB_REPOSITORY"
header="http.$GITHUB_SERVER_URL/.extraheader"
git config "$header" "AUTHORIZATION: basic $(printf 'x-access-token:%s' "$TOKEN" | base64 -w0)"

refs=()
if [ "$DEPTH" = 0 ]; then
  refs+=("+refs/heads/*:refs/remotes/origin/*")
fi
if [ -z "$REF" ]; then
  refs+=("+$GITHUB_SHA:refs/remotes/checkout")
else
  refs+=("+refs/heads/$REF:refs/remotes/origin/$REF" "+refs/heads/$REF:refs/remotes/checkout")
fi
depth=()
if [ "$DEPTH" != 0 ]; then
  depth=(--depth "$DEPTH")
fi
git fetch --quiet "${depth[@]}" origin "${refs[@]}"
git checkout --quiet --force --detach refs/remotes/checkout
if [ "$PERSIST" != true ]; then
  git config --unset-all "$header"
fi
git --no-pager log -1 --format='checked out %H'

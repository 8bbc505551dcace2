#!/bin/sh
# Runs Divan with the Node of this archive; it needs nothing else on the machine.
self=$0
if [ -h "$self" ]; then self=$(readlink -f "$self"); fi
case $self in
  */*) folder=${self%/*} ;;
  *) folder=. ;;
esac
exec "$folder/../lib/node" "$folder/../lib/bin/divan.js" "$@"

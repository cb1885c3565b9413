# A bare Debian 12 to try things in: debootstrap's smallest, unpacked into memory and kept, once it is
# made, as build/bare-debian.tar. Sourced by scripts that run as root, in a mount namespace of their
# own: what is mounted here ends with it.
bare_debian=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd -P)/build/bare-debian.tar

# ROOT: mounts the system there, with a network and without daemons, as in any container.
mount_bare_debian() {
  local root=$1
  mount -t tmpfs -o mode=755,size=90% bare-debian "$root"
  if [ -f "$bare_debian" ]; then
    tar -C "$root" -xf "$bare_debian"
  else
    echo "debootstrap of Debian 12, once ..."
    mkdir -p "$(dirname "$bare_debian")"
    debootstrap --variant=minbase bookworm "$root" http://deb.debian.org/debian >"$root/log" ||
      { tail "$root/log" >&2; exit 1; }
    rm "$root/log"
    tar -C "$root" -cf "$bare_debian.part" .
    mv "$bare_debian.part" "$bare_debian"
  fi
  mount -t proc proc "$root/proc"
  mount --rbind /sys "$root/sys"
  mount --rbind /dev "$root/dev"
  cp /etc/resolv.conf "$root/etc/"
  printf '#!/bin/sh\nexit 101\n' >"$root/usr/sbin/policy-rc.d"
  chmod +x "$root/usr/sbin/policy-rc.d"
}

# File systems of small devices, and block devices. squashfs refuses direct reads, overlayfs leaves
# them to what it lies on: every way to read gives the labels of a plain file, or says in one line
# that it cannot.
load helpers

mounts=()
devices=()

teardown() {
  cd /
  for mount in "${mounts[@]}"; do umount "$mount" || umount -l "$mount" || true; done
  for device in "${devices[@]}"; do losetup -d "$device" || true; done
}

# FOLDER ARGUMENTS...: mounts there, as mount does with the arguments; skips where it may not.
mounted() {
  local folder=$1
  shift
  [ "$(id -u)" -eq 0 ] || skip "needs root to mount"
  mkdir -p "$folder"
  mount "$@" "$folder" 2>mount.err || skip "cannot mount here: $(head -n 1 mount.err)"
  mounts+=("$PWD/$folder")
}

# FOLDER: the container there gives the labels that model.sti does. Ways that were refused are left
# in `refused_ways`.
same_labels() {
  local folder=$1 way
  tail -n +2 few.tsv | cut -f 1 >texts
  sti-run -q model.sti --plan model.plan <texts | cut -f 1,3 >whole
  for way in auto buffered uring threads; do
    run --separate-stderr timeout 60 sti-run -q --io $way "$folder/model.sti" --plan model.plan <texts
    if [ "$status" -eq 1 ] && [[ $way = uring || $way = threads ]]; then
      same "${#stderr_lines[@]}" 1
      like "$stderr" "sti-run: $folder/model.sti: *; --io auto tries the other ways"
      same "$output" ""
      refused_ways+=" $way"
      continue
    fi
    same "$way $status $stderr" "$way 0 "
    cut -f 1,3 <<<"$output" | cmp - whole
  done
  works timeout 60 sti-inspect --verify "$folder/model.sti"
}

@test "a block device larger than the container on it" {
  [ "$(id -u)" -eq 0 ] || skip "needs root to make a block device"
  cp -L model.sti image
  truncate -s +1M image
  device=$(losetup --find --show --read-only image 2>losetup.err) ||
    skip "no loop device here: $(head -n 1 losetup.err)"
  devices+=("$device")
  works sti-run "$device" --plan model.plan "$alarm"
  same "$output" "$(sti-run model.sti --plan model.plan "$alarm")"
  works sti-inspect --verify "$device"
}

@test "squashfs: read through the page cache" {
  command -v mksquashfs >/dev/null || skip "needs squashfs-tools"
  mkdir content
  cp -L model.sti content/
  mksquashfs content image -quiet -no-progress -noappend >/dev/null
  mounted image.d -t squashfs -o loop,ro image
  refused_ways=
  same_labels image.d
  [ -n "$refused_ways" ] || return 0 # a later kernel may know how
  same "$refused_ways" " uring threads"
  run --separate-stderr timeout 60 sti-run -v image.d/model.sti --plan model.plan "$alarm"
  same "$status" 0
  like "$stderr" "*the file system refuses direct reads (Invalid argument)*"
}

@test "overlayfs: a file of the lower layer, and one that was copied up" {
  mkdir lower upper work
  cp -L model.sti lower/
  mounted both -t overlay -o lowerdir=lower,upperdir=upper,workdir=work overlay
  same_labels both
  touch both/model.sti
  [ -e upper/model.sti ]
  same_labels both
}

@test "tmpfs" {
  mounted memory -t tmpfs -o size=32m tmpfs
  cp -L model.sti memory/
  same_labels memory
}

@test "a file system that goes away is not waited for" {
  mkdir lower upper work
  cp -L model.sti lower/
  mounted both -t overlay -o lowerdir=lower,upperdir=upper,workdir=work overlay
  mkfifo lines
  timeout 60 sti-run -q both/model.sti --plan model.plan <lines >answers 2>errors &
  local process=$!
  exec 7>lines
  echo "$alarm" >&7
  for _ in {1..400}; do
    [ -s answers ] && break
    sleep 0.05
  done
  # Detached: what is open stays readable.
  umount -l both
  mounts=()
devices=()
  echo "$alarm" >&7
  exec 7>&-
  wait $process
  same "$(cat errors)" ""
  same "$(cut -f 1,3 answers | uniq -c | awk '{print $1, $2}')" "2 alarm"
}

# What libsti.so is to a program that loads it: what it shows, what it takes from the system, and how
# it lies in memory.
load helpers

library="$STI_BIN/../lib/libsti.so"

setup_file() { :; }

setup() {
  skip_if_sanitized "sanitizers have symbols of their own"
  cd "$BATS_TEST_TMPDIR"
}

# What the library takes from others, without versions.
imports() { nm -D --undefined-only "$library" | sed -E 's/^ *[Uw] //; s/@.*//' | sort -u; }

@test "libsti.so shows just the functions that sti.h declares" {
  # sed takes comments away; what is called (*NAME) is a type.
  sed -E ':a; s|/\*([^*]\|\*[^/])*\*/||g; /\/\*/{N; ba}' "$repo/lib/capi/sti.h" |
    grep -oE '\bsti_[a-z_]+\(' | tr -d '(' | sort >declared
  nm -D --defined-only --format=just-symbols "$library" | sort >shown
  same "$(wc -l <shown)" "$(sort -u declared | wc -l)"
  diff declared shown
}

@test "libsti.so takes from the system what a guest may" {
  # By families; what is in none is a complaint, and comes in with a reason or not at all.
  cat >allowed <<'EOF'
# memory, bytes, texts in memory
(malloc|calloc|realloc|free|aligned_alloc|malloc_trim|mmap|munmap|madvise|mlock|munlock)
(mem(chr|cmp|cpy|move|set)|str(cmp|error|len|ncmp)|snprintf)
# numbers; the JSON parser asks for the locale's decimal point, to read numbers in spite of it
(ceil|floor|exp|exp2|fma|ldexp|llround|log|log2|pow|sqrt|tanh|erf)f?
(strtod|strtoll|strtoull|localeconv)
# rounding and traps of the calling thread, set to the usual ones and put back
(fegetenv|fesetenv)
# which process this is: a forked child has none of the threads of a handle
getpid
# files, read alone, without waiting too, and block devices
(open|close|read|pread|preadv2|fstat|stat|lseek|fcntl|ioctl|dup|posix_fadvise)(64)?
# threads of its own, cores, time; io_uring has no functions but syscall
(pthread_(cond|mutex|key|once|self|setspecific|getspecific|setname|setaffinity|[gs]etschedparam).*|__libc_single_threaded)
(sched_.*|__sched_cpucount|syscall|sysconf|nanosleep|clock_gettime|getauxval)
# signals of the process are held back from those threads, so that they reach the app's
(pthread_sigmask|sigfillset|sigdelset)
# the language: exceptions, variables of a thread, errno, start and end of the library
(__cxa_.*|__gxx_personality_v0|_Unwind_Resume|__tls_get_addr|__errno_location|__stack_chk_fail)
(__gmon_start__|_ITM_.*TMCloneTable)
# hooks that are called where the app has them
ZSTD_trace_decompress_(begin|end)
EOF
  grep -v '^#' allowed >patterns
  imports | grep -vE '^_Z' >taken
  grep -qx malloc taken
  grep -vxEf patterns taken >others || true
  same "$(cat others)" ""
}

# std::terminate stays: the language calls it where a function says noexcept and is not.
@test "libsti.so neither prints nor ends a process by way of C++" {
  imports | grep -E '^_Z' | c++filt >cpp
  grep -q 'operator new' cpp
  run ! grep -E 'std::(c(out|err|log|in)|locale::|ios_base::Init|abort|exit|quick_exit|__glibcxx_assert)|basic_(o|f|if|of)stream|filesystem' cpp
}

@test "libsti.so is one file beside those of every Debian" {
  readelf -d "$library" | sed -nE 's/.*\(NEEDED\).*\[(.*)\]/\1/p' | sort >needed
  run ! grep -vxE 'libstdc\+\+\.so\.6|libgcc_s\.so\.1|libm\.so\.6|libc\.so\.6|ld-linux.*' needed
  like "$(readelf -d "$library" | grep SONAME)" '*\[libsti.so.0\]'
}

@test "libsti.so and the tools load where pages have 16 KiB" {
  for file in "$library" "${tools[@]/#/$STI_BIN/}"; do
    readelf -lW "$file" | awk '$1 == "LOAD" { print $NF }' >alignments
    [ "$(wc -l <alignments)" -ge 2 ]
    while read -r alignment; do
      [ $((alignment)) -ge 16384 ] || same "$file: $alignment" "$file: 0x4000"
    done <alignments
  done
}

@test "libsti.so has at most 3 MB, stripped, sti-run 4.15 MB, and no tool grows unseen" {
  local -A most=([sti-run]=4150000 [sti-importance]=3900000 [sti-profile]=3500000
    [sti-shard]=2600000 [sti-inspect]=2250000 [sti-plan]=2100000)
  same "${#most[@]}" "${#tools[@]}"
  most[libsti.so]=3000000
  local name file bytes
  for name in "${!most[@]}"; do
    file=$STI_BIN/$name
    [ "$name" != libsti.so ] || file=$library
    strip -o stripped "$file"
    bytes=$(stat -c %s stripped)
    [ "$bytes" -le "${most[$name]}" ] || { echo "$name: $bytes bytes of ${most[$name]}"; return 1; }
  done
}

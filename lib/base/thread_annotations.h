// Attributes by which a member names the lock that guards it. Clang checks them with
// -Wthread-safety, and so `make tidy` does; other compilers see nothing. They are used with Mutex,
// MutexLock and CondVar of base/mutex.h, because the standard library's own locks carry no
// attributes.
#pragma once

#if defined(__clang__)
#define STI_THREAD_ATTRIBUTE(x) __attribute__((x))
#else
#define STI_THREAD_ATTRIBUTE(x)
#endif

/// On a member: it is read and written only while the lock is held.
#define STI_GUARDED_BY(lock) STI_THREAD_ATTRIBUTE(guarded_by(lock))
/// On a function: its caller holds the lock.
#define STI_REQUIRES(...) STI_THREAD_ATTRIBUTE(exclusive_locks_required(__VA_ARGS__))
/// On a function: its caller does not hold the lock, because the function takes it.
#define STI_EXCLUDES(...) STI_THREAD_ATTRIBUTE(locks_excluded(__VA_ARGS__))

// For the classes of base/mutex.h alone.
#define STI_LOCKABLE STI_THREAD_ATTRIBUTE(lockable)
#define STI_SCOPED_LOCKABLE STI_THREAD_ATTRIBUTE(scoped_lockable)
#define STI_ACQUIRES(...) STI_THREAD_ATTRIBUTE(exclusive_lock_function(__VA_ARGS__))
#define STI_RELEASES(...) STI_THREAD_ATTRIBUTE(unlock_function(__VA_ARGS__))

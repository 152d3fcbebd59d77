// Copyright 2026 The opspace_control developers
// SPDX-License-Identifier: Apache-2.0
//
// Counts the calls of the allocator and of locks that wait, of each thread of a program, or of a
// library to preload, of one file.

#ifndef COUNTED_HPP_
#define COUNTED_HPP_

#include <dlfcn.h>
#include <pthread.h>

#include <cerrno>
#include <cstddef>

namespace {

thread_local long allocations = 0, releases = 0, locks = 0;

// The function of this name that would be called without this file.
template <typename Function>
Function* next(const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
}

}  // namespace

extern "C" {
void* __libc_malloc(std::size_t);
void* __libc_calloc(std::size_t, std::size_t);
void* __libc_realloc(void*, std::size_t);
void* __libc_memalign(std::size_t, std::size_t);
void __libc_free(void*);

void* malloc(std::size_t size) {
  ++allocations;
  return __libc_malloc(size);
}
void* calloc(std::size_t count, std::size_t size) {
  ++allocations;
  return __libc_calloc(count, size);
}
void* realloc(void* old, std::size_t size) {
  ++allocations;
  return __libc_realloc(old, size);
}
void* aligned_alloc(std::size_t alignment, std::size_t size) {
  ++allocations;
  return __libc_memalign(alignment, size);
}

int posix_memalign(void** place, std::size_t alignment, std::size_t size) {
  ++allocations;
  *place = __libc_memalign(alignment, size);
  return *place ? 0 : ENOMEM;
}
void free(void* memory) {
  releases += memory != nullptr;
  __libc_free(memory);
}

int pthread_mutex_lock(pthread_mutex_t* mutex) {
  static const auto lock = next<int(pthread_mutex_t*)>("pthread_mutex_lock");
  ++locks;
  return lock(mutex);
}
int pthread_rwlock_rdlock(pthread_rwlock_t* mutex) {
  static const auto lock = next<int(pthread_rwlock_t*)>("pthread_rwlock_rdlock");
  ++locks;
  return lock(mutex);
}
int pthread_rwlock_wrlock(pthread_rwlock_t* mutex) {
  static const auto lock = next<int(pthread_rwlock_t*)>("pthread_rwlock_wrlock");
  ++locks;
  return lock(mutex);
}
}

#endif  // COUNTED_HPP_

/// @file
/// Read-Log-Update for C++: see rlu.h for what it is. C++20.
///
///   struct node {
///     int value;
///     lockswap::rlu::link<node> next;
///   };
///   bool remove_after(node* first) {
///     return lockswap::rlu::update([&](lockswap::rlu::section& here) -> std::optional<bool> {
///       node* prev = here.read(first);
///       node* gone = prev->next.read();
///       if (gone == nullptr) return false;
///       if (!here.lock(prev) || !here.lock_const(gone)) return std::nullopt;  // begin again
///       prev->next = gone->next;
///       here.free(gone);
///       return true;
///     });
///   }
///
/// Nothing here throws but what says so. Errors, thread-safety and cost are those of rlu.h.
#pragma once

#include <cerrno>
#include <concepts>
#include <cstddef>
#include <new>
#include <optional>
#include <system_error>
#include <type_traits>
#include <utility>

#include "lockswap/rlu.h"
#include "lockswap/rlu_inline.h"

namespace lockswap::rlu {

/// What can be an object: it is copied byte by byte, and nothing is called when it is freed.
template <class T>
concept object = std::is_trivially_copyable_v<T> && std::is_trivially_destructible_v<T> &&
                 alignof(T) <= 16;

/// @cond private
// Where a call is made, for LOCKSWAP_RLU_CHECKS.
namespace detail {
#if defined(LOCKSWAP_RLU_CHECKS)
// Not std::source_location, which clang has from 16 on.
struct place {
  const char* file;
  int line;
  static constexpr place current(const char* file = __builtin_FILE(),
                                 int line = __builtin_LINE()) noexcept {
    return {file, line};
  }
};
template <class T>
T* checked(int what, T* p, const place& at) noexcept {
  lockswap_rlu_check(what, p, at.file, at.line);
  return p;
}
#else
struct place {
  static constexpr place current() noexcept { return {}; }
};
template <class T>
T* checked(int, T* p, const place&) noexcept {
  return p;
}
#endif
}  // namespace detail
/// @endcond

/// A new object; no other thread knows it yet. Throws std::bad_alloc, and what T's constructor
/// throws.
template <class T, class... Arguments>
requires object<T>
[[nodiscard]] T* make(Arguments&&... arguments) {
  void* const memory = lockswap_rlu_alloc(sizeof(T));
  if (memory == nullptr) throw std::bad_alloc();
  try {
    return ::new (memory) T{std::forward<Arguments>(arguments)...};
  } catch (...) {
    (lockswap_rlu_discard)(memory);
    throw;
  }
}
/// Frees an object at once that no other thread has ever seen.
template <class T>
void discard(T* p, detail::place at = detail::place::current()) noexcept {
  (lockswap_rlu_discard)(detail::checked(LOCKSWAP_RLU_AT_DISCARD, p, at));
}
/// Frees an object when nobody can read it any more, outside of a section or in one; see rlu.h.
/// Throws std::system_error.
template <class T>
void free(T* p, detail::place at = detail::place::current()) {
  detail::checked(LOCKSWAP_RLU_AT_FREE, p, at);
  if (const int error = (lockswap_rlu_free)(p); error != 0)
    throw std::system_error(error, std::generic_category(), "lockswap rlu free");
}

/// The version of the object that this section sees.
template <class T>
[[nodiscard]] T* dereference(T* p, detail::place at = detail::place::current()) noexcept {
  detail::checked(LOCKSWAP_RLU_AT_DEREFERENCE, p, at);
  return static_cast<T*>((lockswap_rlu_dereference)(p));
}
/// The object itself, of which this may be a copy.
template <class T>
[[nodiscard]] T* actual(T* p) noexcept {
  return static_cast<T*>(lockswap_rlu_actual(p));
}
/// Whether both are the same object, copies or not.
template <class T>
[[nodiscard]] bool same(const T* a, const T* b) noexcept {
  return lockswap_rlu_same(a, b) != 0;
}

/// A pointer to an object, as a member of an object: it never points to a copy.
template <class T>
class link {
 public:
  /// Points to nothing.
  constexpr link() noexcept = default;
  /// Points to the object of which p may be a copy.
  link(T* p) noexcept : to_(rlu::actual(p)) {}  // NOLINT(google-explicit-constructor): as a pointer
  /// The same.
  link& operator=(T* p) noexcept {
    to_ = rlu::actual(p);
    return *this;
  }
  /// The object as the calling thread's section sees it.
  [[nodiscard]] T* read(detail::place at = detail::place::current()) const noexcept {
    return rlu::dereference(to_, at);
  }
  /// The object, for comparisons and for other links; not to be looked into.
  [[nodiscard]] T* get() const noexcept { return to_; }
  /// Whether both point to the same object.
  friend bool operator==(const link& a, const link& b) noexcept = default;

 private:
  T* to_ = nullptr;
};

/// What belongs to a domain is deferred as far as the domain says; see rlu.h. It outlives what is
/// made in it.
class domain {
 public:
  /// Of which nothing is deferred.
  domain() noexcept = default;
  /// Of which a thread may collect that many commits. Throws std::system_error for 0.
  explicit domain(unsigned deferral) { set_deferral(deferral); }
  domain(const domain&) = delete;
  domain& operator=(const domain&) = delete;
  /// The same from now on. Throws std::system_error for 0.
  void set_deferral(unsigned commits) {
    if (const int error = lockswap_rlu_domain_set_deferral(&domain_, commits); error != 0)
      throw std::system_error(error, std::generic_category(), "lockswap rlu deferral");
  }
  /// The domain for the functions of rlu.h.
  lockswap_rlu_domain* native_handle() noexcept { return &domain_; }

 private:
  lockswap_rlu_domain domain_ = LOCKSWAP_RLU_DOMAIN_INITIALIZER;
};

/// A section, from here to the end of the block. A section that was aborted has ended.
class section {
 public:
  /// Begins it.
  explicit section(detail::place at = detail::place::current()) noexcept : began_(at) {
    detail::checked<void>(LOCKSWAP_RLU_AT_BEGIN, nullptr, at);
    (lockswap_rlu_enter)();
    depth_ = lockswap_rlu_nested();
  }
  section(const section&) = delete;
  section& operator=(const section&) = delete;
  ~section() { end(); }

  /// Whether it has not ended, nor been aborted.
  [[nodiscard]] bool is_open() const noexcept {
    return depth_ != 0 && lockswap_rlu_nested() >= depth_;
  }
  /// Ends it early; the outermost one commits. A check names the line where it began.
  void end() noexcept {
    if (is_open()) {
      detail::checked<void>(LOCKSWAP_RLU_AT_UNLOCK, nullptr, began_);
      (lockswap_rlu_leave)();
    }
    depth_ = 0;
  }
  /// Ends it, and undoes what it has done. Throws std::system_error (EDEADLK) in a nested one,
  /// which goes on, and std::bad_alloc.
  void abort(detail::place at = detail::place::current()) {
    detail::checked<void>(LOCKSWAP_RLU_AT_ABORT, nullptr, at);
    const int error = (lockswap_rlu_abort)();
    if (error == EDEADLK)
      throw std::system_error(error, std::generic_category(), "lockswap rlu abort");
    depth_ = 0;
    if (error == ENOMEM) throw std::bad_alloc();
  }
  /// It belongs to this domain, too, or to the default one; see rlu.h.
  void join(domain* of) const noexcept {
    lockswap_rlu_join(of == nullptr ? nullptr : of->native_handle());
  }

  /// The version of the object that this section sees.
  template <class T>
  [[nodiscard]] T* read(T* p, detail::place at = detail::place::current()) const noexcept {
    return rlu::dereference(p, at);
  }
  /// Returns false if the caller must abort. Returns true if p is the copy that may be changed.
  template <class T>
  requires object<T>
  [[nodiscard]] bool lock(T*& p, detail::place at = detail::place::current()) const noexcept {
    detail::checked(LOCKSWAP_RLU_AT_LOCK, p, at);
    auto* const copy = static_cast<T*>((lockswap_rlu_try_lock)(p));
    if (copy != nullptr) p = copy;
    return copy != nullptr;
  }
  /// Returns false if the caller must abort. Returns true if p is the object as it is seen here,
  /// and stays as it is.
  template <class T>
  [[nodiscard]] bool lock_const(T*& p, detail::place at = detail::place::current()) const noexcept {
    detail::checked(LOCKSWAP_RLU_AT_LOCK, p, at);
    auto* const seen = static_cast<T*>((lockswap_rlu_try_lock_const)(p));
    if (seen != nullptr) p = seen;
    return seen != nullptr;
  }
  /// Frees the object when what this section commits has taken effect. Throws std::system_error.
  template <class T>
  void free(T* p, detail::place at = detail::place::current()) const {
    rlu::free(p, at);
  }

 private:
  unsigned depth_ = 0;
  [[no_unique_address]] detail::place began_;
};

/// Runs change(section), which returns a std::optional, in a section of its own until that has a
/// value, and commits then. Throws std::system_error (EDEADLK) inside of another section, as in a
/// walk: a lock that another thread has comes free only when that section has ended. So collect
/// what is to be changed and change it after the walk, or change it in the section that is open.
/// Throws what `change` throws, after an abort, and std::bad_alloc.
template <class F>
auto update(F&& change, detail::place at = detail::place::current()) {
  detail::checked<void>(LOCKSWAP_RLU_AT_UPDATE, nullptr, at);
  if (lockswap_rlu_nested() != 0)
    throw std::system_error(EDEADLK, std::generic_category(), "lockswap rlu change in a section");
  for (;;) {
    section here(at);
    decltype(change(here)) result;
    try {
      result = change(here);
    } catch (...) {
      if (here.is_open()) (lockswap_rlu_abort)();
      throw;
    }
    if (result) {
      here.end();
      return *std::move(result);
    }
    if (here.is_open()) here.abort();
  }
}

/// A writer lock, for std::lock_guard and std::unique_lock. Throws std::system_error.
class writer_lock {
 public:
  /// A free one.
  writer_lock() noexcept = default;
  writer_lock(const writer_lock&) = delete;
  writer_lock& operator=(const writer_lock&) = delete;
  /// Waits until it is free. As std::lock_guard and std::unique_lock want it.
  void lock() {
    if (const int error = lockswap_rlu_writer_acquire(&lock_); error != 0)
      throw std::system_error(error, std::generic_category(), "lockswap rlu writer lock");
  }
  /// Releases it.
  void unlock() noexcept { lockswap_rlu_writer_release(&lock_); }
  /// The lock for the functions of rlu.h.
  lockswap_rlu_writer_lock* native_handle() noexcept { return &lock_; }

 private:
  lockswap_rlu_writer_lock lock_ = LOCKSWAP_RLU_WRITER_LOCK_INITIALIZER;
};

}  // namespace lockswap::rlu

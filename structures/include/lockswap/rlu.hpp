/// @file
/// Read-Log-Update for C++. rlu.h explains what it is. C++20.
///
///     struct node {
///       int value;
///       lockswap::rlu::link<node> next;
///     };
///     bool remove_after(node* first) {
///       return lockswap::rlu::update([&](lockswap::rlu::section& here) -> std::optional<bool> {
///         node* prev = here.read(first);
///         node* gone = prev->next.read();
///         if (gone == nullptr) return false;
///         if (!here.lock(prev) || !here.lock_const(gone)) return std::nullopt;  // begin again
///         prev->next = gone->next;
///         here.free(gone);
///         return true;
///       });
///     }
///
/// Nothing here throws unless its comment says so. Errors, thread-safety and cost are those of
/// rlu.h.
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

/// A type that can be an object: it is copied byte by byte, and no destructor is called when it is
/// freed.
template <class T>
concept object = std::is_trivially_copyable_v<T> && std::is_trivially_destructible_v<T> &&
                 alignof(T) <= 16;

/// @cond private
// Where a call is made, for LOCKSWAP_RLU_CHECKS.
namespace detail {
#if defined(LOCKSWAP_RLU_CHECKS)
// Not std::source_location, which clang has only since version 16.
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

/// Makes a new object, which no other thread has yet. Throws std::bad_alloc, and what T's
/// constructor throws.
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
/// Immediately frees an object that no other thread has ever seen.
template <class T>
void discard(T* p, detail::place at = detail::place::current()) noexcept {
  (lockswap_rlu_discard)(detail::checked(LOCKSWAP_RLU_AT_DISCARD, p, at));
}
/// Frees an object when nobody can read it any more. May be called in a section; see rlu.h. Throws
/// std::system_error.
template <class T>
void free(T* p, detail::place at = detail::place::current()) {
  detail::checked(LOCKSWAP_RLU_AT_FREE, p, at);
  if (const int error = (lockswap_rlu_free)(p); error != 0)
    throw std::system_error(error, std::generic_category(), "lockswap rlu free");
}

/// Returns the version of the object that this section sees.
template <class T>
[[nodiscard]] T* dereference(T* p, detail::place at = detail::place::current()) noexcept {
  detail::checked(LOCKSWAP_RLU_AT_DEREFERENCE, p, at);
  return static_cast<T*>((lockswap_rlu_dereference)(p));
}
/// Returns the object of which this may be a copy.
template <class T>
[[nodiscard]] T* actual(T* p) noexcept {
  return static_cast<T*>(lockswap_rlu_actual(p));
}
/// Returns whether both are the same object, or copies of it.
template <class T>
[[nodiscard]] bool same(const T* a, const T* b) noexcept {
  return lockswap_rlu_same(a, b) != 0;
}

/// A pointer to an object, for use as a member of an object. It never points to a copy.
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
  /// Returns the object as the calling thread's section sees it.
  [[nodiscard]] T* read(detail::place at = detail::place::current()) const noexcept {
    return rlu::dereference(to_, at);
  }
  /// Returns the object, for comparisons and other links. Don't access its members.
  [[nodiscard]] T* get() const noexcept { return to_; }
  /// Returns whether both point to the same object.
  friend bool operator==(const link& a, const link& b) noexcept = default;

 private:
  T* to_ = nullptr;
};

/// A domain, which limits the deferral of its commits; see rlu.h. It must outlive what is made in
/// it.
class domain {
 public:
  /// Makes a domain that does not defer.
  domain() noexcept = default;
  /// Makes a domain in which a thread may collect that many commits. Throws std::system_error for
  /// 0.
  explicit domain(unsigned deferral) { set_deferral(deferral); }
  domain(const domain&) = delete;
  domain& operator=(const domain&) = delete;
  /// Changes that number from now on. Throws std::system_error for 0.
  void set_deferral(unsigned commits) {
    if (const int error = lockswap_rlu_domain_set_deferral(&domain_, commits); error != 0)
      throw std::system_error(error, std::generic_category(), "lockswap rlu deferral");
  }
  /// Returns the domain for the functions of rlu.h.
  lockswap_rlu_domain* native_handle() noexcept { return &domain_; }

 private:
  lockswap_rlu_domain domain_ = LOCKSWAP_RLU_DOMAIN_INITIALIZER;
};

/// A section, from here to the end of the block. Aborting a section ends it.
class section {
 public:
  /// Begins a section.
  explicit section(detail::place at = detail::place::current()) noexcept : began_(at) {
    detail::checked<void>(LOCKSWAP_RLU_AT_BEGIN, nullptr, at);
    (lockswap_rlu_enter)();
    depth_ = lockswap_rlu_nested();
  }
  section(const section&) = delete;
  section& operator=(const section&) = delete;
  ~section() { end(); }

  /// Returns whether it has neither ended nor been aborted.
  [[nodiscard]] bool is_open() const noexcept {
    return depth_ != 0 && lockswap_rlu_nested() >= depth_;
  }
  /// Ends the section early. The outermost one commits. Checks report the line where it began.
  void end() noexcept {
    if (is_open()) {
      detail::checked<void>(LOCKSWAP_RLU_AT_UNLOCK, nullptr, began_);
      (lockswap_rlu_leave)();
    }
    depth_ = 0;
  }
  /// Ends the section and undoes it. Throws std::bad_alloc and, in a nested section, which goes on,
  /// std::system_error (EDEADLK).
  void abort(detail::place at = detail::place::current()) {
    detail::checked<void>(LOCKSWAP_RLU_AT_ABORT, nullptr, at);
    const int error = (lockswap_rlu_abort)();
    if (error == EDEADLK)
      throw std::system_error(error, std::generic_category(), "lockswap rlu abort");
    depth_ = 0;
    if (error == ENOMEM) throw std::bad_alloc();
  }
  /// Adds the section to this domain, or to the default one; see rlu.h.
  void join(domain* of) const noexcept {
    lockswap_rlu_join(of == nullptr ? nullptr : of->native_handle());
  }

  /// Returns the version of the object that this section sees.
  template <class T>
  [[nodiscard]] T* read(T* p, detail::place at = detail::place::current()) const noexcept {
    return rlu::dereference(p, at);
  }
  /// Returns false if the caller must abort. Otherwise p is the copy that may be changed.
  template <class T>
  requires object<T>
  [[nodiscard]] bool lock(T*& p, detail::place at = detail::place::current()) const noexcept {
    detail::checked(LOCKSWAP_RLU_AT_LOCK, p, at);
    auto* const copy = static_cast<T*>((lockswap_rlu_try_lock)(p));
    if (copy != nullptr) p = copy;
    return copy != nullptr;
  }
  /// Returns false if the caller must abort. Otherwise p is the object as this section sees it, and
  /// does not change.
  template <class T>
  [[nodiscard]] bool lock_const(T*& p, detail::place at = detail::place::current()) const noexcept {
    detail::checked(LOCKSWAP_RLU_AT_LOCK, p, at);
    auto* const seen = static_cast<T*>((lockswap_rlu_try_lock_const)(p));
    if (seen != nullptr) p = seen;
    return seen != nullptr;
  }
  /// Frees the object when this section's commit has taken effect. Throws std::system_error.
  template <class T>
  void free(T* p, detail::place at = detail::place::current()) const {
    rlu::free(p, at);
  }

 private:
  unsigned depth_ = 0;
  [[no_unique_address]] detail::place began_;
};

/// Runs change(section), which returns a std::optional, in a new section, again and again until
/// that has a value, and then commits. Throws std::system_error (EDEADLK) in another section, as in
/// a walk, because a lock of another thread may be released only after that section has ended. So
/// collect the changes and make them after the walk, or make them in the open section. If `change`
/// throws, aborts and throws that. Throws std::bad_alloc.
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
  /// Makes a free lock.
  writer_lock() noexcept = default;
  writer_lock(const writer_lock&) = delete;
  writer_lock& operator=(const writer_lock&) = delete;
  /// Waits until it is free, as std::lock_guard and std::unique_lock require.
  void lock() {
    if (const int error = lockswap_rlu_writer_acquire(&lock_); error != 0)
      throw std::system_error(error, std::generic_category(), "lockswap rlu writer lock");
  }
  /// Releases the lock.
  void unlock() noexcept { lockswap_rlu_writer_release(&lock_); }
  /// Returns the lock for the functions of rlu.h.
  lockswap_rlu_writer_lock* native_handle() noexcept { return &lock_; }

 private:
  lockswap_rlu_writer_lock lock_ = LOCKSWAP_RLU_WRITER_LOCK_INITIALIZER;
};

}  // namespace lockswap::rlu

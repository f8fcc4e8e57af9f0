/// @file
/// C++26's names of read-copy-update ([saferecl.rcu], `<rcu>`) for Read-Log-Update (rlu.h). C++20.
///
///     struct config : lockswap::rlu::rcu_obj_base<config> { ... };
///     std::atomic<config*> current;
///
///     { const std::scoped_lock region(lockswap::rlu::rcu_default_domain());   // a reader
///       use(*current.load(std::memory_order_acquire)); }
///     current.exchange(fresh, std::memory_order_acq_rel)->retire();           // a writer
///
/// A region of protection is a section. So regions nest, mix with sections that use objects of
/// rlu.h, and never wait. There is one domain for the process, as in the standard. The names have
/// the standard's meaning, except that a wait in a region, which is undefined there, ends the
/// program.
#pragma once

#include <cstddef>
#include <exception>
#include <memory>
#include <type_traits>
#include <utility>

#include "lockswap/rlu.hpp"

namespace lockswap::rlu {

/// Regions of protection, for std::scoped_lock and the like.
class rcu_domain {
 public:
  rcu_domain(const rcu_domain&) = delete;
  rcu_domain& operator=(const rcu_domain&) = delete;
  /// Opens a region. Never waits.
  void lock() noexcept { (lockswap_rlu_enter)(); }
  /// Closes the innermost region.
  void unlock() noexcept { (lockswap_rlu_leave)(); }

 private:
  constexpr rcu_domain() noexcept = default;
  friend rcu_domain& rcu_default_domain() noexcept;
};

/// Returns the only domain.
inline rcu_domain& rcu_default_domain() noexcept {
  static constinit rcu_domain domain;
  return domain;
}

/// @cond private
namespace detail {
// In a region, the process ends with a message.
inline void must_have_waited(int error) noexcept {
  if (error == 0) return;
  lockswap_rlu_check(LOCKSWAP_RLU_AT_WAIT, nullptr, __FILE__, __LINE__);
  std::terminate();
}
}  // namespace detail
/// @endcond

/// Waits until all regions that were opened before have been closed. Must not be called in a
/// region.
inline void rcu_synchronize(rcu_domain& /*of*/ = rcu_default_domain()) noexcept {
  detail::must_have_waited((lockswap_rlu_synchronize)());
}
/// Waits until everything that was retired before has been deleted. Must not be called in a region
/// or a deleter.
inline void rcu_barrier(rcu_domain& /*of*/ = rcu_default_domain()) noexcept {
  detail::must_have_waited((lockswap_rlu_barrier)());
}

/// The base class of objects that are retired without an allocation.
template <class T, class D = std::default_delete<T>>
class rcu_obj_base {
 public:
  /// Deletes the object when all regions that were opened before have been closed, in a thread that
  /// is in none. The object must have been removed from what readers access. Never waits in a
  /// region.
  void retire(D d = D(), rcu_domain& /*of*/ = rcu_default_domain()) noexcept {
    retired_.deleter = std::move(d);
    lockswap_rlu_call(&retired_.callback, [](lockswap_rlu_callback* c) noexcept {
      auto* const self = reinterpret_cast<retired*>(c)->of;
      D deleter = std::move(self->retired_.deleter);
      deleter(static_cast<T*>(self));
    });
  }

 protected:
  rcu_obj_base() = default;
  /// A copy is not retired.
  rcu_obj_base(const rcu_obj_base& /*other*/) noexcept {}
  /// The object stays retired if it is.
  rcu_obj_base& operator=(const rcu_obj_base& /*other*/) noexcept { return *this; }
  ~rcu_obj_base() = default;

 private:
  struct retired {
    lockswap_rlu_callback callback{};
    rcu_obj_base* of = nullptr;
    D deleter{};
  };
  retired retired_{{}, this, {}};
};

/// The same for any object. Allocates by `new`. Throws std::bad_alloc.
template <class T, class D = std::default_delete<T>>
void rcu_retire(T* p, D d = D(), rcu_domain& /*of*/ = rcu_default_domain()) {
  struct note {
    lockswap_rlu_callback callback;
    T* object;
    D deleter;
  };
  auto* const n = new note{{}, p, std::move(d)};
  lockswap_rlu_call(&n->callback, [](lockswap_rlu_callback* c) noexcept {
    const std::unique_ptr<note> mine(reinterpret_cast<note*>(c));
    mine->deleter(mine->object);
  });
}

}  // namespace lockswap::rlu

// The locks of Concurrency Kit, which are inlined. They only spin, without yielding.
#include <ck_brlock.h>
#include <ck_pflock.h>
#include <ck_rwlock.h>
#include <ck_spinlock.h>

#include "works.h"

namespace peers {
namespace {

struct CkRwlock {
  static constexpr const char* kName = "ck-rwlock";
  static constexpr const char* kType = "ck_rwlock_t";
  static constexpr Promises kPromises{};
  static constexpr bool kOnlySpins = true;
  using Seat = bench::NoSeat;
  ck_rwlock_t own = CK_RWLOCK_INITIALIZER;

  void lock(Seat&) { ck_rwlock_write_lock(&own); }
  void unlock(Seat&) { ck_rwlock_write_unlock(&own); }
  void lock_shared(Seat&) { ck_rwlock_read_lock(&own); }
  void unlock_shared(Seat&) { ck_rwlock_read_unlock(&own); }
};

struct CkPflock {
  static constexpr const char* kName = "ck-pflock";
  static constexpr const char* kType = "ck_pflock_t";
  static constexpr Promises kPromises{};
  static constexpr bool kOnlySpins = true;
  using Seat = bench::NoSeat;
  ck_pflock_t own = CK_PFLOCK_INITIALIZER;

  void lock(Seat&) { ck_pflock_write_lock(&own); }
  void unlock(Seat&) { ck_pflock_write_unlock(&own); }
  void lock_shared(Seat&) { ck_pflock_read_lock(&own); }
  void unlock_shared(Seat&) { ck_pflock_read_unlock(&own); }
};

// Each thread has a place in the lock's list of readers.
struct CkBrlock {
  static constexpr const char* kName = "ck-brlock";
  static constexpr const char* kType = "ck_brlock_t";
  // A thread that reads already counts itself up.
  static constexpr Promises kPromises{.recursive = true};
  static constexpr bool kOnlySpins = true;
  ck_brlock_t own = CK_BRLOCK_INITIALIZER;

  struct Seat {
    explicit Seat(CkBrlock& of) : lock(&of.own) { ck_brlock_read_register(lock, &own); }
    ~Seat() { ck_brlock_read_unregister(lock, &own); }
    Seat(const Seat&) = delete;
    Seat& operator=(const Seat&) = delete;
    ck_brlock_reader_t own;
    ck_brlock_t* lock;
  };

  void lock(Seat&) { ck_brlock_write_lock(&own); }
  void unlock(Seat&) { ck_brlock_write_unlock(&own); }
  void lock_shared(Seat& seat) { ck_brlock_read_lock(&own, &seat.own); }
  void unlock_shared(Seat& seat) { ck_brlock_read_unlock(&seat.own); }
};

struct CkMcs {
  static constexpr const char* kName = "ck-mcs";
  static constexpr const char* kType = "ck_spinlock_mcs_t";
  static constexpr Promises kPromises{};
  static constexpr bool kOnlySpins = true;
  ck_spinlock_mcs_t own = CK_SPINLOCK_MCS_INITIALIZER;

  struct Seat {
    explicit Seat(CkMcs&) {}
    ck_spinlock_mcs_context_t own;
  };

  void lock(Seat& seat) { ck_spinlock_mcs_lock(&own, &seat.own); }
  void unlock(Seat& seat) { ck_spinlock_mcs_unlock(&own, &seat.own); }
};

struct CkTicket {
  static constexpr const char* kName = "ck-ticket";
  static constexpr const char* kType = "ck_spinlock_ticket_t";
  static constexpr Promises kPromises{};
  static constexpr bool kOnlySpins = true;
  using Seat = bench::NoSeat;
  ck_spinlock_ticket_t own = CK_SPINLOCK_TICKET_INITIALIZER;

  void lock(Seat&) { ck_spinlock_ticket_lock(&own); }
  void unlock(Seat&) { ck_spinlock_ticket_unlock(&own); }
};

const Registered<CkRwlock, CkPflock, CkBrlock, CkMcs, CkTicket> registered;

}  // namespace
}  // namespace peers

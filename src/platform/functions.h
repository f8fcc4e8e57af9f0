// The functions that programs lock and wait with, as tables of pointers, and how to wrap such a
// table. Each table (system_rwlock.h, system_mutex.h, system_waits.h) is a list with a line per
// function: its name, what it does, and its parameters. The table's members are generated from
// these lines, and so is every table that wraps another one.
//
// An observer is a class with a function `on`, which is called in place of the table's functions:
//
//   struct CountLocks {
//     static int on(auto call, auto... args) noexcept { return call.next(args...); }
//     template <LockCall C>
//     static int on(C call, auto* lock, auto... args) noexcept {
//       const int error = call.next(lock, args...);
//       if (error == 0) ++locks_taken;
//       return error;
//     }
//   };
//   constexpr RwOps counting = around<CountLocks, system_rwlock>;
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace lockswap {

enum class Act : std::uint8_t {
  init,
  destroy,
  lock,         // a mutex, or a reader-writer lock for writing
  lock_shared,  // for reading
  unlock,
  wait,  // for a condition, a semaphore or other threads
  signal,
  broadcast,
  look,
};
enum class Form : std::uint8_t {
  plain,
  attempt,  // does not wait
  timed,    // waits until a time of the object's clock
  clock,    // waits until a time of a clock that the call names
};

// A line of a list. `place`: the line's number.
struct Function {
  Act act;
  Form form;
  std::uint8_t place;
};

// The members of a table. FUNCTIONS is its list: a macro that applies X to each line, which is
// X(name, act, form, parameters...). of_each makes a table of Each<&Table::name, Function>::call.
#define LOCKSWAP_TABLE(Table, FUNCTIONS)          \
  FUNCTIONS(LOCKSWAP_MEMBER)                      \
  using Self = Table;                             \
  template <template <auto, Function> class Each> \
  static consteval Table of_each() noexcept {     \
    return {FUNCTIONS(LOCKSWAP_MEMBER_OF_EACH)};  \
  }
#define LOCKSWAP_MEMBER(name, act, form, ...) int (*name)(__VA_ARGS__);
#define LOCKSWAP_MEMBER_OF_EACH(name, act, form, ...) \
  Each<&Self::name,                                   \
       Function{Act::act, Form::form, offsetof(Self, name) / sizeof(void (*)())}>::call,

// One call of a function, as an observer sees it: what the function does, where the program called
// it, and the function that the observer wraps. `next` is static, so a lambda need not capture the
// call: C::next(args...).
template <auto& kTable, auto kMember, Function kFunction>
struct Call {
  static constexpr Act kAct = kFunction.act;
  static constexpr Form kForm = kFunction.form;
  static constexpr std::size_t kPlace = kFunction.place;
  static constexpr bool kReads = kAct == Act::lock_shared;
  static constexpr bool kHasDeadline = kForm == Form::timed || kForm == Form::clock;

  // These call the function of the wrapped table, and the same one of another table.
  template <class... Args>
  [[gnu::always_inline]] static int next(Args... args) {
    return (kTable.*kMember)(args...);
  }
  template <class Table, class... Args>
  [[gnu::always_inline]] static int of(const Table& table, Args... args) {
    return (table.*kMember)(args...);
  }
  template <class Table>
  static bool is_in(const Table& table) {
    return table.*kMember != nullptr;
  }

  const void* caller;
};

template <class C>
concept InitCall = C::kAct == Act::init;
template <class C>
concept DestroyCall = C::kAct == Act::destroy;
template <class C>
concept LockCall = C::kAct == Act::lock || C::kAct == Act::lock_shared;
template <class C>
concept UnlockCall = C::kAct == Act::unlock;
template <class C>
concept WaitCall = C::kAct == Act::wait;
template <class C>
concept SignalCall = C::kAct == Act::signal || C::kAct == Act::broadcast;

template <class Observer, auto& kTable>
struct Around {
  template <auto kMember, Function kFunction>
  struct Each;
  template <class Table, class... Args, int (*Table::*kMember)(Args...), Function kFunction>
  struct Each<kMember, kFunction> {
    // The exported functions jump here, so this returns to the program. It isn't noexcept, because
    // a cancellation unwinds waits.
    static int call(Args... args) {
      return Observer::on(Call<kTable, kMember, kFunction>{__builtin_return_address(0)}, args...);
    }
  };
  static constexpr auto table = std::remove_cvref_t<decltype(kTable)>::template of_each<Each>();
};

// The table of an observer around kTable's functions.
template <class Observer, auto& kTable>
inline constexpr auto around = Around<Observer, kTable>::table;

}  // namespace lockswap

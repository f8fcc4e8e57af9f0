// Operations on atomics.
#include <algorithm>
#include <cstdio>

#include "multicore/explore/machine.h"

namespace lockswap::explore {

int Machine::enroll(const void* address, std::uint64_t initial) {
  const int location = memory_.enroll(address, initial);
  if (location == Memory::kFull) fail("too many atoms: raise kMaxLocations");
  return location;
}

std::vector<Machine::Preset> Machine::values() const {
  std::vector<Preset> all;
  for (int i = 0; i < memory_.count(); ++i) {
    // If an object was made again at its address, there are earlier atomics, too.
    const void* const atom = memory_.address_of(i);
    if (memory_.find(atom) == i) all.push_back({atom, memory_.newest_value(i)});
  }
  return all;
}

const Site& Machine::site_of(Op op, const Site& site) {
  const bool of_caller = (op == Op::load || op == Op::await) && me().caller.set;
  return of_caller ? me().caller.site : site;
}

Order Machine::mutated_order(Op op, Order order, const Site& site) {
  // A lock passes a single order to a wait policy, however the policy polls.
  if (op == Op::load && me().caller.set) op = Op::await;
  if (sites != nullptr && order != relaxed) sites->add(op, order, site_of(op, site));
  return mutates(Mutation::weaken, op, order, site_of(op, site)) ? mutation->order : order;
}

Order Machine::begin_access(Op op, int location, Order order, const Site& site) {
  me().at = site;
  point();
  if (memory_.poisoned(location)) {
    fail("%s of an object that is gone, at %s:%u", name_of(op), file_of(site), site.line());
  }
  flush_delayed_stores(location);
  return order_of(op, order, site);
}

Order Machine::begin_update(Op op, int location, Order order, const Site& site) {
  order = begin_access(op, location, order, site);
  drain(current_);
  return order;
}

std::uint64_t Machine::newest_for(int thread, int location) const {
  const std::uint64_t* own = memory_.forwarded(thread, location);
  return own != nullptr ? *own : memory_.newest_value(location);
}

// --- the choices that c11 allows; the other models leave only one

// Returns one of the writes that the thread may read, the newest first.
int Machine::choose_write(int location, Order order) {
  const int newest = memory_.newest(location);
  if (left_.stale == 0) return newest;
  const int oldest = memory_.oldest_readable(current_, location, order);
  const int back = search.choose(newest - oldest + 1);
  if (back != 0) --left_.stale;
  return newest - back;
}

// Returns the write after which the thread's new one is inserted.
int Machine::choose_place(int location, Order order) {
  const int newest = memory_.newest(location);
  if (left_.stale == 0) return newest;
  int options[kMostWrites + 1];
  int n = 0;
  options[n++] = newest;
  for (int i = newest; i-- > memory_.oldest_readable(current_, location, order);) {
    if (memory_.may_follow(location, i)) options[n++] = i;
  }
  const int place = options[search.choose(n)];
  if (place != newest) --left_.stale;
  return place;
}

// --- loads and stores

std::uint64_t Machine::load(int location, Order order, const Site& site) {
  if (checking_) [[unlikely]]
    return newest_for(current_, location);
  const Order declared = order;
  order = begin_access(Op::load, location, order, site);
  if (mutates(Mutation::force_value, Op::load, declared, site_of(Op::load, site))) {
    return mutation->value;
  }
  if (const std::uint64_t* own = memory_.forwarded(current_, location); own != nullptr) {
    if (is_traced()) trace_access(Op::load, location, order, site, "-> %#lx (its own)", *own);
    adds(*own);
    returns(*own);
    return *own;
  }
  const int index = choose_write(location, order);
  memory_.read(current_, location, index, order);
  const std::uint64_t v = memory_.value(location, index);
  returns(v);
  if (is_traced())
    trace_access(Op::load, location, order, site, "-> %#lx%s", v,
                 index != memory_.newest(location) ? " (stale)" : "");
  return v;
}

void Machine::append(int location, int before, std::uint64_t value, Order order, bool is_update) {
  if (!memory_.write(current_, location, before, value, order, is_update)) {
    fail("too many writes: the execution is too long for this machine");
  }
  ++writes_;
  idle_rounds_ = 0;
}

void Machine::store(int location, std::uint64_t value, Order order, const Site& site) {
  const Order declared = order;
  order = begin_access(Op::store, location, order, site);
  if (mutates(Mutation::drop, Op::store, declared, site)) return;
  if (model == MemoryModel::tso && !alone()) {
    const bool behind_others = memory_.has_delayed(current_);
    if (order == seq_cst) {
      drain(current_);
    } else if (behind_others || (left_.stale > 0 && search.choose(2) == 1)) {
      if (!behind_others) --left_.stale;
      if (!memory_.delay(current_, location, value, order)) fail("too many writes by one thread");
      if (is_traced()) trace_access(Op::store, location, order, site, "= %#lx (delayed)", value);
      return;
    }
  }
  const int newest = memory_.newest(location);
  const int before = choose_place(location, order);
  append(location, before, value, order, false);
  if (is_traced())
    trace_access(Op::store, location, order, site, "= %#lx%s", value,
                 before != newest ? " (before newer ones)" : "");
}

void Machine::scribble(int location, std::uint64_t value) {
  if (!memory_.write(current_, location, memory_.newest(location), value, relaxed, false)) {
    fail("too many writes: the execution is too long for this machine");
  }
}

void Machine::flush_one(int thread) {
  const int location = memory_.flush_one(thread);
  if (location == Memory::kFull) fail("too many writes: the execution is too long");
  if (memory_.poisoned(location))
    fail("a delayed store of T%d meets an object that is gone", thread);
  if (is_traced()) note("(a delayed store of T%d reaches %s)", thread, atom_name(location).c_str());
  ++writes_;
  idle_rounds_ = 0;
}

// When a delayed store reaches memory matters only if some thread reads or stores to the same
// atomic. So the choice is made then: before an access, before the buffer must be empty, and (in
// next_thread) while a thread waits.

// Called before the calling thread's access to an atomic: some stores of other threads may arrive
// first.
void Machine::flush_delayed_stores(int location) {
  if (model != MemoryModel::tso) return;
  for (;;) {
    std::uint32_t threads = 0;
    for (int i = 0; i < count_; ++i) {
      if (i != current_ && memory_.has_delayed(i, location)) threads |= 1u << i;
    }
    if (threads == 0) return;
    threads = memory_.related(threads);
    int options[kMaxThreads + 1];
    int n = 0;
    options[n++] = kMaxThreads;  // none of them
    for (int i = 0; i < count_; ++i) {
      if ((threads >> i & 1) != 0) options[n++] = i;
    }
    const int next = options[search.choose(n)];
    if (next == kMaxThreads) return;
    flush_one(next);
  }
}

// All of the thread's own stores reach memory now.
void Machine::drain(int thread) {
  while (memory_.has_delayed(thread)) {
    const std::uint32_t threads = memory_.related(1u << thread);
    int options[kMaxThreads];
    int n = 0;
    options[n++] = thread;
    for (int i = 0; i < count_; ++i) {
      if (i != thread && (threads >> i & 1) != 0) options[n++] = i;
    }
    flush_one(options[search.choose(n)]);
  }
}

// --- read-modify-writes

void Machine::finish_update(Op op, int location, int read, std::uint64_t value, Order order,
                            const Site& site) {
  const bool between = read != memory_.newest(location);
  const std::uint64_t old = memory_.value(location, read);
  memory_.read(current_, location, read, order);
  returns(old);
  append(location, read, value, order, true);
  if (is_traced())
    trace_access(op, location, order, site, "%#lx -> %#lx%s", old, value,
                 between ? " (before newer ones)" : "");
  if (me().at_doorway) {
    me().at_doorway = false;
    on_doorway(current_);
  }
}

void Machine::expect_one_thread(Op op, const Site& site) {
  if (has_one_thread()) return;
  fail("%s of a thread that is alone, beside other threads, at %s:%u", name_of(op), file_of(site),
       site.line());
}

// The strong form. A failed one is a relaxed load, which may be stale.
bool Machine::compare_exchange(int location, std::uint64_t& expected, std::uint64_t desired,
                               Order order, const Site& site) {
  order = begin_update(Op::compare_exchange, location, order, site);
  const int newest = memory_.newest(location);
  int options[kMostWrites + 1];
  int n = 0;
  options[n++] = newest;
  if (left_.stale > 0) {
    const int oldest = memory_.oldest_readable(current_, location, order);
    for (int i = newest; i-- > memory_.oldest_readable(current_, location, relaxed);) {
      const bool succeeds = memory_.value(location, i) == expected;
      if (!succeeds || (i >= oldest && memory_.may_follow(location, i))) options[n++] = i;
    }
  }
  const int index = options[search.choose(n)];
  if (index != newest) --left_.stale;
  const std::uint64_t seen = memory_.value(location, index);
  if (seen == expected) {
    finish_update(Op::compare_exchange, location, index, desired, order, site);
    return true;
  }
  memory_.read(current_, location, index, relaxed);
  returns(seen);
  if (is_traced())
    trace_access(Op::compare_exchange, location, relaxed, site,
                 "fails, expected %#lx, found %#lx%s", expected, seen,
                 index != newest ? " (stale)" : "");
  expected = seen;
  return false;
}

// --- plain data, fences and messages

void Machine::touch(const void* address, const char* how, const Site& site) {
  if (memory_.poisoned(address)) {
    fail("%s of an object that is gone, at %s:%u", how, file_of(site), site.line());
  }
}

void Machine::fence(Op op, Order order, const Site& site) {
  me().at = site;
  point();
  order = order_of(op, order, site);
  if (order == seq_cst) drain(current_);
  memory_.fence(current_, order);
  if (is_traced()) note("%s %s  %s:%u", name_of(op), name_of(order), file_of(site), site.line());
}

void Machine::heavy_fence(const Site& site) {
  const auto in = [this](int thread) {
    point();
    drain(thread);
    memory_.fence(thread, seq_cst);
  };
  if (is_traced()) note("heavy fence  %s:%u", file_of(site), site.line());
  in(current_);
  for (int i = 0; i < count_; ++i) {
    if (i != current_) in(i);
  }
  in(current_);
  note("heavy fence done");
}

int Machine::hand_on() {
  drain(current_);
  return memory_.hand_on(current_);
}

// Returns for example "lock [6]": what the atomic belongs to, and its number in the order of first
// accesses.
std::string Machine::atom_name(int location) const {
  const std::string known = what_is ? what_is(memory_.address_of(location)) : "";
  return known + (known.empty() ? "[" : " [") + std::to_string(location) + ']';
}

void Machine::trace_access(Op op, int location, Order order, const Site& site, const char* f, ...) {
  char what[96];
  va_list args;
  va_start(args, f);
  std::vsnprintf(what, sizeof what, f, args);
  va_end(args);
  const Site& s = site_of(op, site);
  const bool elsewhere = s.line() != site.line() || s.file_name() != site.file_name();
  note("%-16s %-10s %-28s %-8s %s:%u%s", name_of(op), atom_name(location).c_str(), what,
       name_of(order), file_of(site), site.line(),
       elsewhere ? (std::string(" for ") + file_of(s) + ':' + std::to_string(s.line())).c_str()
                 : "");
}

}  // namespace lockswap::explore

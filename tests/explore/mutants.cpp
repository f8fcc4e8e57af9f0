#include "mutants.h"

namespace lockswap::explore {
namespace {

SeededFault weak(const char* name, const char* file, const char* function, Op op, Order from,
                 Order to, const char* found_by) {
  return {.mutation = {.name = name,
                       .file = file,
                       .function = function,
                       .op = op,
                       .declared = from,
                       .kind = Mutation::weaken,
                       .order = to},
          .found_by = found_by};
}
SeededFault blind(const char* name, const char* file, const char* function, Order order,
                  std::uint64_t sees, const char* found_by) {
  return {.mutation = {.name = name,
                       .file = file,
                       .function = function,
                       .op = Op::load,
                       .declared = order,
                       .kind = Mutation::force_value,
                       .value = sees},
          .found_by = found_by};
}
SeededFault silent(const char* name, const char* file, const char* function, const char* found_by) {
  return {.mutation = {.name = name,
                       .file = file,
                       .function = function,
                       .op = Op::wake,
                       .declared = relaxed,
                       .kind = Mutation::drop},
          .found_by = found_by};
}

constexpr std::uint64_t kBiasOn = 1;
constexpr std::uint64_t kRowsOpen = 0x30;

}  // namespace

std::vector<SeededFault> seeded_faults() {
  return {
      // --- range locks: the pairs of putting in and looking again, of walking and taking out
      weak("list-rw: a reader puts itself in with acq_rel", "walk.h", "insert",
           Op::compare_exchange, seq_cst, acq_rel, "list-rw/spin/figure-1"),
      weak("list-rw: a reader looks on with acquire", "walk.h", "look_on", Op::load, seq_cst,
           acquire, "list-rw/spin/figure-1"),
      weak("list-rw: a writer begins to look back with acquire", "walk.h", "look", Op::load,
           seq_cst, acquire, "list-rw/spin/figure-1"),
      weak("list-rw: a writer looks back with acquire", "walk.h", "look_back", Op::load, seq_cst,
           acquire, "list-rw/spin/figure-1-behind"),
      weak("list: a release has no order", "in_list.h", "mark_released", Op::fetch_or, release,
           relaxed, "list-ex/spin/recycle-wait"),
      weak("list: the release of a range alone has no order", "in_list.h", "release_alone",
           Op::compare_exchange, release, relaxed, "list-ex/spin/overlap"),
      weak("list: a range alone is acquired with release", "in_list.h", "acquire_alone",
           Op::compare_exchange, acq_rel, release, "list-ex/spin/twice"),
      silent("list: a release wakes nobody", "in_list.h", "wake", "list-ex/park/overlap"),
      weak("epochs: a walk begins with a release store", "epoch.h", "begin", Op::store, seq_cst,
           release, "list-ex/spin/recycle"),
      weak("epochs: a walk's time is looked at with acquire", "epoch.h", "is_over", Op::load,
           seq_cst, acquire, "list-ex/spin/recycle"),
      blind("epochs: nobody is seen walking", "epoch.h", "is_over", seq_cst, 0,
            "list-ex/spin/recycle"),
      blind("pools: pins are not seen", "node.h", "pinned", acquire, 0,
            "list-ex/spin/recycle-wait"),
      weak("list: a node is taken out with acq_rel", "walk.h", "take_out", Op::compare_exchange,
           seq_cst, acq_rel, "list-ex/spin/recycle-two-locks"),
      weak("list: a walk's later links are loaded with acquire", "walk.h", "insert", Op::load,
           seq_cst, acquire, "list-ex/spin/recycle-behind"),
      weak("list: kAlone is taken away with relaxed", "walk.h", "look", Op::compare_exchange,
           seq_cst, relaxed, "list-ex/spin/alone-again"),
      weak("epochs: a walk ends with relaxed", "epoch.h", "end", Op::store, release, relaxed,
           "list-ex/spin/recycle-try"),

      // --- the RLU library: rows, clock, objects' words, logs
      weak("rlu library: a section ends with relaxed", "clock_rows.h", "end", Op::store, release,
           relaxed, "rlu-log/1w1r"),
      weak("rlu library: a section begins with a relaxed look at the clock", "clock_rows.h",
           "begin", Op::load, acquire, relaxed, "rlu-log/1w1r"),
      weak("rlu library: the clock is moved by a relaxed store", "commit_clock.h", "move_to",
           Op::store, release, relaxed, "rlu-log/1w1r"),
      weak("rlu library: logs are handed on with relaxed", "context.h", "leave", Op::store, release,
           relaxed, "rlu-log/help-reader"),
      weak("rlu library: logs are taken with relaxed", "context.h", "try_use", Op::compare_exchange,
           acquire, relaxed, "rlu-log/help-reader"),

      // --- BRAVO: the Dekker pair of publishing and revoking, and the scan
      blind("bravo: the bias is not looked at again", "bravo.h", "recheck_bias", seq_cst, kBiasOn,
            "bravo-pf-t/spin/1w2r"),
      weak("bravo: the bias is looked at again with acquire", "bravo.h", "recheck_bias", Op::load,
           seq_cst, acquire, "bravo-pf-t/spin/1w2r"),
      weak("bravo: a reader publishes itself with acq_rel", "table_slots.h", "fill",
           Op::compare_exchange, seq_cst, acq_rel, "bravo-pf-t/spin/1w2r"),
      weak("bravo: the scan's loads follow no seq_cst fence", "table_slots.h", "wait",
           Op::scan_enter, seq_cst, acq_rel, "bravo-pf-t/spin/1w2r"),
      weak("bravo: no acquire fence after the scan", "table_slots.h", "wait", Op::scan_leave,
           acquire, relaxed, "bravo-pf-t/spin/1w2r"),
      weak("bravo: a fast reader releases with relaxed", "table_slots.h", "fast_vacate",
           Op::compare_exchange, release, relaxed, "bravo-pf-t/spin/1w2r"),
      weak("bravo: the bias is switched on with relaxed", "bravo_biasing.h", "consider_bias",
           Op::compare_exchange, release, relaxed, "bravo-pf-t/spin/1w2r"),
      silent("bravo: a reader does not wake the revoker", "table_slots.h", "clear",
             "bravo-pf-t/park/twice"),
      weak("bravo: who backs out into another's hold does not acquire", "table_slots.h", "vacate",
           Op::load, acquire, relaxed, "bravo-pf-t/spin/foreign-back-out"),

      // --- bravo-asym: its readers are rlu-asym's
      blind("bravo-asym: the bias is not looked at again", "bravo.h", "recheck_bias", acquire,
            kBiasOn, "bravo-asym-pf-t/spin/1w2r"),
      weak("bravo-asym: the bias is looked at again with relaxed", "bravo.h", "recheck_bias",
           Op::load, acquire, relaxed, "bravo-asym-pf-t/spin/1w2r"),
      weak("bravo-asym: a reader empties its section with relaxed", "asymmetric.h", "fast_vacate",
           Op::store, release, relaxed, "bravo-asym-pf-t/spin/1w2r"),
      weak("bravo-asym: a foreign release looks at a reader that releases with relaxed",
           "asymmetric.h", "vacate_any", Op::load, acquire, relaxed,
           "bravo-asym-pf-t/spin-cold/exit-reading"),
      silent("bravo-asym: a reader does not wake the revoker", "asymmetric.h", "wake",
             "bravo-asym-pf-t/park/twice"),

      // --- eventual: the wait queue, and waiting readers
      weak("eventual: a free lock is taken with relaxed", "eventual_queue.h", "take_free",
           Op::compare_exchange, acquire, relaxed, "core/mutex/eventual/spin/2w"),
      weak("eventual: the head waiter takes the lock with relaxed", "eventual_head.h",
           "take_as_head", Op::compare_exchange, acquire, relaxed, "core/mutex/eventual/spin/2w"),
      weak("eventual: a mutex that nobody waits for is released with relaxed",
           "common/eventual_lock.h", "fast_unlock", Op::compare_exchange, release, relaxed,
           "core/mutex/eventual/spin/2w"),
      weak("eventual: a mutex is released with relaxed", "eventual_queue.h", "release_mutex",
           Op::compare_exchange, release, relaxed, "core/mutex/eventual/spin/2w"),
      silent("eventual: a release wakes nobody", "eventual_queue.h", "wake_next",
             "core/mutex/eventual/park-at-once/3w"),
      weak("eventual: a reader arrives with relaxed", "rw/eventual.h", "read_if_free",
           Op::compare_exchange, acquire, relaxed, "core/eventual/spin/1w2r"),
      weak("eventual: a reader that waited comes in with relaxed", "rw/eventual_readers.h", "enter",
           Op::compare_exchange, acquire, relaxed, "core/eventual/spin/1w2r"),
      weak("eventual: a reader leaves with relaxed", "rw/eventual.h", "read_unlock",
           Op::compare_exchange, release, relaxed, "core/eventual/spin/1w2r"),
      weak("eventual: a lock with waiters is left with relaxed", "rw/eventual.h", "try_to_leave",
           Op::compare_exchange, release, relaxed, "core/eventual/spin/1w2r"),
      silent("eventual: readers are not woken", "rw/eventual.h", "wake_readers",
             "core/eventual/park-at-once/1w2r"),

      // --- exclusive
      weak("exclusive: a free lock is taken with relaxed", "exclusive.h", "take",
           Op::compare_exchange, acquire, relaxed, "core/exclusive/spin/1w2r"),
      weak("exclusive: a thread that waited takes the lock with relaxed", "exclusive.h",
           "take_slowly", Op::compare_exchange, acquire, relaxed, "core/exclusive/spin/1w2r"),
      weak("exclusive: a reader joins others with relaxed", "exclusive.h", "join_readers",
           Op::compare_exchange, acquire, relaxed, "core/exclusive/spin/try-read"),
      weak("exclusive: a reader leaves with relaxed", "exclusive.h", "read_unlock",
           Op::compare_exchange, release, relaxed, "core/exclusive/spin/1w2r"),
      weak("exclusive: a writer leaves with relaxed", "exclusive.h", "write_unlock", Op::exchange,
           release, relaxed, "core/exclusive/spin/1w2r"),
      silent("exclusive: a release wakes nobody", "exclusive.h", "wake",
             "core/exclusive/park/1w2r"),

      // --- PF-T
      weak("pf-t: a reader arrives with relaxed", "pf-t.h", "read_arrive", Op::fetch_add, acquire,
           relaxed, "core/pf-t/spin/1w2r"),
      weak("pf-t: a reader below an unbiased bias arrives with relaxed", "pf-t.h", "read_if_open",
           Op::compare_exchange, acquire, relaxed, "bravo-pf-t/spin-seldom/1w2r"),
      weak("pf-t: a reader waits with relaxed", "pf-t.h", "read_wait", Op::await, acquire, relaxed,
           "core/pf-t/spin/1w2r"),
      weak("pf-t: a reader leaves with relaxed", "pf-t.h", "read_unlock", Op::fetch_add, release,
           relaxed, "core/pf-t/spin/1w2r"),
      weak("pf-t: a writer drains with relaxed", "pf-t.h", "wait_to_drain", Op::await, acquire,
           relaxed, "core/pf-t/spin/1w2r"),
      weak("pf-t: a writer looks whether all have left with relaxed", "pf_t_state.h", "all_left_at",
           Op::load, acquire, relaxed, "core/pf-t/spin/1w2r"),
      weak("pf-t: a writer leaves with relaxed", "pf-t.h", "write_unlock", Op::compare_exchange,
           release, relaxed, "core/pf-t/spin/1w2r"),
      silent("pf-t: the last reader does not wake the writer", "pf-t.h", "read_unlock",
             "core/pf-t/park/1w2r"),
      silent("pf-t: a writer that leaves wakes nobody", "pf-t.h", "write_unlock",
             "core/pf-t/park/1w2r"),
      weak("pf-t: has_readers looks at departures with relaxed", "pf_t_state.h", "has_readers",
           Op::load, acquire, relaxed, "pf-t/spin/foreign-beside"),

      weak("park: a sleeper lies down with relaxed", "park.h", "sleep", Op::compare_exchange,
           release, relaxed, "core/pf-t/park/3w"),

      // --- BA
      weak("ba: a reader arrives with relaxed", "ba.h", "read_arrive", Op::fetch_add, acquire,
           relaxed, "core/ba/spin/1w2r"),
      weak("ba: a reader below an unbiased bias arrives with relaxed", "ba.h", "read_if_open",
           Op::compare_exchange, acquire, relaxed, "bravo-ba/spin-seldom/1w2r"),
      weak("ba: a reader leaves with acquire only", "ba.h", "read_unlock", Op::fetch_add, acq_rel,
           acquire, "core/ba/spin/1w2r"),
      weak("ba: the last reader does not acquire the others", "ba.h", "read_unlock", Op::fetch_add,
           acq_rel, release, "core/ba/spin/1w2r"),
      weak("ba: a gate is opened with acquire", "ba_node.h", "open", Op::exchange, acq_rel, acquire,
           "core/ba/spin/2w1r"),
      weak("ba: a phase ends with relaxed", "ba_readers.h", "end_phase", Op::compare_exchange,
           release, relaxed, "core/ba/spin/1w2r"),
      silent("ba: a gate is opened without a wake", "ba_node.h", "open", "core/ba/park/2w1r"),
      silent("ba: a phase ends without a wake", "ba_readers.h", "end_phase", "core/ba/park/2w1r"),

      // --- per-cpu
      weak("per-cpu: a reader leaves with relaxed", "ba.h", "read_unlock", Op::fetch_add, acq_rel,
           relaxed, "core/per-cpu/spin/1w2r"),

      // --- cohort: the Dekker pair of counting in and appearing, and the rest
      weak("cohort: a reader counts in with acq_rel", "reader_indicator.h", "arrive", Op::fetch_add,
           seq_cst, acq_rel, "core/cohort/spin/1w2r"),
      weak("cohort: a reader looks for a writer with acquire", "rw/cohort.h", "enter", Op::load,
           seq_cst, acquire, "core/cohort/spin/1w2r"),
      weak("cohort: a writer appears with acq_rel", "cohort_writers.h", "appear",
           Op::compare_exchange, seq_cst, acq_rel, "core/cohort/spin/1w2r"),
      weak("cohort: a writer looks for arrivals with acquire", "reader_indicator.h", "arrivals",
           Op::load, seq_cst, acquire, "core/cohort/spin/1w2r"),
      weak("cohort: a writer looks for departures with relaxed", "reader_indicator.h", "departures",
           Op::load, seq_cst, relaxed, "core/cohort/spin/1w2r"),
      weak("cohort: a reader leaves with relaxed", "reader_indicator.h", "depart", Op::fetch_add,
           seq_cst, relaxed, "core/cohort/spin/1w2r"),
      weak("cohort: a writer leaves with relaxed", "cohort_writers.h", "release_writer",
           Op::compare_exchange, release, relaxed, "core/cohort/spin/1w2r"),
      silent("cohort: the last reader does not wake the writer", "all_readers.h", "notify_writer",
             "core/cohort/park/destroy-after-r"),
      silent("cohort: a writer that leaves wakes no reader", "cohort_writers.h", "wake_readers",
             "core/cohort/park/destroy-by-r"),
      silent("cohort-rp: a writer that steps back wakes no reader", "cohort_writers.h",
             "wake_readers", "core/cohort-rp/park/1w2r"),
      silent("cohort: the last reader that waited does not wake the writer", "rw/cohort.h",
             "stop_waiting", "core/cohort/park/2w1r"),
      weak("ticket: released with relaxed", "ticket_lock.h", "fast_unlock", Op::exchange, release,
           relaxed, "core/cohort/spin/2w1r"),
      silent("ticket: a release wakes nobody", "ticket_lock.h", "slow_unlock",
             "core/cohort/park/destroy-after-w"),

      // --- rlu: the Dekker pair of entering and making oneself seen, and the rest
      blind("rlu: a reader does not look for a writer", "rlu.h", "fill_and_look", seq_cst,
            kRowsOpen, "core/rlu/spin/1w2r"),
      weak("rlu: a reader looks for a writer with acquire", "rlu.h", "fill_and_look", Op::load,
           seq_cst, acquire, "core/rlu/spin/1w2r"),
      weak("rlu: a reader fills its section with acq_rel", "quiescence.h", "fill",
           Op::compare_exchange, seq_cst, acq_rel, "core/rlu/spin/1w2r"),
      weak("rlu: a writer makes itself seen with acq_rel", "pf-t.h", "enter_phase", Op::fetch_add,
           seq_cst, acq_rel, "core/rlu/spin/1w2r"),
      weak("rlu: a trying writer makes itself seen with acq_rel", "pf-t.h", "step",
           Op::compare_exchange, seq_cst, acq_rel, "core/rlu/spin/try-write"),
      weak("rlu: a writer looks at the rows with acquire", "rows.h", "each_of", Op::load, seq_cst,
           acquire, "core/rlu/spin/1w2r"),
      weak("rlu: a new row is counted with acq_rel", "rows.h", "first_free", Op::compare_exchange,
           seq_cst, acq_rel, "core/rlu/spin/1w2r"),
      weak("rlu: a reader leaves with relaxed", "quiescence.h", "empty", Op::compare_exchange,
           release, relaxed, "core/rlu/spin/1w2r"),
      weak("rlu: a reader leaves the short way with relaxed", "quiescence.h", "fast_vacate",
           Op::compare_exchange, release, relaxed, "rlu/spin/1w2r"),
      weak("rlu: a writer waits for readers with relaxed", "quiescence.h", "wait_for", Op::await,
           acquire, relaxed, "core/rlu/spin/1w2r"),
      silent("rlu: a reader that leaves wakes nobody", "quiescence.h", "wake",
             "core/rlu/park/twice"),
      weak("rlu: who finds its section empty does not acquire", "quiescence.h", "empty", Op::load,
           acquire, relaxed, "rlu/spin/foreign-beside-reader"),

      // --- rlu-asym: its fences stand in structural_faults.toml
      weak("rlu-asym: a reader looks for a writer with relaxed", "rlu.h", "fill_and_look", Op::load,
           acquire, relaxed, "core/rlu-asym/spin/1w2r"),
      weak("rlu-asym: a reader fills its section with relaxed", "asymmetric.h", "fill", Op::store,
           release, relaxed, "rlu-asym/spin/two"),
      weak("rlu-asym: a reader empties its section with relaxed", "asymmetric.h", "fast_vacate",
           Op::store, release, relaxed, "core/rlu-asym/spin/1w2r"),
      weak("rlu-asym: a writer waits for readers with relaxed", "asymmetric.h", "wait_for",
           Op::await, acquire, relaxed, "core/rlu-asym/spin/1w2r"),
      silent("rlu-asym: a reader that leaves wakes nobody", "asymmetric.h", "wake",
             "core/rlu-asym/park/twice"),

      // --- the address-space engine
      weak("address space: a new table is shown with relaxed", "page_table.h", "set", Op::store,
           release, relaxed, "address-space/pure-rcu/fresh-table"),
      weak("address space: a table is followed with relaxed", "page_table.h", "below", Op::load,
           acquire, relaxed, "address-space/pure-rcu/fresh-table"),
      weak("address space: a frame is left with relaxed", "page_table.h", "leave", Op::fetch_add,
           acq_rel, relaxed, "address-space/rwlock/fork"),
      weak("address space: the others' reads of a frame are ignored", "page_table.h", "is_alone",
           Op::load, acquire, relaxed, "address-space/rwlock/fork"),
      weak("per-vma: a fault holds its region with relaxed", "per_vma.h", "fault",
           Op::compare_exchange, acquire, relaxed, "address-space/per-vma/fill"),
      weak("per-vma: an operation shows its number in a region with relaxed", "per_vma.h", "hide",
           Op::store, release, relaxed, "address-space/per-vma/fill"),
      weak("per-vma: an operation ends with relaxed", "per_vma.h", "show", Op::store, release,
           relaxed, "address-space/per-vma/fill"),
      weak("per-vma: a fault reads the space's number with relaxed", "per_vma.h", "fault", Op::load,
           acquire, relaxed, "address-space/per-vma/fill"),

      // --- the Bonsai tree, and its domain: the Dekker pair of a section and a period
      weak("bonsai: a root is shown with relaxed", "bonsai.hpp", "show_root", Op::store, release,
           relaxed, "bonsai/path/insert"),
      weak("bonsai: a root is loaded with relaxed", "bonsai.hpp", "root", Op::load, acquire,
           relaxed, "bonsai/path/insert"),
      weak("bonsai: a child is shown with relaxed", "update.hpp", "show_child", Op::store, release,
           relaxed, "bonsai/rotations/insert"),
      weak("bonsai: a child is loaded with relaxed", "node.hpp", "next", Op::load, acquire, relaxed,
           "bonsai/rotations/insert"),
      weak("quiescence: a section begins with an old clock", "quiescence.hpp", "begin", Op::load,
           acquire, relaxed, "bonsai/path/again"),
      weak("quiescence: a section ends with relaxed", "quiescence.hpp", "end", Op::store, release,
           relaxed, "bonsai/path/again"),
      weak("quiescence: times are looked at with relaxed", "quiescence.hpp", "is_over", Op::load,
           acquire, relaxed, "bonsai/path/again"),

      // --- mutexes
      weak("ticket: comes with relaxed", "ticket_lock.h", "fast_lock", Op::load, acquire, relaxed,
           "core/mutex/ticket/spin/2w"),
      weak("ticket: tries with relaxed", "ticket_lock.h", "try_lock", Op::load, acquire, relaxed,
           "core/mutex/ticket/spin/try"),
      weak("mcs: comes with release only", "node_queue.h", "enter", Op::exchange, acq_rel, release,
           "core/mutex/mcs/spin/2w"),
      weak("mcs: comes with acquire only", "node_queue.h", "enter", Op::exchange, acq_rel, acquire,
           "core/mutex/mcs/spin/3w"),
      weak("mcs: tries with release only", "mcs.h", "try_lock", Op::compare_exchange, acq_rel,
           release, "core/mutex/mcs/spin/try"),
      weak("mcs: leaves the queue with relaxed", "node_queue.h", "close_queue",
           Op::compare_exchange, release, relaxed, "core/mutex/mcs/spin/2w"),
      weak("mcs: waits with relaxed", "mcs.h", "wait_at", Op::await, acquire, relaxed,
           "core/mutex/mcs/spin/2w"),
      weak("mcs: hands over with relaxed", "mcs.h", "hand_off", Op::exchange, release, relaxed,
           "core/mutex/mcs/spin/2w"),
      silent("mcs: hands over without a wake", "mcs.h", "hand_off", "core/mutex/mcs/park/2w"),
      weak("clh: comes with release only", "node_queue.h", "enter", Op::exchange, acq_rel, release,
           "core/mutex/clh/spin/2w"),
      weak("clh: comes with acquire only", "node_queue.h", "enter", Op::exchange, acq_rel, acquire,
           "core/mutex/clh/spin/3w"),
      weak("clh: leaves the queue with relaxed", "node_queue.h", "close_queue",
           Op::compare_exchange, release, relaxed, "core/mutex/clh/spin/2w"),
      weak("clh: waits with relaxed", "clh.h", "wait_for", Op::await, acquire, relaxed,
           "core/mutex/clh/spin/2w"),
      weak("clh: releases with relaxed", "clh.h", "slow_unlock", Op::exchange, release, relaxed,
           "core/mutex/clh/spin/2w"),
      silent("clh: releases without a wake", "clh.h", "wake_behind", "core/mutex/clh/park/2w"),

      // --- condition variables
      weak("cond: the latch is taken with relaxed", "waiter_list.h", "latch", Op::compare_exchange,
           acquire, relaxed, "cond/mcs/park/signal-by-2"),
      weak("cond: the latch is released with relaxed", "waiter_list.h", "unlatch", Op::exchange,
           release, relaxed, "cond/mcs/park/signal-by-2"),
      weak("cond: a waiter leaves the list with relaxed", "waiter_list.h", "join", Op::store,
           release, relaxed, "cond/mcs/park/destroy-timed"),
      silent("cond: a signal wakes nobody", "condvar.h", "signal_one", "cond/mcs/park/signal"),
      silent("cond: the next of a relay is not woken", "waiter_list.h", "open",
             "cond/mcs/park/broadcast"),
      silent("cond: who waits for the latch is not woken", "waiter_list.h", "unlatch",
             "cond/mcs/park/signal-by-2"),

      // --- the contract
      weak("recursive: extra holds are released with relaxed", "extra_holds.h", "release_one",
           Op::compare_exchange, release, relaxed, "pf-t/spin/foreign-one-of-two"),
      weak("guests: a guest leaves with relaxed", "extra_holds.h", "release_one",
           Op::compare_exchange, release, relaxed, "pf-t/spin/helper"),
      weak("guests: a guest comes in with relaxed", "guests.h", "enter", Op::compare_exchange,
           acquire, relaxed, "pf-t/spin-impatient/marked-meanwhile"),
      weak("guests: a writer looks at the word with relaxed", "rw_writer.h", "finish", Op::load,
           acquire, relaxed, "pf-t/spin/gives-up"),
      weak("guests: a writer shuts the word with relaxed", "rw_writer.h", "shut",
           Op::compare_exchange, acquire, relaxed, "pf-t/spin/helper"),
      silent("guests: a guest that leaves wakes nobody", "extra_holds.h", "release_one",
             "pf-t/park/helper"),
  };
}

std::vector<Order> weaker(Op op, Order order) {
  const bool reads_only = op == Op::load || op == Op::await;
  const bool writes_only = op == Op::store;
  switch (order) {
    case seq_cst:
      if (reads_only) return {relaxed, acquire};
      if (writes_only) return {relaxed, release};
      return {relaxed, acquire, release, acq_rel};
    case acq_rel:
      return {relaxed, acquire, release};
    case acquire:
    case release:
      return {relaxed};
    default:
      return {};
  }
}

bool implies(Order strong, Order weak) {
  return weak == strong || weak == relaxed || strong == seq_cst ||
         (strong == acq_rel && weak != seq_cst);
}

}  // namespace lockswap::explore

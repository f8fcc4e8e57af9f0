// The seeded faults of the structures.
#include "mutants.h"

namespace lockswap::explore {

std::vector<SeededFault> seeded_faults() {
  return {
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
      weak("rlu library: a section sees with relaxed that it needs no fence any more",
           "section_fence.h", "is_on", Op::load, acquire, relaxed, "rlu-log/fences-end"),
      weak("rlu library: fences end by a relaxed store", "section_fence.h", "turn_off", Op::store,
           release, relaxed, "rlu-log/fences-end"),
      weak("rlu library: a turn without a commit begins with relaxed", "commit_clock.h", "try_turn",
           Op::load, acquire, relaxed, "rlu-log/fences-end-beside"),
      weak("rlu library: a turn without a commit ends with relaxed", "commit_clock.h", "try_turn",
           Op::store, release, relaxed, "rlu-log/fences-end-beside"),

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
      weak("quiescence: times are looked at with relaxed", "quiescence.hpp", "has_left", Op::load,
           acquire, relaxed, "bonsai/path/again"),
  };
}

}  // namespace lockswap::explore

// What a lock may use of memory: atoms, fences, zero-initialised state, and type-stable nodes and
// blocks. A part of Platform (concept.h).
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>

#include "platform/atomic.h"

namespace lockswap {

// A T that several threads use at once. Its default constructor makes it 0, and bytes that are all
// zero are an atom of value 0. Every operation names its order.
template <class A, class T>
concept Atom = requires(A& atom, const A& constant, T value, T& expected, Order order) {
  requires std::same_as<typename A::value_type, T>;
  { constant.load(order) } -> std::same_as<T>;
  // Returns whether a relaxed load gives that value.
  { constant.is(value) } -> std::same_as<bool>;
  atom.store(value, order);
  { atom.exchange(value, order) } -> std::same_as<T>;
  // The strong form. The order is that of success; a failure is a relaxed load, and stores the
  // value that it saw in `expected`.
  { atom.compare_exchange(expected, value, order) } -> std::same_as<bool>;
  // These return the value before the RMW.
  { atom.fetch_add(value, order) } -> std::same_as<T>;
  { atom.fetch_sub(value, order) } -> std::same_as<T>;
  { atom.fetch_or(value, order) } -> std::same_as<T>;
  { atom.fetch_and(value, order) } -> std::same_as<T>;
  // For a thread that is alone (P::is_alone): a signal handler may run before or after the RMW, but
  // not in the middle of it.
  { atom.fetch_add_alone(value) } -> std::same_as<T>;
  { atom.compare_exchange_alone(expected, value) } -> std::same_as<bool>;
};

// Types that stand for a lock's own types in the concepts below.
namespace probe {
template <class P>
struct Node {
  typename P::template atomic<std::uint32_t> link;
};
template <class P>
struct Head {
  typename P::template atomic<std::uint32_t> link;
  typename P::template atomic<std::uint64_t> owner;
};
struct Part {
  std::uint64_t word;
};
}  // namespace probe

template <class P>
concept PlatformAtomics = requires(typename P::template plain<std::uint64_t>& plain,
                                   const typename P::template plain<std::uint64_t>& constant) {
  // A lock's words. Locks use 32-bit and 64-bit ones.
  requires Atom<typename P::template atomic<std::uint32_t>, std::uint32_t>;
  requires Atom<typename P::template atomic<std::uint64_t>, std::uint64_t>;
  // Data that one thread writes and others read, ordered by something else. The model checker
  // reports two accesses that nothing orders.
  { constant.get() } -> std::same_as<std::uint64_t>;
  plain.set(std::uint64_t{});
  // A counter that one thread writes, and of which any thread may take a racy snapshot.
  requires std::same_as<decltype(typename P::tally{}.get()), std::uint64_t>;
  requires requires(typename P::tally & tally, std::uint64_t n) {
    tally.add(n);
    tally.set(n);
  };
};

template <class P>
concept PlatformFences = requires(const typename P::template atomic<std::uint64_t>* table,
                                  std::size_t n, std::uint64_t key, bool (*on_hit)(std::size_t)) {
  // Called at start-up by a lock that uses the asymmetric fence. Returns false if there is none.
  { P::prepare_heavy_fence() } -> std::same_as<bool>;
  // Two seq_cst fences that pair with each other: the light one costs next to nothing, the heavy
  // one has every processor run a barrier.
  P::heavy_fence();
  P::light_fence();
  // The heavy fence for a pair whose other side has no fence at all. If the kernel refuses
  // heavy_fence, this one costs more, and returns false.
  { P::barrier_in_all() } -> std::same_as<bool>;
  // A seq_cst fence of the calling thread alone.
  P::full_fence();
  // Marks the place between two plain stores of which a forked child, or a signal handler, may see
  // only the first. Generates no instruction.
  P::fork_point();
  // Issues a seq_cst fence, loads the n slots of the table in any order, calls on_hit(index) for
  // those that contain the key, bit 0 aside, until that returns false, and issues an acquire fence.
  // A hit is only a hint, and has to be loaded again (platform/scan.h). Returns true if on_hit
  // never returned false.
  { P::scan(table, n, key, on_hit) } -> std::same_as<bool>;
};

template <class P>
concept PlatformState = requires {
  // These return the calling thread's T, and the process's: the same one at each call, initially 0.
  { P::template local<std::uint64_t>() } -> std::same_as<std::uint64_t&>;
  { P::template global<std::uint64_t>() } -> std::same_as<std::uint64_t&>;
};

// Queue nodes with 32-bit handles (platform/arena.h). T has a member `P::atomic<uint32_t> link`,
// which the platform may use while the node is free. A node's memory stays a T for ever, so a late
// load or a late wake of a node that now belongs to another thread does no harm.
template <class N, class T>
concept TypeStableNodes = requires(std::uint32_t handle) {
  // Called at start-up, by one thread. Returns false if there is no memory.
  { N::prepare() } -> std::same_as<bool>;
  // Returns the node of a handle that one of the take functions has returned. 0 is no node.
  { N::at(handle) } -> std::same_as<T&>;
  // Returns whether a number, which may be any, is such a handle.
  { N::is_handle(handle) } -> std::same_as<bool>;
  // Never fails: while memory is refused it waits until there is some, or a node is given back.
  { N::take() } -> std::same_as<std::uint32_t>;
  // Returns 0 if no node is free and memory is refused.
  { N::try_take() } -> std::same_as<std::uint32_t>;
  N::give(handle);
  // For fast paths: uses only what the calling thread keeps to itself, without a call. Returns 0,
  // or false, if nothing was done.
  { N::take_kept() } -> std::same_as<std::uint32_t>;
  { N::keep(handle) } -> std::same_as<bool>;
  // Does the rest of `give` after `keep` has returned false.
  N::give_shared(handle);
};

// Memory in addition to objects (platform/blocks.h): a head, and as many parts as `prepare` asked
// for. Head has a `link`, as a node has. A block that is given back must be in its free state,
// since it is given out as it is.
template <class B, class Head, class Part>
concept TypeStableBlocks = requires(Head& head, std::uint32_t i, std::uint64_t address,
                                    bool (*reclaim)(Head&)) {
  // Called at start-up, by one thread. Returns false if there is no memory.
  { B::prepare(i) } -> std::same_as<bool>;
  { B::parts() } -> std::same_as<std::uint32_t>;
  { B::part(head, i) } -> std::same_as<Part&>;
  // Returns the size in bytes of a block with that many parts.
  { B::bytes_with(i) } -> std::same_as<std::size_t>;
  // Never fails: while memory is refused it waits. When blocks run short it calls reclaim(head) for
  // each block, which returns true if it has made the block free.
  { B::take(reclaim) } -> std::same_as<Head&>;
  B::give(head);
  // Returns whether a block lies at that address, which may be any number.
  { B::is_block(address) } -> std::same_as<bool>;
};

template <class P>
concept PlatformMemory = requires(std::size_t bytes, void* pages, std::uint64_t word,
                                  probe::Node<P>* object, bool (*invariant)()) {
  requires TypeStableNodes<typename P::template nodes<probe::Node<P>>, probe::Node<P>>;
  requires TypeStableBlocks<typename P::template blocks<probe::Head<P>, probe::Part>,
                            probe::Head<P>, probe::Part>;
  // Returns zeroed pages, or nullptr.
  { P::map(bytes) } -> std::same_as<void*>;
  P::unmap(pages, bytes);
  // Returns whether these bytes are zeroes. If other threads are writing there, the result does not
  // matter.
  { P::is_blank(static_cast<const void*>(pages), bytes) } -> std::same_as<bool>;
  // Copies non-atomic data, by plain reads and plain writes.
  P::copy(pages, static_cast<const void*>(pages), bytes);
  // Returns whether the 8 bytes at that address, which may be unmapped, are `word`. Also returns
  // true if the kernel does not say. relaxed. Makes two system calls.
  { P::word_is(word, word) } -> std::same_as<bool>;
  // From now on the object's address may only be used for wakes, until permit makes the object the
  // caller's. The model checker checks that; production does nothing.
  P::forbid(object);
  P::permit(object);
  // An invariant that holds whenever a thread gets there. The model checker ends the execution if
  // it does not; loads in it are no steps, and see the newest values. Production ignores it.
  P::check(invariant);
};

}  // namespace lockswap

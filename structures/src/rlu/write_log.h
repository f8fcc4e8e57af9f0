// A write-log: the copies of objects that a thread has made, the records of those that it has
// locked without a copy, and of those that it frees.
//
// Paper: Matveev and others, "Read-log-update" (SOSP 2015), section 3.4, "Thread".
// Idea: memory in chunks, which are filled from the first byte on. Entries are linked from the
//   newest to the oldest.
// State: a chunk begins with its owner. It is aligned to kChunk, and each copy and record begins in
//   its first kChunk bytes, so the owner is found from the address alone.
// Invariants: a chunk belongs to one owner for ever. It is unmapped only in clear(), when no
//   section can have an address in it any more.
// Space: as many chunks of kChunk bytes as necessary. An object that is too large for one has its
//   own chunk. clear() keeps kKept of the ordinary ones.
// Checked builds: AddressSanitizer is told which bytes are copies that a program may access.
// Deviations: the paper's log has a fixed size, and its entries name their thread. A reader that
//   has found an entry may access it after the writer has aborted and filled the same bytes with
//   something else. Here it reads the head of the chunk, which never changes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <new>

#include "platform/concept.h"
#include "platform/sanitizers.h"
#include "rlu/object.h"

namespace lockswap::rlu {

enum class Kind : std::uint8_t {
  copy,    // locked, with a copy right after the entry
  record,  // locked, without a copy
  gone,    // to be freed
  stale,   // ignored: the object has a newer entry, or is unlocked
};

struct alignas(kAlignment) Entry {
  Entry* before;  // the entry made before this one
  void* object;
  std::uint64_t previous;  // the object's word before: 0, or an older entry of this thread
  std::uint64_t section;   // the section's number
  Kind kind;
};

template <Platform P, class Owner>
class WriteLog {
  static constexpr std::size_t kChunk = P::kLogChunk;
  static constexpr int kKept = 2;
  struct alignas(kAlignment) Chunk {
    typename P::template plain<Owner*> owner;  // other threads read it, too
    Chunk* next;
    std::size_t bytes;
  };
  // A place where the log ends, or once ended.
  struct Mark {
    Entry* last = nullptr;
    Chunk* chunk = nullptr;
    std::size_t used = 0;  // bytes of the chunk
  };

 public:
  Entry* last() const noexcept { return end_.last; }
  // Called when a section begins: its entries follow this place.
  void begin() noexcept { begun_ = end_; }
  Entry* begun() const noexcept { return begun_.last; }
  bool section_is_empty() const noexcept { return end_.last == begun_.last; }
  // Removes the section's entries.
  void cut() noexcept {
    if constexpr (Sanitizers::kAreTold) hide_after(begun_);
    end_ = begun_;
  }
  // Removes the newest entry.
  void drop() noexcept {
    Entry* const e = end_.last;
    end_.last = e->before;
    end_.used = static_cast<std::size_t>(reinterpret_cast<std::byte*>(e) -
                                         reinterpret_cast<std::byte*>(end_.chunk));
  }
  std::size_t bytes() const noexcept { return bytes_; }
  // For checks: returns whether an address is in this log.
  bool holds(std::uint64_t address) const noexcept {
    for (const Chunk* c = first_; c != nullptr; c = c->next) {
      const auto begin = reinterpret_cast<std::uintptr_t>(c);
      if (address >= begin && address < begin + c->bytes) return true;
    }
    return false;
  }

  // Appends an entry with room for a copy of `size` bytes. Returns nullptr if there is no memory.
  Entry* append(Owner& owner, Kind kind, void* object, std::size_t size) noexcept {
    const bool copies = kind == Kind::copy;
    const std::size_t need = sizeof(Entry) + (copies ? sizeof(Header<P>) + rounded(size) : 0);
    if (!has_room(need) && !next_chunk(owner, need)) return nullptr;
    std::byte* const at = reinterpret_cast<std::byte*>(end_.chunk) + end_.used;
    auto* e = new (at) Entry{end_.last, object, kUnlocked, 0, kind};
    if (copies) {
      auto* h = new (at + sizeof(Entry)) Header<P>{};
      h->lock.store(kIsCopy, relaxed);  // relaxed: the object's word or the clock publishes it
      h->size = size;
      Sanitizers::show(h, sizeof *h + size);
    }
    end_.last = e;
    end_.used += need;
    P::check(
        [this, e, &owner] { return is_in_first_chunk(e) && &owner_of(lock_word(e)) == &owner; });
    return e;
  }

  // Called when no section can have an address in the log. Unmaps memory beyond the usual amount.
  void clear() noexcept {
    Chunk** link = &first_;
    for (int kept = 0; *link != nullptr;) {
      Chunk* c = *link;
      if (c->bytes == kChunk && kept < kKept) {
        ++kept;
        link = &c->next;
        Sanitizers::hide(c + 1, c->bytes - sizeof *c);
      } else {
        *link = c->next;
        bytes_ -= c->bytes;
        Sanitizers::show(c, c->bytes);  // for the next user of this memory
        P::unmap(c, c->bytes);
      }
    }
    end_ = {nullptr, first_, sizeof(Chunk)};
    begun_ = end_;
  }

  // --- for an object's word that is an address
  static Owner& owner_of(std::uint64_t lock) noexcept {
    return *reinterpret_cast<const Chunk*>(lock & ~std::uint64_t{kChunk - 1})->owner.get();
  }
  static std::uint64_t lock_word(const Entry* e) noexcept {
    return e->kind == Kind::copy ? reinterpret_cast<std::uintptr_t>(copy_of(e))
                                 : reinterpret_cast<std::uintptr_t>(e) | kRecord;
  }
  static void* copy_of(const Entry* e) noexcept {
    return reinterpret_cast<std::byte*>(const_cast<Entry*>(e)) + sizeof(Entry) + sizeof(Header<P>);
  }
  static Entry* entry_of_copy(const void* copy) noexcept {
    auto* const at = static_cast<std::byte*>(const_cast<void*>(copy));
    return reinterpret_cast<Entry*>(at - sizeof(Header<P>) - sizeof(Entry));
  }
  static Entry* entry_of(std::uint64_t lock) noexcept {
    return is_record(lock) ? reinterpret_cast<Entry*>(lock & ~kRecord)
                           : entry_of_copy(copy_at(lock));
  }

 private:
  // Returns whether an entry fits into the current chunk. The address in an object's word, of the
  // entry or its copy, must be in the first kChunk bytes, because owner_of finds the head from
  // there.
  bool has_room(std::size_t need) const noexcept {
    if (end_.chunk == nullptr || end_.used + need > end_.chunk->bytes) return false;
    return end_.used + sizeof(Entry) + sizeof(Header<P>) < kChunk;
  }
  // From now on the program may access only copies, and none after that place.
  void hide_after(const Mark& place) const noexcept {
    const Chunk* c = place.chunk == nullptr ? first_ : place.chunk;
    std::size_t used = place.chunk == nullptr ? sizeof(Chunk) : place.used;
    for (; c != nullptr; c = c->next, used = sizeof(Chunk))
      Sanitizers::hide(reinterpret_cast<const std::byte*>(c) + used, c->bytes - used);
  }
  // For P::check: returns whether owner_of finds the head.
  bool is_in_first_chunk(const Entry* e) const noexcept {
    const auto head = reinterpret_cast<std::uintptr_t>(end_.chunk);
    return (lock_word(e) & ~std::uint64_t{kChunk - 1}) == head;
  }
  // Continues in the next existing chunk if the entry fits there, and otherwise inserts a new chunk
  // before that one.
  bool next_chunk(Owner& owner, std::size_t need) noexcept {
    Chunk*& link = end_.chunk == nullptr ? first_ : end_.chunk->next;
    Chunk* c = link;
    if (c == nullptr || sizeof(Chunk) + need > c->bytes) {
      c = map(owner, sizeof(Chunk) + need);
      if (c == nullptr) return false;
      c->next = link;
      link = c;
    }
    end_.chunk = c;
    end_.used = sizeof(Chunk);
    return true;
  }
  // Maps more than necessary, and unmaps what is before the multiple of kChunk and after the chunk.
  Chunk* map(Owner& owner, std::size_t need) noexcept {
    const std::size_t bytes = (need + kChunk - 1) / kChunk * kChunk;
    if (bytes < need) return nullptr;
    auto* const all = static_cast<std::byte*>(P::map(bytes + kChunk));
    if (all == nullptr) return nullptr;
    const std::size_t before = -reinterpret_cast<std::uintptr_t>(all) & (kChunk - 1);
    if (before != 0) P::unmap(all, before);
    if (before != kChunk) P::unmap(all + before + bytes, kChunk - before);
    bytes_ += bytes;
    auto* const c = new (all + before) Chunk{{}, nullptr, bytes};
    c->owner.set(&owner);
    Sanitizers::hide(c + 1, bytes - sizeof *c);
    return c;
  }

  Chunk* first_ = nullptr;
  Mark end_{};
  Mark begun_{};  // where the present section began
  std::size_t bytes_ = 0;
};

}  // namespace lockswap::rlu

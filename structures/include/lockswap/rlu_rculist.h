/** @file
 * RCU's list API for objects of rlu.h: doubly linked lists, as in the kernel and in liburcu's
 * rculist.h.
 *
 * Paper: Matveev and others, "Read-Log-Update" (SOSP 2015), section 4.6.
 *
 *     struct job {
 *       struct rlu_list_head list;                  first
 *       int number;
 *     };
 *     static RLU_LIST_HEAD(jobs);
 *
 *     struct job* job = lockswap_rlu_alloc(sizeof *job);
 *     list_add_rcu(&job->list, rlu_list(&jobs));
 *
 *     rcu_read_lock();                              or lockswap_rlu_reader_lock()
 *     list_for_each_entry_rcu(job, rlu_list(&jobs), list) use(job->number);
 *     rcu_read_unlock();
 *
 *     list_del_rcu(&job->list);
 *     lockswap_rlu_free(job);                       in place of kfree_rcu()
 *
 * Readers see each change as a whole, so they may walk backwards and turn round, which RCU's
 * readers can't.
 *
 * What differs from RCU's lists:
 *   - A list's elements are objects of rlu.h, with the struct rlu_list_head as first member.
 *   - A change outside a section is its own section: it starts again until it succeeds, and waits
 *     for readers at its end unless commits are deferred. So writers need no lock.
 *   - A change in a section is a part of it: list_del_rcu() and list_add_rcu() in one section move
 *     an entry from one list to another atomically. Such a change may fail (see below).
 *   - An entry is changed by lockswap_rlu_try_lock(), like any object, and not in place.
 *
 * The changes return 0 or ENOMEM. In the caller's section they may return EBUSY, if another thread
 * is changing a neighbour. Then abort the section and begin again. With a writer lock they never
 * return EBUSY. */
#ifndef LOCKSWAP_RLU_RCULIST_H
#define LOCKSWAP_RLU_RCULIST_H

#include <errno.h>

#include "lockswap/rlu.h"

#ifdef __cplusplus
extern "C" {
#endif

/** An entry's place in a list, and the head of a list. */
struct rlu_list_head {
  struct rlu_list_head* next; /**< An object, not a copy. */
  struct rlu_list_head* prev; /**< The same. */
};
/** A list as a variable, with the header that an object has. */
struct rlu_list {
  struct lockswap_rlu_header header;                       /**< Private. */
  struct rlu_list_head place __attribute__((aligned(16))); /**< Use rlu_list(). */
} __attribute__((aligned(16)));

/* clang-format off */
/** Defines an empty list. */
#define RLU_LIST_HEAD(name) \
  struct rlu_list name = {{0, sizeof(struct rlu_list_head)}, {&(name).place, &(name).place}}
/* clang-format on */

/** Returns the head of a list, which the functions below need. */
static inline struct rlu_list_head* rlu_list(struct rlu_list* list) { return &list->place; }
/** Makes the list empty. No thread may use it yet. */
static inline void rlu_list_init(struct rlu_list* list) {
  list->header.copy = 0;
  list->header.size = sizeof list->place;
  list->place.next = list->place.prev = &list->place;
}

/** @cond private */
static inline struct rlu_list_head* lockswap_rlu_list_seen(const struct rlu_list_head* place) {
  return (struct rlu_list_head*)lockswap_rlu_dereference(place);
}
static inline struct rlu_list_head* lockswap_rlu_list_next(const struct rlu_list_head* place) {
  return lockswap_rlu_list_seen(lockswap_rlu_list_seen(place)->next);
}
static inline struct rlu_list_head* lockswap_rlu_list_prev(const struct rlu_list_head* place) {
  return lockswap_rlu_list_seen(lockswap_rlu_list_seen(place)->prev);
}
/* Returns whether it is locked, and then *place is the copy. */
static inline int lockswap_rlu_list_lock(struct rlu_list_head** place) {
  struct rlu_list_head* const copy = (struct rlu_list_head*)lockswap_rlu_try_lock(*place);
  if (copy == NULL) return 0;
  *place = copy;
  return 1;
}
static inline void lockswap_rlu_list_link(struct rlu_list_head* before,
                                          struct rlu_list_head* after) {
  before->next = (struct rlu_list_head*)lockswap_rlu_actual(after);
  after->prev = (struct rlu_list_head*)lockswap_rlu_actual(before);
}
/* Attempts, in a section: return whether everything is locked and done. The entry is locked too,
 * because it may have been in a list when this section began, where others still read it. */
static inline int lockswap_rlu_list_put(struct rlu_list_head* entry, struct rlu_list_head* before,
                                        struct rlu_list_head* after) {
  if (!lockswap_rlu_list_lock(&before) || !lockswap_rlu_list_lock(&after) ||
      !lockswap_rlu_list_lock(&entry)) {
    return 0;
  }
  lockswap_rlu_list_link(before, entry);
  lockswap_rlu_list_link(entry, after);
  return 1;
}
static inline int lockswap_rlu_list_try_add(struct rlu_list_head* entry,
                                            struct rlu_list_head* head) {
  return lockswap_rlu_list_put(entry, head, lockswap_rlu_list_next(head));
}
static inline int lockswap_rlu_list_try_add_tail(struct rlu_list_head* entry,
                                                 struct rlu_list_head* head) {
  return lockswap_rlu_list_put(entry, lockswap_rlu_list_prev(head), head);
}
static inline int lockswap_rlu_list_try_del(struct rlu_list_head* entry,
                                            struct rlu_list_head* unused) {
  struct rlu_list_head* before = lockswap_rlu_list_prev(entry);
  struct rlu_list_head* after = lockswap_rlu_list_next(entry);
  (void)unused;
  if (!lockswap_rlu_list_lock(&before) || !lockswap_rlu_list_lock(&after) ||
      lockswap_rlu_try_lock_const(entry) == NULL) {
    return 0;
  }
  lockswap_rlu_list_link(before, after);
  return 1;
}
static inline int lockswap_rlu_list_try_replace(struct rlu_list_head* old,
                                                struct rlu_list_head* fresh) {
  struct rlu_list_head* const before = lockswap_rlu_list_prev(old);
  struct rlu_list_head* const after = lockswap_rlu_list_next(old);
  return lockswap_rlu_try_lock_const(old) != NULL && lockswap_rlu_list_put(fresh, before, after);
}
static inline int lockswap_rlu_list_change(int (*attempt)(struct rlu_list_head*,
                                                          struct rlu_list_head*),
                                           struct rlu_list_head* one, struct rlu_list_head* other) {
  for (;;) {
    int is_done;
    int error;
    lockswap_rlu_reader_lock();
    is_done = attempt(one, other);
    if (is_done || lockswap_rlu_depth() > 1) {
      lockswap_rlu_reader_unlock();
      return is_done ? 0 : EBUSY;
    }
    error = lockswap_rlu_abort();
    if (error != 0) return error;
  }
}
/* The place must be the entry's first member; otherwise the array's length is negative. */
#define LOCKSWAP_RLU_LIST_ENTRY(pos, place, member)                                             \
  ((__typeof__(pos))(void*)((char*)(place) +                                                    \
                            0 * sizeof(char[__builtin_offsetof(__typeof__(*(pos)), member) == 0 \
                                                ? 1                                             \
                                                : -1])))
/** @endcond */

/** Inserts an entry at the beginning of a list. The entry must be in no list, or the caller's open
 * section must have removed it. */
static inline int list_add_rcu(struct rlu_list_head* entry, struct rlu_list_head* list) {
  return lockswap_rlu_list_change(lockswap_rlu_list_try_add, entry, list);
}
/** The same at the end of a list or, given an entry, before that entry. */
static inline int list_add_tail_rcu(struct rlu_list_head* entry, struct rlu_list_head* list) {
  return lockswap_rlu_list_change(lockswap_rlu_list_try_add_tail, entry, list);
}
/** Removes an entry, which only one thread may do. It stays readable until lockswap_rlu_free()
 * frees it. */
static inline int list_del_rcu(struct rlu_list_head* entry) {
  return lockswap_rlu_list_change(lockswap_rlu_list_try_del, entry, NULL);
}
/** Replaces an old entry by a new one. */
static inline int list_replace_rcu(struct rlu_list_head* old, struct rlu_list_head* fresh) {
  return lockswap_rlu_list_change(lockswap_rlu_list_try_replace, old, fresh);
}

/** Visits each entry, in a section. `pos` is a pointer to the element type. */
#define list_for_each_entry_rcu(pos, list, member)                                 \
  for ((pos) = LOCKSWAP_RLU_LIST_ENTRY(pos, lockswap_rlu_list_next(list), member); \
       !lockswap_rlu_same((pos), (list));                                          \
       (pos) = LOCKSWAP_RLU_LIST_ENTRY(pos, lockswap_rlu_list_next(&(pos)->member), member))
/** The same from the last to the first, which RCU does not have. */
#define list_for_each_entry_reverse_rcu(pos, list, member)                         \
  for ((pos) = LOCKSWAP_RLU_LIST_ENTRY(pos, lockswap_rlu_list_prev(list), member); \
       !lockswap_rlu_same((pos), (list));                                          \
       (pos) = LOCKSWAP_RLU_LIST_ENTRY(pos, lockswap_rlu_list_prev(&(pos)->member), member))

#ifdef __cplusplus
}
#endif
#endif

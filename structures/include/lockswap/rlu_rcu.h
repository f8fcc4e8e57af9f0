/** @file
 * RCU's names, for a program that moves to Read-Log-Update step by step.
 *
 * A read-side section of RCU becomes a section of rlu.h. Memory that the program publishes and
 * retires by RCU's rules stays ordinary memory, without a header. So the program compiles unchanged
 * except for its include, and then its structures can become objects of rlu.h, or lists of
 * rlu_rculist.h, one after the other. A section reads both.
 *
 *     rcu_read_lock(), rcu_read_unlock()    a section; nested ones are parts of the outermost
 *     rcu_dereference(p)                    loads the pointer p, and then what it points to
 *     rcu_assign_pointer(p, value)          publishes what value points to
 *     synchronize_rcu()                     lockswap_rlu_synchronize()
 *     call_rcu(head, function)              lockswap_rlu_call(), after a flush
 *     rcu_barrier()                         lockswap_rlu_barrier()
 *     rcu_register_thread(), rcu_unregister_thread()    not needed, but may be called
 *
 * What is different from liburcu:
 *   - There is no thread for callbacks. Any thread may run a function of call_rcu() at the end of
 *     one of its sections or waits, so it must not need a lock that such a thread may hold.
 *   - synchronize_rcu() and rcu_barrier() in a section return at once without waiting; liburcu's
 *     wait for ever. With LOCKSWAP_RLU_CHECKS the program stops there.
 *   - A section is a snapshot only for objects of rlu.h. Ordinary memory appears as under RCU.
 *   - Call call_rcu() after the section that removed the memory's last link from an object of
 *     rlu.h, because that section changes nothing before it has ended.
 *   - There are no flavours, no rcu_quiescent_state() and no rcu_thread_offline(): a thread outside
 *     a section delays nobody.
 *
 * A file can't include both this and liburcu's headers, because the names are the same. */
#ifndef LOCKSWAP_RLU_RCU_H
#define LOCKSWAP_RLU_RCU_H

#ifdef rcu_read_lock
#error "lockswap/rlu_rcu.h has the names of liburcu's headers: include one of them in each file"
#endif

#include "lockswap/rlu_inline.h"

#ifdef __cplusplus
extern "C" {
#endif

/** A callback. Make it a member of the object that it is for. */
struct rcu_head {
  lockswap_rlu_callback callback;          /**< Private; first. */
  void (*function)(struct rcu_head* head); /**< Private. */
};

/** @cond private */
static inline void lockswap_rlu_run_rcu_head(lockswap_rlu_callback* callback) {
  struct rcu_head* head = (struct rcu_head*)(void*)callback;
  head->function(head);
}
static inline void lockswap_rlu_call_rcu(struct rcu_head* head,
                                         void (*function)(struct rcu_head*)) {
  head->function = function;
  /* So that no reader finds what the callback frees by a deferred commit. EDEADLK in a section. */
  (void)(lockswap_rlu_flush)();
  lockswap_rlu_call(&head->callback, lockswap_rlu_run_rcu_head);
}
static inline void lockswap_rlu_nothing(void) {}
/** @endcond */

/** Begins a read-side section: lockswap_rlu_enter(). Never waits. */
#define rcu_read_lock() lockswap_rlu_enter()
/** Ends it. */
#define rcu_read_unlock() lockswap_rlu_leave()
/** Loads a pointer, and then what it points to. It is an acquire: the kernel and liburcu rely on
 * the data dependency, which compilers may break. */
#define rcu_dereference(p) __atomic_load_n(&(p), __ATOMIC_ACQUIRE)
/** Publishes what the value points to. It is a release, and pairs with rcu_dereference(). */
#define rcu_assign_pointer(p, value) __atomic_store_n(&(p), (value), __ATOMIC_RELEASE)
/** Waits for all sections that have begun. Returns at once in a section. */
#define synchronize_rcu() ((void)lockswap_rlu_synchronize())
/** Calls function(head) when all sections that have begun are over. */
#define call_rcu(head, function) lockswap_rlu_call_rcu((head), (function))
/** Waits until all functions of earlier calls of call_rcu() have been run. */
#define rcu_barrier() ((void)lockswap_rlu_barrier())
/** Does nothing: threads need not be registered. */
#define rcu_register_thread() lockswap_rlu_nothing()
/** Does nothing. */
#define rcu_unregister_thread() lockswap_rlu_nothing()

#ifdef __cplusplus
}
#endif
#endif

/* BRAVO's protocol, for spin: src/locks/rw/bravo.h over a lock that, like PF-T and BA, makes new readers wait
 * behind a waiting writer; recursive reads as in rw_contract.h.
 *
 * Memory is sequentially consistent here: orders are the explorer's affair (build/bin/lockswap-explore). What the
 * model adds is more threads, each acquiring again and again, and no bound on preemptions.
 *
 * Checked: exclusion (the assertions), no deadlock and no lost wake-up (spin's invalid end states).
 *
 * The inhibition after a revocation is a reader's free choice whether to switch the bias on. A writer may give up while
 * it waits (try and timed forms). A revoker sleeps on a slot as wait/park.h does. Not modelled: releases by another
 * thread, and with them the bias values kRetiring and kRetired.
 *
 * -DWRONG_...: one fault each; spin must find it. See spin.py. */

#ifndef READERS
#define READERS 3
#endif
#ifndef WRITERS
#define WRITERS 2
#endif
#ifndef SLOTS
#define SLOTS 2 /* fewer than readers: some collide */
#endif

#define OFF 0
#define ON 1
#define DIVERTED 2 /* off for new readers, since a writer waits; slots may still name the lock */

#define FREE 0
#define KEY 1
#define KEY_PARKED 2 /* the revoker sleeps on the slot */

byte bias = OFF;
byte slot[SLOTS];
byte below_readers;  /* holds of the underlying lock */
bool below_waiting;  /* a writer has closed it to new readers ... */
byte extra;          /* recursive holds: rw_word.h, the contract word */
bool asleep;         /* there is one revoker at a time: it owns the underlying lock */

byte reading, writing; /* who is in, for the assertions */

inline read_below() { atomic { !below_waiting -> below_readers++ } }

inline divert() {
  if
  :: atomic { bias == ON -> bias = DIVERTED }
  :: else
  fi
}

inline switch_on() {
  if
  :: atomic { bias != ON -> bias = ON };
     if
     :: below_waiting -> divert()
     :: else
     fi
  :: skip /* inhibited, or a writer waits */
  fi
}

inline clear(i) {
#ifdef WRONG_NO_WAKE
  slot[i] = FREE
#else
  if
  :: atomic { slot[i] == KEY -> slot[i] = FREE }
  :: atomic { slot[i] == KEY_PARKED -> slot[i] = FREE }; asleep = false
  fi
#endif
}

proctype Reader(byte s) {
  bool fast;
end:
  do
  :: fast = false;
     if
     :: bias == ON ->
        if
        :: atomic { slot[s] == FREE -> slot[s] = KEY };
#ifdef WRONG_NO_RECHECK
           fast = true
#else
           if
           :: bias == ON -> fast = true
           :: else -> clear(s)
           fi
#endif
        :: else /* collision */
        fi
     :: else
     fi;
     if
     :: !fast ->
        read_below();
#ifndef WRONG_BIAS_AFTER_RELEASE
        switch_on()
#endif
     :: else
     fi;
     reading++;
     assert(writing == 0);
     /* Perhaps once more, beside a waiting writer. */
     if
     :: true ->
#ifdef WRONG_RECURSION_BELOW
        read_below(); below_readers--
#else
        extra++; assert(writing == 0); extra--
#endif
     :: true
     fi;
     reading--;
     if
     :: fast -> clear(s)
     :: else ->
        below_readers--;
#ifdef WRONG_BIAS_AFTER_RELEASE
        switch_on()
#endif
     fi
  od
}

proctype Writer() {
  byte i;
  bool in;
end:
  do
  :: atomic { !below_waiting -> below_waiting = true };
     if
     :: below_readers == 0
     :: else -> divert(); below_readers == 0
     fi;
     in = true;
     if
#ifdef WRONG_DIVERTED_IS_OFF
     :: bias == ON ->
#else
     :: bias != OFF ->
#endif
#ifndef WRONG_SCAN_FIRST
        bias = OFF;
#endif
#ifndef WRONG_NO_SCAN
        i = 0;
        do
        :: in && i < SLOTS ->
           if
           :: slot[i] == FREE -> i++
           :: atomic { slot[i] == KEY -> slot[i] = KEY_PARKED }
           :: atomic { slot[i] == KEY_PARKED -> asleep = true }; !asleep /* futex wait: compares, then sleeps */
           :: slot[i] != FREE -> in = false /* it gives up */
           fi
        :: else -> break
        od;
#endif
#ifdef WRONG_SCAN_FIRST
        bias = OFF;
#endif
        if
        :: !in ->
#ifndef WRONG_BIAS_LOST
           bias = ON
#else
           skip
#endif
        :: else
        fi
     :: else
     fi;
     if
     :: in && extra == 0 ->
        writing++;
        assert(writing == 1 && reading == 0 && extra == 0);
        writing--
     :: !in
     fi;
     i = 0;
     in = false;
     below_waiting = false
  od
}

init {
  byte n;
  atomic {
    for (n : 1 .. READERS) { run Reader(n % SLOTS) }
    for (n : 1 .. WRITERS) { run Writer() }
    n = 0
  }
}

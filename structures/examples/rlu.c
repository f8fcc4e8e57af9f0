/* Read-Log-Update in C: threads move amounts between accounts, each of which is an object. A
 * section changes two of them at once, and sums of all accounts take no lock. */
#include <lockswap/rlu.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>

enum { ACCOUNTS = 16, THREADS = 4, TRANSFERS = 1000, AT_FIRST = 100 };

struct account {
  long balance;
};
static struct account* accounts[ACCOUNTS];

static void move(unsigned from, unsigned to) {
  for (;;) {
    lockswap_rlu_reader_lock();
    /* Copies of this thread, which nobody else sees before the section is committed. */
    struct account* giver = lockswap_rlu_try_lock(accounts[from]);
    struct account* taker = giver == NULL ? NULL : lockswap_rlu_try_lock(accounts[to]);
    if (taker != NULL) {
      --giver->balance;
      ++taker->balance;
      lockswap_rlu_reader_unlock(); /* commits both at the same moment */
      return;
    }
    lockswap_rlu_abort(); /* another thread changes one of them: retry */
  }
}

static void* transfer(void* seed) {
  unsigned random = (unsigned)(uintptr_t)seed;
  for (int i = 0; i < TRANSFERS; ++i) {
    random = random * 1103515245u + 12345u;
    const unsigned from = random >> 8 & (ACCOUNTS - 1), to = random >> 16 & (ACCOUNTS - 1);
    if (from != to) move(from, to);
  }
  return NULL;
}

static long sum_of_all(void) {
  long sum = 0;
  lockswap_rlu_reader_lock(); /* never waits */
  for (int i = 0; i < ACCOUNTS; ++i) {
    const struct account* seen = lockswap_rlu_dereference(accounts[i]);
    sum += seen->balance;
  }
  lockswap_rlu_reader_unlock();
  return sum;
}

int main(void) {
  const long expected = (long)ACCOUNTS * AT_FIRST;
  pthread_t threads[THREADS];
  int wrong = 0;
  for (int i = 0; i < ACCOUNTS; ++i) {
    accounts[i] = lockswap_rlu_alloc(sizeof *accounts[i]);
    if (accounts[i] == NULL) return 1;
    accounts[i]->balance = AT_FIRST;
  }
  for (int i = 0; i < THREADS; ++i) {
    if (pthread_create(&threads[i], NULL, transfer, (void*)(uintptr_t)(i + 1)) != 0) return 1;
  }
  for (int i = 0; i < 100; ++i)
    wrong += sum_of_all() != expected; /* while they run */
  for (int i = 0; i < THREADS; ++i)
    pthread_join(threads[i], NULL);
  const long sum = sum_of_all();
  for (int i = 0; i < ACCOUNTS; ++i)
    lockswap_rlu_discard(accounts[i]);
  printf("sum %ld, %d wrong\n", sum, wrong);
  return sum == expected && wrong == 0 ? 0 : 1;
}

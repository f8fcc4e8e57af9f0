/* The first program of docs/rlu.md: a sorted list that any number of threads read and change. */
#include <lockswap/rlu.h>
#include <stdio.h>

struct node {
  int value;
  struct node* next;
};
static struct node* head; /* a sentinel, without a value */

/* The last node before the value. In a section. */
static struct node* before(int value) {
  struct node* prev = lockswap_rlu_dereference(head);
  struct node* next = lockswap_rlu_dereference(prev->next);
  while (next != NULL && next->value < value) {
    prev = next;
    next = lockswap_rlu_dereference(prev->next);
  }
  return prev;
}

static int contains(int value) {
  lockswap_rlu_reader_lock();
  struct node* next = lockswap_rlu_dereference(before(value)->next);
  int found = next != NULL && next->value == value;
  lockswap_rlu_reader_unlock();
  return found;
}

static int add(int value) {
  struct node* mine = lockswap_rlu_alloc(sizeof *mine);
  if (mine == NULL) return 0;
  mine->value = value;
  for (;;) {
    lockswap_rlu_reader_lock();
    struct node* prev = before(value);
    struct node* next = lockswap_rlu_dereference(prev->next);
    if (next != NULL && next->value == value) {
      lockswap_rlu_reader_unlock();
      lockswap_rlu_discard(mine); /* no other thread has seen it */
      return 0;
    }
    prev = lockswap_rlu_try_lock(prev); /* a copy, which may be changed */
    if (prev != NULL) {
      mine->next = lockswap_rlu_actual(next); /* never the address of a copy */
      prev->next = mine;
      lockswap_rlu_reader_unlock(); /* commits */
      return 1;
    }
    lockswap_rlu_abort(); /* another thread changes prev: retry */
  }
}

static int take_out(int value) {
  for (;;) {
    lockswap_rlu_reader_lock();
    struct node* prev = before(value);
    struct node* gone = lockswap_rlu_dereference(prev->next);
    if (gone == NULL || gone->value != value) {
      lockswap_rlu_reader_unlock();
      return 0;
    }
    prev = lockswap_rlu_try_lock(prev);
    /* Lock the removed node so that nobody changes it; it needs no copy. */
    if (prev != NULL && (gone = lockswap_rlu_try_lock_const(gone)) != NULL) {
      prev->next = lockswap_rlu_actual(gone->next);
      if (lockswap_rlu_free(gone) == 0) { /* when nobody reads it any more */
        lockswap_rlu_reader_unlock();
        return 1;
      }
    }
    lockswap_rlu_abort();
  }
}

int main(void) {
  head = lockswap_rlu_alloc(sizeof *head);
  if (head == NULL) return 1;
  for (int i = 0; i < 10; ++i)
    add(i);
  take_out(3);
  add(3);
  take_out(7);
  for (int i = 0; i < 10; ++i) {
    if (contains(i)) printf("%d ", i);
  }
  printf("\n");
  return 0;
}

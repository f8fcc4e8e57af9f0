/* What rcu_names.c does for its test. */
#pragma once

#ifdef __cplusplus
extern "C" {
#endif

/* Settings behind a pointer: their value, 0 without any, -1 if they were freed under the reader. */
int rcu_read(void);
/* 0: none. `waits`: the thread waits for readers; else a callback frees the old ones. */
void rcu_replace(int value, int waits);
/* How many there are when each callback has run. */
int rcu_live(void);

/* Two lists of numbers: 0 and 1. Before any other call: */
void list_begin(void);
void* list_put(int which, int number, int at_end);
/* 0, or an error number. */
int list_take(void* entry);
void* list_put_instead(void* entry, int number);
void list_move(void* entry, int to);
/* How many there are, and the first of them. */
int list_walk(int which, int backwards, int* numbers, int most);
void list_section(void (*inside)(void*), void* with);

#ifdef __cplusplus
}
#endif

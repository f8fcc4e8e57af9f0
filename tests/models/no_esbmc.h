// What ESBMC knows without a declaration, for a compiler that checks the model's types.
#pragma once

void __ESBMC_atomic_begin();
void __ESBMC_atomic_end();
void __ESBMC_assume(bool);
void __ESBMC_assert(bool, const char*);

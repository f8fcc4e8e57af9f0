// All designs, from the list in designs.def.
#pragma once

#include "address_space/designs/fault_lock.h"
#include "address_space/designs/hybrid_rcu.h"
#include "address_space/designs/list_full.h"
#include "address_space/designs/list_mprotect.h"
#include "address_space/designs/list_pages.h"
#include "address_space/designs/list_pf.h"
#include "address_space/designs/list_refined.h"
#include "address_space/designs/per_vma.h"
#include "address_space/designs/pure_rcu.h"
#include "address_space/designs/rwlock.h"
#include "address_space/designs/tree_full.h"
#include "address_space/designs/tree_refined.h"
#include "address_space/space.h"

// What rlubench compares the structures with: the same checks, so that nobody is measured who is
// wrong.
#include <algorithm>

#include "rlu/guarded_sets.h"
#include "rlu/harris_michael.h"
#include "rlu/rcu_citrus.h"
#include "rlu/rcu_double_list.h"
#include "rlu/rcu_sets.h"
#include "rlu/rculfhash.h"
#include "rlu/triplett.h"
#include "set_checks.h"

namespace {

using namespace bench;

template <class S>
class Peer : public testing::Test {};
using Peers = testing::Types<
    RcuHash<Memb, Freeing::call>, RcuHash<Memb, Freeing::wait>, RcuHash<Qsbr, Freeing::call>,
    RcuHash<Qsbr, Freeing::wait>, RcuHash<Bp, Freeing::call>, RcuHash<Bp, Freeing::wait>,
    RcuDoubleList<Memb, Freeing::call>, RcuDoubleList<Memb, Freeing::wait>,
    RcuDoubleList<Qsbr, Freeing::call>, HarrisMichaelHash<Leak>, HarrisMichaelHash<Hazards>,
    RcuLfHash<Memb>, TriplettHash<Memb>, RcuCitrus<Memb>, RcuCitrus<Qsbr>, Guarded<PlainHash>,
    Guarded<PlainTree>, Guarded<PlainDoubleList>>;
TYPED_TEST_SUITE(Peer, Peers);

TYPED_TEST(Peer, IsASet) { expect_set<TypeParam>(4, 1); }
TYPED_TEST(Peer, IsLinearizable) { expect_history<TypeParam>(4, 200, true); }

}  // namespace

// Two accounts, locked by std::mutex in both orders: a report must name who locks, not the wrapper.
#include <cstdio>
#include <mutex>
#include <thread>

struct Account {
  std::mutex lock;
  int balance = 0;
};

static void transfer(Account& from, Account& to) {
  std::lock_guard<std::mutex> a(from.lock);
  std::lock_guard<std::mutex> b(to.lock);
  --from.balance;
  ++to.balance;
}

int main() {
  auto* mine = new Account;
  auto* yours = new Account;
  std::thread([=] { transfer(*mine, *yours); }).join();
  std::thread([=] { transfer(*yours, *mine); }).join();
  delete mine;
  delete yours;
  std::puts("done");
}

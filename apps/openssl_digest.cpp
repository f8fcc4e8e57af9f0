// openssl_digest: threads that compute digests with the unmodified libcrypto.
//
// EVP_Digest with an algorithm such as EVP_sha256() is what most programs do. Since OpenSSL 3 each
// such call looks the algorithm up again ("implicit fetch"), which takes 8 reader-writer locks for
// reading: digests of short messages do not scale. --fetched looks it up once, before, as OpenSSL
// recommends: what is left then is the price of the digest itself, and no lock.
//
// An operation is a digest, and counts as a read; the locks are inside the library, so what is
// timed is the whole digest: digest_p50_ns, ... in the place of common/report.h's read_p50_ns. Exit
// status 1: a digest is wrong. Plain pthread API; --help shows the options.

#include <cstring>
#include <openssl/evp.h>

#include "common/report.h"

namespace {

using namespace bench;

struct Digest {
  unsigned char bytes[EVP_MAX_MD_SIZE] = {};
  unsigned length = 0;

  bool operator==(const Digest& other) const {
    return length == other.length && std::memcmp(bytes, other.bytes, length) == 0;
  }
};

Digest digest_of(const void* message, std::size_t length, const EVP_MD* algorithm) {
  Digest d;
  if (EVP_Digest(message, length, d.bytes, &d.length, algorithm, nullptr) != 1) d.length = 0;
  return d;
}

// From FIPS 180-4's examples, the message "abc".
bool knows_sha256(const EVP_MD* algorithm) {
  const Digest d = digest_of("abc", 3, algorithm);
  constexpr unsigned char kBegin[] = {0xba, 0x78, 0x16, 0xbf, 0x8f, 0x01, 0xcf, 0xea};
  return d.length == 32 && std::memcmp(d.bytes, kBegin, sizeof kBegin) == 0;
}

class alignas(128) Worker {
 public:
  std::uint64_t reads = 0;
  std::uint64_t writes = 0;

  Worker(const EVP_MD* algorithm, std::size_t length)
      : algorithm_(algorithm),
        message_(length, 'x'),
        expected_(digest_of(message_.data(), length, algorithm)) {}

  template <class Watch>
  void work(Watch& watch, const std::atomic<bool>&) {
    Digest d;
    watch.read([&] { d = digest_of(message_.data(), message_.size(), algorithm_); });
    if (d.length != 32 || !(d == expected_)) wrong_result("a digest differs from the first one");
    ++reads;
  }

 private:
  const EVP_MD* algorithm_;
  std::vector<char> message_;
  Digest expected_;
};

}  // namespace

int main(int argc, char** argv) {
  Plan plan;
  int bytes = 64;
  bool fetched = false;
  Options options("openssl_digest", "Threads compute SHA-256 digests with libcrypto.");
  add_plan_options(options, plan);
  options.number("--bytes", bytes, 0, 1 << 20, "length of the message");
  options.flag("--fetched", fetched, "look the algorithm up once, not for each digest");
  options.parse(argc, argv);

  const EVP_MD* const algorithm = fetched ? EVP_MD_fetch(nullptr, "SHA256", nullptr) : EVP_sha256();
  if (algorithm == nullptr || !knows_sha256(algorithm)) wrong_result("libcrypto has no SHA-256");
  std::vector<Worker> workers(static_cast<std::size_t>(plan.threads),
                              Worker(algorithm, static_cast<std::size_t>(bytes)));
  run_and_print(plan, workers, "digest");
  return 0;
}

// openssl_handshakes: threads that make TLS connections with the unmodified libssl, in memory.
//
// Each thread is client and server of one connection after the other: a full TLS 1.3 handshake
// (P-256, a certificate that the client verifies) and one message each way, over a pair of BIOs.
// No socket and no kernel come between, so what is measured is what a server with many new
// connections does inside OpenSSL. The threads share a context for each side, as those of a server
// do. OpenSSL 3 looks up algorithms and settings for each handshake, under hundreds of read locks.
//
// An operation is a connection, and counts as a read; the locks are inside the library, so what is
// timed is the whole of it: connection_p50_ns, ... in the place of common/report.h's read_p50_ns.
// Exit status 1: a handshake fails, or a message is wrong. Plain pthread API; --help shows the
// options.

#include <cstring>
#include <memory>
#include <openssl/evp.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include "common/report.h"

namespace {

using namespace bench;

template <auto kFree>
struct Freed {
  template <class T>
  void operator()(T* p) const {
    kFree(p);
  }
};
using Key = std::unique_ptr<EVP_PKEY, Freed<EVP_PKEY_free>>;
using Certificate = std::unique_ptr<X509, Freed<X509_free>>;
using Context = std::unique_ptr<SSL_CTX, Freed<SSL_CTX_free>>;
using Connection = std::unique_ptr<SSL, Freed<SSL_free>>;

void expect(bool right, const char* what) {
  if (!right) wrong_result(what);
}

Certificate sign_itself(EVP_PKEY* key) {
  Certificate c(X509_new());
  constexpr long kDay = 24L * 60 * 60;
  X509_set_version(c.get(), X509_VERSION_3);
  ASN1_INTEGER_set(X509_get_serialNumber(c.get()), 1);
  X509_gmtime_adj(X509_getm_notBefore(c.get()), -kDay);
  X509_gmtime_adj(X509_getm_notAfter(c.get()), kDay);
  X509_set_pubkey(c.get(), key);
  X509_NAME* const name = X509_get_subject_name(c.get());
  X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC,
                             reinterpret_cast<const unsigned char*>("localhost"), -1, -1, 0);
  X509_set_issuer_name(c.get(), name);
  expect(X509_sign(c.get(), key, EVP_sha256()) > 0, "libcrypto signs no certificate");
  return c;
}

// What the threads share: the contexts of both sides.
struct Sides {
  Context server{SSL_CTX_new(TLS_server_method())};
  Context client{SSL_CTX_new(TLS_client_method())};

  Sides() {
    const Key key(EVP_EC_gen("P-256"));
    expect(key && server && client, "OpenSSL makes no key or no context");
    const Certificate certificate = sign_itself(key.get());
    expect(SSL_CTX_use_certificate(server.get(), certificate.get()) == 1 &&
               SSL_CTX_use_PrivateKey(server.get(), key.get()) == 1,
           "libssl takes no certificate");
    X509_STORE_add_cert(SSL_CTX_get_cert_store(client.get()), certificate.get());
    SSL_CTX_set_verify(client.get(), SSL_VERIFY_PEER, nullptr);
    // New connections are what this is about: nothing to resume.
    SSL_CTX_set_session_cache_mode(server.get(), SSL_SESS_CACHE_OFF);
    SSL_CTX_set_num_tickets(server.get(), 0);
  }
};

// One side says, the other hears the same.
void pass(SSL* from, SSL* to, const char* words) {
  const int length = static_cast<int>(std::strlen(words));
  char heard[64];
  expect(SSL_write(from, words, length) == length, "a message was not sent");
  expect(SSL_read(to, heard, sizeof heard) == length && std::memcmp(heard, words, length) == 0,
         "a message came out wrong");
}

void connect_once(const Sides& sides) {
  const Connection server(SSL_new(sides.server.get()));
  const Connection client(SSL_new(sides.client.get()));
  BIO* ends[2] = {};
  constexpr std::size_t kRoom = 16 * 1024;
  expect(server && client && BIO_new_bio_pair(&ends[0], kRoom, &ends[1], kRoom) == 1,
         "OpenSSL makes no connection");
  SSL_set_bio(server.get(), ends[0], ends[0]);
  SSL_set_bio(client.get(), ends[1], ends[1]);
  SSL_set_accept_state(server.get());
  SSL_set_connect_state(client.get());
  constexpr int kMostFlights = 8;
  for (int i = 0; !SSL_is_init_finished(client.get()) || !SSL_is_init_finished(server.get()); ++i) {
    expect(i < kMostFlights, "a handshake does not end");
    for (SSL* const side : {client.get(), server.get()}) {
      const int done = SSL_do_handshake(side);
      expect(done == 1 || SSL_get_error(side, done) == SSL_ERROR_WANT_READ, "a handshake fails");
    }
  }
  expect(SSL_version(client.get()) == TLS1_3_VERSION, "the connection is not of TLS 1.3");
  pass(client.get(), server.get(), "GET /");
  pass(server.get(), client.get(), "200 OK");
  // Else the session would count as broken.
  SSL_shutdown(client.get());
  SSL_shutdown(server.get());
}

class alignas(128) Worker {
 public:
  std::uint64_t reads = 0;
  std::uint64_t writes = 0;

  explicit Worker(const Sides& sides) : sides_(&sides) {}

  template <class Watch>
  void work(Watch& watch, const std::atomic<bool>&) {
    watch.read([&] { connect_once(*sides_); });
    ++reads;
  }

 private:
  const Sides* sides_;
};

}  // namespace

int main(int argc, char** argv) {
  Plan plan;
  Options options("openssl_handshakes", "Threads make TLS connections in memory with libssl.");
  add_plan_options(options, plan);
  options.parse(argc, argv);

  const Sides sides;
  std::vector<Worker> workers(static_cast<std::size_t>(plan.threads), Worker(sides));
  run_and_print(plan, workers, "connection");
  return 0;
}

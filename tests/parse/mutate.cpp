// Calls a parser with each file of a corpus, and then with damaged ones: the same for the same
// seed.
//
//   parse_NAME CORPUS INPUTS SEED
//
// Exit status 1 if there is no corpus. If a sanitizer or a signal ends it, or one input takes a
// minute, the input is left in parse-input, which can be a corpus: parse_NAME parse-input 0 1
//
// The parsers are called as libFuzzer does, so clang++ -fsanitize=fuzzer can replace this file.
#include <algorithm>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <unistd.h>
#include <vector>

#include <sys/time.h>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);
extern "C" void __sanitizer_set_death_callback(void (*callback)()) __attribute__((weak));

namespace {

using Input = std::vector<std::uint8_t>;
Input now;

void keep_input() {
  std::FILE* file = std::fopen("parse-input", "wb");
  if (file == nullptr) return;
  std::fwrite(now.data(), 1, now.size(), file);
  std::fclose(file);
}
void give_up(int) {
  keep_input();
  constexpr char kLine[] = "an input takes more than a minute of CPU time; it is in parse-input\n";
  (void)!::write(2, kLine, sizeof kLine - 1);
  _exit(1);
}

void run(Input input) {
  now = std::move(input);
  constexpr itimerval kMinute{{}, {60, 0}};  // of CPU time
  ::setitimer(ITIMER_PROF, &kMinute, nullptr);
  LLVMFuzzerTestOneInput(now.data(), now.size());
}

std::vector<Input> read_corpus(const std::filesystem::path& place) {
  std::vector<std::filesystem::path> files;
  if (std::filesystem::is_directory(place)) {
    for (const auto& entry : std::filesystem::directory_iterator(place))
      files.push_back(entry.path());
  } else {
    files.push_back(place);
  }
  std::ranges::sort(files);
  std::vector<Input> corpus;
  for (const auto& file : files) {
    std::ifstream in(file, std::ios::binary);
    corpus.emplace_back(std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>());
  }
  return corpus;
}

class Draw {
 public:
  explicit Draw(std::uint64_t seed) : random_(seed) {}
  // Below `end`, which is not 0.
  std::size_t below(std::size_t end) { return static_cast<std::size_t>(random_() % end); }
  template <class List>
  const auto& one_of(const List& list) {
    return list[below(std::size(list))];
  }

 private:
  std::mt19937_64 random_;
};

constexpr std::uint64_t kEdges[] = {0,      1,      0x7f,       0x80,       0xff,       0x7fff,
                                    0x8000, 0xffff, 0x7fffffff, 0x80000000, 0xffffffff, ~0ull};

void damage(Input& input, const std::vector<Input>& corpus, Draw& draw) {
  const std::size_t at = draw.below(input.size() + 1);
  const auto place = input.begin() + static_cast<std::ptrdiff_t>(at);
  const std::size_t left = input.size() - at;
  const std::size_t some = std::min<std::size_t>(left, 1 + draw.below(16));
  switch (draw.below(7)) {
    case 0:
      input.resize(at);
      break;
    case 1:
      input.erase(place, place + static_cast<std::ptrdiff_t>(some));
      break;
    case 2:
      input.insert(place, 1 + draw.below(8), static_cast<std::uint8_t>(draw.below(256)));
      break;
    case 3: {  // a piece of another one, or of this one again
      const Input other = draw.below(2) == 0 ? input : draw.one_of(corpus);
      if (other.empty()) break;
      const std::size_t begin = draw.below(other.size());
      const std::size_t size = 1 + draw.below(std::min<std::size_t>(other.size() - begin, 64));
      const auto from = other.begin() + static_cast<std::ptrdiff_t>(begin);
      input.insert(place, from, from + static_cast<std::ptrdiff_t>(size));
      break;
    }
    case 4: {  // a number in a binary format
      const std::size_t width = std::size_t{1} << draw.below(4);
      const std::uint64_t value = draw.one_of(kEdges);
      for (std::size_t i = 0; i < std::min(left, width); ++i)
        input[at + i] = static_cast<std::uint8_t>(value >> 8 * i);
      break;
    }
    case 5: {  // and in a text
      const std::string value = std::to_string(draw.one_of(kEdges));
      input.insert(place, value.begin(), value.end());
      break;
    }
    default:
      if (left != 0) input[at] ^= static_cast<std::uint8_t>(1u << draw.below(8));
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) {
    std::fprintf(stderr, "usage: %s CORPUS INPUTS SEED\n", argv[0]);
    return 2;
  }
  const std::vector<Input> corpus = read_corpus(argv[1]);
  if (corpus.empty()) {
    std::fprintf(stderr, "%s: there is no corpus\n", argv[1]);
    return 1;
  }
  if (__sanitizer_set_death_callback != nullptr) __sanitizer_set_death_callback(keep_input);
  std::signal(SIGPROF, give_up);
  for (const Input& input : corpus)
    run(input);
  Draw draw(std::strtoull(argv[3], nullptr, 10));
  const unsigned long inputs = std::strtoul(argv[2], nullptr, 10);
  for (unsigned long i = 0; i < inputs; ++i) {
    Input input = draw.one_of(corpus);
    for (std::size_t changes = 1 + draw.below(5); changes != 0; --changes)
      damage(input, corpus, draw);
    run(std::move(input));
  }
  std::printf("%zu files and %lu damaged ones\n", corpus.size(), inputs);
  return 0;
}

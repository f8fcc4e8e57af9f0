#include "interpose/say_no_file.h"

#include "platform/error_text.h"
#include "platform/say.h"
#include "platform/text.h"
#include "recording/file.h"

namespace lockswap {

void say_no_file(const char* so, const char* folder) noexcept {
  static constinit char line[4200];  // the folder's name has at most 4,000 bytes
  Text text(line, sizeof line);
  text << "lockswap: " << so << " no file can be made in " << folder << ": ";
  put_error(text, recording::file_error());
  text << "\n";
  say(line);
}

}  // namespace lockswap

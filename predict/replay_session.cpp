#include "predict/replay_session.h"

#include <cstdio>
#include <iostream>
#include <utility>

#include "predict/input.h"

namespace lockswap::predict {

namespace {

unsigned long long n(std::uint64_t v) { return v; }

const NamedLock& find(const NamedLocks& locks, const char* kind, const std::string& name) {
  for (const NamedLock& lock : locks) {
    if (lock.name == name && lock.kind == kind && lock.parks) return lock;
  }
  fail(std::string("there is no ") + kind + " '" + name + "'");
}

}  // namespace

bool ReplaySession::reads(const std::string& word, const cost::Costs& costs,
                          const NamedLocks& locks) {
  if (word == "record") {
    read_record();
  } else if (word == "window") {
    read_window();
  } else if (word == "pace") {
    pace_ = number();
  } else if (word == "describe") {
    describe();
  } else if (word == "replay") {
    replay(costs, locks);
  } else {
    return false;
  }
  return true;
}

void ReplaySession::read_record() {
  std::string path;
  std::getline(std::cin >> std::ws, path);
  recorded_.emplace();
  plans_.clear();
  if (recorded_->read(path.c_str()) != recording::RecordedFile::good)
    fail(path + " is not a record of lock calls of this version: make it with 'lockswap record'");
  planner_.emplace(*recorded_);
}

void ReplaySession::read_window() {
  window_.number = static_cast<std::uint32_t>(number());
  window_.count = static_cast<std::uint32_t>(number());
  window_.acquisitions = static_cast<std::uint64_t>(number());
  if (window_.number >= window_.count) fail("a window's number is less than their count");
}

const Plan& ReplaySession::plan() {
  if (!recorded_) fail("'record FILE' must come first");
  const auto [found, is_new] =
      plans_.try_emplace({window_.number, window_.count, window_.acquisitions});
  if (is_new) found->second = planner_->plan(window_);
  return found->second;
}

void ReplaySession::describe() {
  const Plan& p = plan();
  std::uint64_t rwlocks = 0, sections[3] = {};
  for (const bool is_rwlock : p.is_rwlock)
    rwlocks += is_rwlock ? 1 : 0;
  double work = 0, rest = 0;
  for (const auto& thread : p.threads) {
    for (const Step& step : thread) {
      if (step.kind == Step::Kind::work) work += step.ns;
      if (step.kind == Step::Kind::rest) rest += step.ns;
      if (step.kind == Step::Kind::lock) ++sections[0];
      if (step.kind == Step::Kind::read) ++sections[1];
      if (step.kind == Step::Kind::write) ++sections[2];
    }
  }
  std::printf(
      "{\"threads\":%zu,\"mutexes\":%llu,\"rwlocks\":%llu,\"locks\":%llu,\"reads\":%llu,"
      "\"writes\":%llu,\"signals\":%u,\"timed\":%llu,\"work_ns\":%.0f,\"rest_ns\":%.0f,"
      "\"preempted_ns\":%.0f,\"recorded_ns\":%.0f}\n",
      p.threads.size(), n(p.is_rwlock.size() - rwlocks), n(rwlocks), n(sections[0]), n(sections[1]),
      n(sections[2]), p.signals, n(p.timed), work, rest, p.preempted_ns, p.recorded_ns);
}

void ReplaySession::replay(const cost::Costs& costs, const NamedLocks& locks) {
  const std::string rwlock = word(), mutex = word();
  const Plan& p = plan();
  if (p.acquisitions == 0) fail("no lock is acquired in the record");
  check_machine(costs, p.threads.size());
  if (p.threads.size() > costs.place.size())
    fail("the machine has no " + std::to_string(p.threads.size()) + " hardware threads");
  const ReplayOutcome o =
      run(costs, p, {find(locks, "rwlock", rwlock), find(locks, "mutex", mutex), pace_});
  std::printf(
      "{\"acquisitions\":%llu,\"ns\":%.0f,\"in_calls_ns\":%.0f,\"thread_ns\":%.0f,\"finished\":%s,"
      "\"node\":%llu,"
      "\"remote\":%llu,\"memory\":%llu,\"sleeps\":%llu}\n",
      n(o.acquisitions), o.ns, o.in_calls_ns, o.thread_ns, o.finished ? "true" : "false",
      n(o.counts.transfers[0]), n(o.counts.transfers[1]), n(o.counts.transfers[2]),
      n(o.counts.sleeps));
}

}  // namespace lockswap::predict

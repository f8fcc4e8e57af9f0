"""java: monitors, its compiler threads and its collector."""

from suite.case import case
from suite.stage import Stage

SOURCE = """
import java.util.*;
import java.util.concurrent.*;
import java.util.concurrent.locks.*;
import java.util.stream.*;

public class Work {
  static long sum = 0;
  static synchronized void add(long n) { sum += n; }

  public static void main(String[] a) throws Exception {
    ReadWriteLock lock = new ReentrantReadWriteLock();
    Map<Integer, Integer> map = new HashMap<>();
    ConcurrentHashMap<Integer, Integer> shared = new ConcurrentHashMap<>();
    Object bell = new Object();
    int[] rung = new int[1];
    Thread ringer = new Thread(() -> {
      for (int i = 0; i < 2000; i++) synchronized (bell) {
        while (rung[0] % 2 == 0) try { bell.wait(); } catch (InterruptedException e) { return; }
        rung[0]++; bell.notifyAll();
      }
    });
    ringer.start();
    for (int i = 0; i < 2000; i++) synchronized (bell) {
      while (rung[0] % 2 == 1) bell.wait();
      rung[0]++; bell.notifyAll();
    }
    ringer.join();
    ExecutorService pool = Executors.newFixedThreadPool(6);
    List<Future<?>> jobs = new ArrayList<>();
    for (int t = 0; t < 6; t++) {
      final int me = t;
      jobs.add(pool.submit(() -> {
        for (int i = 0; i < 20000; i++) {
          Lock side = i % 10 == 0 ? lock.writeLock() : lock.readLock();
          side.lock();
          try {
            if (i % 10 == 0) map.merge(i, 1, Integer::sum); else map.get(i);
          } finally { side.unlock(); }
          shared.merge(i % 100, 1, Integer::sum);
          add(i);
          if (i % 100 == 0) new String(new char[10000]).hashCode();
        }
      }));
    }
    for (Future<?> job : jobs) job.get();
    pool.shutdown();
    System.gc();
    long squares = LongStream.range(0, 1_000_000).parallel().map(n -> n * n % 7).sum();
    int merged = shared.values().stream().mapToInt(n -> n).sum();
    System.out.println(rung[0] + " " + map.size() + " " + merged + " " + sum + " " + squares);
    System.exit(0);
  }
}
"""


@case("java", packages=["default-jdk-headless"], acquisitions=0)
def java(stage: Stage) -> None:
    """A program with monitors, pools, locks and parallel streams, compiled by javac and run"""
    stage.write("Work.java", SOURCE)
    stage.swapped("javac", "Work.java")
    stage.same(stage.swapped("java", "-Xmx256m", "-XX:-UsePerfData", "Work").stdout)

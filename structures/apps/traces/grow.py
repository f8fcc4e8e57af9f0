"""Eight threads that allocate, and free half of it again."""

import threading


def grow() -> None:
    kept = []
    for i in range(400):
        kept.append([str(i) * (1 + j % 40) for j in range(60)])
        if i % 100 == 99:
            del kept[::2]


threads = [threading.Thread(target=grow) for _ in range(8)]
for t in threads:
    t.start()
for t in threads:
    t.join()

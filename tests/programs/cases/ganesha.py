"""nfs-ganesha, a file server in user space, which makes and destroys locks with each client, file and open state."""

from suite.case import case
from suite.stage import Stage

CLIENTS = 4
FILES = 18  # of each client; it removes a third of them

# One client, through libnfs, since a mount would need root and the kernel's client. "work N" is one of those that run
# at once: files in a folder of its own, every fourth block of a file that all of them write, and names in a folder of
# all. "look" prints what is there afterwards. Blocks are small because libnfs 4 encodes no larger writes.
CLIENT = """
import hashlib, os, sys
from ctypes import CDLL, POINTER, Structure, byref, c_char_p, c_int, c_uint64, c_void_p, create_string_buffer
BLOCKS, BLOCK = 16, 2048

class Entry(Structure):  # the beginning of struct nfsdirent
    pass
Entry._fields_ = [("next", POINTER(Entry)), ("name", c_char_p)]

library, url, clients, files, what = sys.argv[1:6]
nfs = CDLL(library)
for name in ("nfs_init_context", "nfs_parse_url_dir"):
    getattr(nfs, name).restype = c_void_p
nfs.nfs_get_error.restype = c_char_p
nfs.nfs_readdir.restype = POINTER(Entry)
me = c_void_p(nfs.nfs_init_context())

def call(name, *arguments):
    result = getattr(nfs, name)(me, *arguments)
    if result < 0:
        sys.exit(f"{name}{arguments}: {nfs.nfs_get_error(me)}")
    return result

class File:
    def __init__(self, path, flags):
        self.handle = c_void_p()
        call("nfs_open", path.encode(), c_int(flags), byref(self.handle))
    def __enter__(self):
        return self
    def __exit__(self, *_):
        call("nfs_close", self.handle)
    def write(self, number, text):
        done = call("nfs_pwrite", self.handle, c_uint64(number * BLOCK), c_uint64(len(text)), text)
        if done != len(text):
            sys.exit(f"{done} of {len(text)} bytes were written")
    def read(self, number):
        text = create_string_buffer(BLOCK)
        length = call("nfs_pread", self.handle, c_uint64(number * BLOCK), c_uint64(BLOCK), text)
        return text.raw[:length]

def block(*key):
    return hashlib.shake_128(repr(key).encode()).digest(BLOCK)

def names(path):
    handle = c_void_p()
    call("nfs_opendir", path.encode(), byref(handle))
    found = []
    while entry := nfs.nfs_readdir(me, handle):
        found.append(entry.contents.name.decode())
    nfs.nfs_closedir(me, handle)
    return sorted(set(found) - {".", ".."})

def need(condition, why):
    if not condition:
        sys.exit(f"{what}: {why}")

def work(number):
    mine, shared = f"/own{number}", set()
    call("nfs_mkdir", mine.encode())
    for n in range(int(files)):
        with File(f"{mine}/new{n}", os.O_CREAT | os.O_RDWR) as file, File("/all", os.O_RDWR) as everyones:
            for b in range(BLOCKS):
                file.write(b, block(number, n, b))
                mine_of_all = b * int(clients) + number
                everyones.write(mine_of_all, block(number, n, b))
                need(everyones.read(mine_of_all) == block(number, n, b), "a block of the file of all is another's")
            for b in range(BLOCKS):
                need(file.read(b) == block(number, n, b), f"block {b} of file {n} is another one")
        call("nfs_rename", f"{mine}/new{n}".encode(), f"{mine}/file{n}".encode())
        if n % 3 == 2:
            call("nfs_unlink", f"{mine}/file{n - 1}".encode())
        shared.add(f"client{number}-{n}")
        with File(f"/shared/client{number}-{n}", os.O_CREAT | os.O_RDWR) as file:
            file.write(0, block(number, n))
        need(shared <= set(names("/shared")), "a name is missing in the folder of all")

def look():
    for folder in names("/"):
        for path in [f"/{folder}/{name}" for name in names(f"/{folder}")] if folder != "all" else ["/all"]:
            with File(path, os.O_RDONLY) as file:
                blocks = []
                while text := file.read(len(blocks)):
                    blocks.append(text)
            print(path, sum(map(len, blocks)), hashlib.sha256(b"".join(blocks)).hexdigest())

need(nfs.nfs_parse_url_dir(me, url.encode()), "libnfs does not understand the address")
call("nfs_mount", b"127.0.0.1", b"/export")
if what == "prepare":
    call("nfs_mkdir", b"/shared")
    # At its full length, since the file system in memory does not lock its files' lengths.
    with File("/all", os.O_CREAT | os.O_RDWR) as file:
        for b in range(BLOCKS * int(clients)):
            file.write(b, bytes(BLOCK))
elif what == "look":
    look()
else:
    work(int(what))
nfs.nfs_destroy_context(me)
"""


@case(
    "ganesha", unpacked=["nfs-ganesha", "nfs-ganesha-mem", "libnfs14|libnfs13"], acquisitions=8000, mutexes=10_000,
    limit=600,
)  # fmt: skip
def ganesha(stage: Stage) -> None:
    """nfs-ganesha with four clients that write, read, rename, remove and list at once over NFSv4"""
    port = stage.port()
    plugin = stage.library("ganesha/libfsalmem.so")
    (stage.tmp / "recovery").mkdir()
    # Names of users need no service of the machine, nor do the server's own key and D-Bus.
    config = stage.write("ganesha.conf", f"""
        NFS_CORE_PARAM {{
          Protocols = 4;
          NFS_Port = {port};
          Bind_addr = 127.0.0.1;
          Enable_NLM = false;
          Enable_RQUOTA = false;
          Plugins_Dir = "{plugin.parent}";
        }}
        NFS_KRB5 {{ Active_krb5 = false; }}
        NFSv4 {{
          Graceless = true;
          RecoveryRoot = "{stage.tmp}/recovery";
          Only_Numeric_Owners = true;
          UseGetpwnam = true;
          DomainName = "test";
        }}
        MEM {{ Inode_Size = 262144; }}
        EXPORT {{
          Export_Id = 1;
          Path = "/export";
          Pseudo = "/export";
          Access_Type = RW;
          Squash = None;
          SecType = sys;
          FSAL {{ Name = MEM; }}
        }}
    """)  # fmt: skip
    client = ["python3", "-c", CLIENT, stage.library("libnfs.so.*"),
              f"nfs://127.0.0.1/export?version=4&nfsport={port}", str(CLIENTS), str(FILES)]  # fmt: skip
    folders = {
        "LD_LIBRARY_PATH": f"{stage.place.libraries()}:{stage.data('usr/lib/ganesha')}",
        "DBUS_SYSTEM_BUS_ADDRESS": f"unix:path={stage.tmp}/no-bus",
    }
    start = ["ganesha.nfsd", "-F", "-L", "STDERR", "-f", config, "-p", stage.tmp / "pid"]
    with stage.server(*start, ready=f"tcp:{port}", **folders):
        stage.plain(*client, "prepare")
        stage.together(*([*client, str(number)] for number in range(CLIENTS)))
        found = stage.plain(*client, "look").stdout
    stage.need(found.count("\n") == CLIENTS * (2 * FILES - FILES // 3) + 1, "files are missing, or there are too many")
    stage.same(found)

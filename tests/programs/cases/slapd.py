"""slapd over LMDB, whose robust process-shared mutexes stay glibc's."""

from suite.case import case
from suite.stage import Stage

ENTRIES = 200


@case("slapd", unpacked=["slapd", "ldap-utils"], acquisitions=0)
def slapd(stage: Stage) -> None:
    """Entries added, then searched and changed by four clients at once"""
    port = stage.port()
    url = f"ldap://127.0.0.1:{port}"
    (stage.tmp / "db").mkdir()
    config = stage.write("slapd.conf", "\n".join([
        *(f"include {stage.data(f'etc/ldap/schema/{name}.schema')}" for name in ("core", "cosine", "inetorgperson")),
        f"modulepath {stage.data('usr/lib/ldap')}", "moduleload back_mdb", f"pidfile {stage.tmp}/pid", "threads 4",
        "database mdb", "maxsize 67108864", 'suffix "dc=test"', 'rootdn "cn=admin,dc=test"', "rootpw secret",
        f"directory {stage.tmp}/db", "index cn eq", "dbnosync", "",
    ]))  # fmt: skip
    new = ["dn: dc=test\nobjectClass: dcObject\nobjectClass: organization\no: test\ndc: test\n\n"]
    new += [
        f"dn: cn=p{n},dc=test\nobjectClass: inetOrgPerson\ncn: p{n}\nsn: s{n % 10}\ndescription: 0\n\n"
        for n in range(ENTRIES)
    ]
    stage.write("new.ldif", "".join(new))
    changes = [
        stage.write(f"change{c}.ldif", "".join(
            f"dn: cn=p{n},dc=test\nchangetype: modify\nreplace: description\ndescription: {n * 7}\n\n"
            for n in range(c, ENTRIES, 4)
        ))
        for c in range(4)
    ]  # fmt: skip
    me = ["-x", "-H", url, "-D", "cn=admin,dc=test", "-w", "secret"]
    search = ["ldapsearch", *me, "-LLL", "-o", "ldif-wrap=no", "-b", "dc=test"]
    with stage.server("slapd", "-d", "0", "-h", url, "-f", config, ready=f"tcp:{port}"):
        stage.plain("ldapadd", *me, "-f", "new.ldif")
        stage.together(
            *(["ldapmodify", *me, "-f", change] for change in changes), *([*search, f"(sn=s{n})"] for n in range(4))
        )
        found = stage.plain(*search, "(cn=*)", "cn", "description").stdout
    stage.need(found.count("dn: ") == ENTRIES, "slapd does not have all entries")
    stage.same("\n\n".join(sorted(found.strip().split("\n\n"))))
    stage.same(str(stage.swapped("slapd", "-T", "cat", "-f", config).stdout.count("\ndn: ")))

"""What is nobody's: the users, hosts, addresses and numbers of examples, of standards, of every machine. Words only."""

from __future__ import annotations

import re
from typing import Final

_WORD: Final = re.compile(r"\S+")


def _words(text: str) -> frozenset[str]:
    return frozenset(_WORD.findall(text))


FILE_SUFFIXES: Final = _words(
    "conf css csv gif html ini ipynb java jpeg jpg js json jsx lock log md mjs mount path php plist png py rb rs"
    " scope service sh slice so sock socket sql svg target timer toml ts tsx txt vue webp xml yaml yml zip"
)
"""What follows a dot in the name of a file, and is no top-level domain."""

USERS: Final = _words(
    "address admin administrator alice all app bar bitnami bob centos circleci coder codespace core debian"
    " default deploy deployer docker dotnet ec2-user email example fedora firstname.lastname foo gh git guest"
    " hello hi home host hostname info jane.doe janedoe jdoe jenkins john.doe johndoe jovyan linuxbrew local login"
    " mail me my_user myname myself mysql myuser myusername name name.surname nginx no-reply nobody node noreply"
    " opc oracle path pi postgres public python remote root runner server shared shell some somebody someone"
    " someuser ssh support test tester travis ubuntu user username users vagrant vscode web www-data you your-name"
    " your-user your_name your_user your_username yourname youruser yourusername"
)
"""Accounts that every system or every example has."""

FORGES: Final = _words(
    "altssh.bitbucket.org bitbucket.org codeberg.org devops.azure.com gist.github.com git.sr.ht github.com"
    " gitlab.com heroku.com salsa.debian.org ssh.dev.azure.com ssh.github.com vs-ssh.visualstudio.com"
)
"""Where everybody keeps code: `git@github.com` is nobody's address."""

HOSTS: Final = _words(
    "address api app backend bar broker client collector container database default domain elasticsearch endpoint"
    " etcd example foo frontend gateway grafana host hostname ip-address kafka keycloak kibana localhost logstash"
    " loki machine master minio mongo mongodb my-host my-server myhost myregistry myserver mysql name nginx node"
    " postgres postgresql prometheus proxy rabbitmq redis registry remote server service site some-host test url"
    " user username username-password vault web webserver website www your-host your-server yourhost yourserver"
)
"""Hosts by one word that stand in examples; without the number behind them."""

IPS: Final = _words("1.0.0.1 1.1.1.1 1.2.3.0 1.2.3.4 169.254.169.254 4.3.2.1 5.6.7.8 8.8.4.4 8.8.8.8 9.9.9.9")
"""Addresses that everybody uses, or writes where any would do."""

FOLDERS: Final = _words(
    "app apps backup backups bar bin code data dest disk example files folder folder_name foo lib media mnt"
    " my-app my-project my_app myapp myproject name new nfs old path project project_name repo repository share"
    " shared some-project src test tmp usb www your-project your_project"
)
"""Folders that stand in examples."""

NO_TICKETS: Final = _words(
    "A4 ACM ADR AES ALGOL ALT ANSI API ARM ASCII AU B BASE BFS BIG BIP BP BSD BUS C CAPS CC CCITT CET CIS CLASS"
    " CMD COBOL COM CONVERSION COVID CP CPU CRAY CRC CTRL CUDA CVE CWE DB2 DD DDR DEBIAN DES DFS DIN DOM DP DVB"
    " DVD EBU EC ECDSA ECMA ED EIP EL EN ERC ES EST ETH ETSI EUC FEDORA FIPS FLAC FN FORTRAN GB GDPR GHSA GMT GPT"
    " GSM GTK GTX H HDMI HIPAA HMAC HS HTTP I IBM ID IEC IEEE IETF INT IP IPV IRC ISBN ISO ISSN ITEM ITU IV JAVA"
    " JDK JEP JIS JPEG JSR KB KOI8 L1 L2 LAYER LC LDAP LEVEL LOG LPDDR LPT LR LTS LZ M MAC MD META MIT MP MPEG MS"
    " MSC NFC NIST NOTE NVIDIA OPC OPTION OS OWASP P PAGE PART PCI PDP PEP PGP PHASE PHP PKCS POSIX PPC PSD2 PSR"
    " PY QT RAID RC RFC RHEL RIPEMD ROS ROT RS RSA RTX RULE S SARS SCSI SHA SHA2 SHA3 SHIFT SM SMTP SOC SPARC SQL"
    " SSD SSE SSL STAGE STD STEP SUPER SUS SYSV TC TCP TIER TLS TOP TR TS TTY TYPE UAX UBUNTU UCS UDP UNIVAC US"
    " USB UTC UTF UTR UTS UUID V VC VGA VLAN VT W3C WEB WIN WINDOWS X X86 XEP XMPP Y Z"
)
"""What has the form of a ticket (`UTF-8`) and is a standard, a machine or a unit."""

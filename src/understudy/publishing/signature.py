"""A detached signature of the manifest, made and checked by OpenSSH's ``ssh-keygen``.

The manifest has the hash of every other file, so its signature covers the whole release. The
private key is read by ssh-keygen alone.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from understudy.errors import FileError, OutputError, SettingError, quoted
from understudy.publishing.manifest import SIGNATURE

__all__ = ["Signature", "check_signature", "sign_manifest"]

NAMESPACE = "understudy-release"
PATIENCE = 120  # seconds; somebody may have to type a passphrase


@dataclass(frozen=True)
class Signature:
    """What a signature says.

    Attributes
    ----------
    key : str
        Fingerprint of the key that signed.
    signer : str or None
        Whose it is, by the list of signers; None where no list was given.
    """

    key: str
    signer: str | None


def sign_manifest(manifest: Path, key: str | os.PathLike[str]) -> Path:
    """Sign the manifest of a release that is being built; the signature lies beside it.

    The key is a private SSH key, or a public one whose private half the agent holds.
    """
    if not os.path.isfile(key):  # noqa: PTH113  (a path that is too long is simply none)
        raise SettingError(
            expected="an SSH key to sign with",
            came="no such file (not found)",
            do="give the path of a key; ssh-keygen -t ed25519 -f KEY makes one",
        )
    signature = manifest.with_name(SIGNATURE)
    ended = _ssh_keygen("-Y", "sign", "-f", os.fspath(key), "-n", NAMESPACE, str(manifest))
    if ended.returncode or not signature.is_file():
        raise OutputError(
            expected="a signature by ssh-keygen",
            came="that it made none (is the file a private key, and the passphrase right?)",
            do="try ssh-keygen -Y sign with the key, or release without a signature",
        )
    return signature


def check_signature(
    folder: Path, signers: str | os.PathLike[str] | None = None, signer: str | None = None
) -> Signature | None:
    """Check the signature of a public folder; None where it has none.

    Without `signers`, OpenSSH's file of allowed ones, only the key is named, not whose it is.
    `signer` is who must have signed; any of them when left out.
    """
    signature, manifest = folder / SIGNATURE, folder / "manifest.json"
    if not signature.is_file():
        return None
    content = manifest.read_bytes()
    beside = ("-n", NAMESPACE, "-s", str(signature))
    ended = _ssh_keygen("-Y", "check-novalidate", *beside, content=content)
    key = re.search(r"SHA256:[A-Za-z0-9+/=]+", ended.stdout)
    if ended.returncode or key is None:
        raise FileError(
            expected=f"a signature of this manifest in {quoted(SIGNATURE)}",
            came="one of something else, or none that can be read",
            do="do not use the folder; get it again from its publisher",
        )
    if signers is None:
        return Signature(key[0], None)
    return Signature(key[0], _allowed_signer(Path(signers), signer, beside, content))


def _allowed_signer(
    signers: Path, signer: str | None, beside: tuple[str, ...], content: bytes
) -> str:
    """Find whose key signed, among those who may."""
    if not signers.is_file():
        raise SettingError(
            expected="a file of allowed signers, as OpenSSH has it",
            came="no such file (not found)",
            do='write a line such as "office@example.org ssh-ed25519 AAAA..."',
        )
    listed = _ssh_keygen("-Y", "find-principals", "-f", str(signers), "-s", beside[-1])
    names = [signer] if signer is not None else listed.stdout.splitlines()
    for name in names:
        ended = _ssh_keygen(
            "-Y", "verify", "-f", str(signers), "-I", name, *beside, content=content
        )
        if ended.returncode == 0:
            return name
    raise FileError(
        expected="a signature by one of the allowed signers"
        if signer is None
        else f"a signature by {quoted(signer)}",
        came="one by another key",
        do="do not use the folder, unless you know whose key that is",
    )


def _ssh_keygen(*arguments: str, content: bytes | None = None) -> subprocess.CompletedProcess[str]:
    program = shutil.which("ssh-keygen")
    if program is None:
        raise SettingError(
            expected="the program ssh-keygen, which makes and checks signatures",
            came="none on this machine",
            do="install OpenSSH, or leave the signature out",
        )
    try:
        ended = subprocess.run(  # noqa: S603
            [program, *arguments],
            input=content,
            stdin=subprocess.DEVNULL if content is None else None,
            capture_output=True,
            timeout=PATIENCE,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return subprocess.CompletedProcess([program], 255, "", "")
    text = (ended.stdout + ended.stderr).decode("utf-8", "replace")
    return subprocess.CompletedProcess([program], ended.returncode, text, "")

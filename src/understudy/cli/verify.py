"""``understudy verify``: a public folder against its manifest, without the confidential side."""

from __future__ import annotations

from pathlib import Path

from understudy.cli.options import AsJson
from understudy.cli.output import say, say_json
from understudy.errors import ExitCode, FileError, quoted

__all__ = ["verify"]

MOST = 8


def verify(
    folder: Path,
    /,
    *,
    signers: Path | None = None,
    signer: str | None = None,
    as_json: AsJson = False,
) -> ExitCode:
    """Check that a public folder is complete and unchanged, and whose signature it bears.

    Nothing but the folder is needed. Whoever can change the folder can change the manifest too:
    only a signature whose key you know shows where it comes from.

    Parameters
    ----------
    folder
        The public folder.
    signers
        OpenSSH's file of allowed signers; the release must then be signed by one of them.
    signer
        Which of them must have signed.
    as_json
        Print JSON.
    """
    from understudy.publishing.manifest import changes_in, read_manifest
    from understudy.publishing.signature import check_signature

    changes = changes_in(folder)
    if changes:
        more = f" (and {len(changes) - MOST} more)" if len(changes) > MOST else ""
        raise FileError(
            expected=f"a complete and unchanged release in {quoted(folder.name)}",
            came="one that is not: " + "; ".join(changes[:MOST]) + more,
            do="do not use the folder; get it again from its publisher",
        )
    signature = check_signature(folder, signers, signer)
    if signature is None and (signers is not None or signer is not None):
        raise FileError(
            expected="a signed release",
            came="one without a signature",
            do="ask its publisher for the signed one",
        )
    manifest = read_manifest(folder) or {}
    if as_json:
        say_json(
            {
                "whole": True,
                "files": len(manifest["files"]),
                "made_with": manifest.get("made_with"),
                "plan_digest": manifest.get("plan_digest"),
                "key": None if signature is None else signature.key,
                "signer": None if signature is None else signature.signer,
            }
        )
        return ExitCode.DONE
    say(f"Complete and unchanged: {len(manifest['files'])} files as the manifest lists them.")
    if signature is None:
        say("Not signed: whoever changed the files could have changed the manifest as well.")
    elif signature.signer is None:
        say(
            f"Signed with the key {signature.key}. Is it the publisher's? --signers FILE checks it."
        )
    else:
        say(f"Signed by {signature.signer} with the key {signature.key}.")
    return ExitCode.DONE

"""What a file or folder is, in words, for whoever was given another one than is needed."""

from contextlib import suppress
from pathlib import Path

BEGINNING = 4096  # bytes that are looked at
# how files begin -> what they are
SIGNATURES = (
    (b"\x89HDF\r\n", "an HDF5 file, such as demonstrations or rollouts"),
    (b"\x89PNG", "a picture"),
    (b"GIF8", "a picture"),
    (b"PK\x03\x04", "an archive, such as .npz; kodex convert makes demonstrations of arrays"),
    (b"PAR1", "a Parquet table; kodex convert makes demonstrations of it"),
)
TABLES = (".csv", ".tsv")
# a file inside -> what its folder is
FOLDERS = (
    ("study.json", "the folder of a study"),
    ("rollouts.h5", "the folder of a run"),
    ("outcomes.json", "a folder of published results"),
    ("config.json", "the folder of a model"),
)


def in_words(path: str | Path) -> str:
    """Return what is at `path`, such as "a picture"; nothing of it is believed or run."""
    path = Path(path)
    if path.is_dir():
        found = (words for name, words in FOLDERS if (path / name).is_file())
        return next(found, "a folder that holds nothing of the kind")
    if not path.exists():
        return "not there"
    if not path.is_file():  # to open a pipe would be to wait for whoever writes to it
        return "neither a file nor a folder"
    begin = b""
    with suppress(OSError), path.open("rb") as file:
        begin = file.read(BEGINNING)
    if not begin:
        return "an empty file, or one that cannot be read"
    for signature, words in SIGNATURES:
        if begin.startswith(signature):
            return words
    if begin[4:8] == b"ftyp":
        return "a video"
    if path.suffix.lower() in TABLES:
        return "a table; kodex convert makes demonstrations of it"
    return _text_in_words(begin)


def _text_in_words(begin: bytes) -> str:
    try:
        text = begin.decode("utf-8", errors="strict" if len(begin) < BEGINNING else "ignore")
    except UnicodeDecodeError:
        return "a file of a kind that kodex does not know"
    if text.lstrip().startswith("{"):
        return "a file of results" if '"kodex-results"' in text else "a JSON file"
    return "a text file"

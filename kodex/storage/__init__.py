"""What is on disk: models as trees of settings and arrays, and outputs that never cost anything.

`model` writes and reads models, `outputs` is the one rule by which files and folders appear,
`json_files` reads JSON that may come from a stranger.
"""

from kodex.storage.json_files import parse_json, read_file, read_json
from kodex.storage.model import (
    VERSION,
    Stored,
    bytes_of_model,
    model_of_bytes,
    read_header,
    read_model,
    write_model,
)
from kodex.storage.outputs import (
    begin_folder,
    check_output,
    new_file,
    new_folder,
    remove_output,
    write_into,
)
from kodex.storage.ownership import ARRAYS_FILE, CONFIG_FILE, in_words
from kodex.storage.ownership import MODEL_FORMAT as FORMAT
from kodex.storage.schema import check_model, restoring

__all__ = [
    "ARRAYS_FILE",
    "CONFIG_FILE",
    "FORMAT",
    "VERSION",
    "Stored",
    "begin_folder",
    "bytes_of_model",
    "check_model",
    "check_output",
    "in_words",
    "model_of_bytes",
    "new_file",
    "new_folder",
    "parse_json",
    "read_file",
    "read_header",
    "read_json",
    "read_model",
    "remove_output",
    "restoring",
    "write_into",
    "write_model",
]

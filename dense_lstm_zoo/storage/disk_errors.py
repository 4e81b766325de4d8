"""Errors of the machine that some libraries (HDF5, TensorFlow) report only as text: disks, permissions, open files."""

import os
from errno import EACCES, EDQUOT, EIO, EMFILE, ENFILE, ENOSPC, EPERM, EROFS, ESTALE

CODES = {os.strerror(code): code for code in (ENOSPC, EDQUOT, EROFS, EACCES, EPERM, EIO, ESTALE, EMFILE, ENFILE)}

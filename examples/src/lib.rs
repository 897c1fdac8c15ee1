//! Examples, one file and one idea each: the programs in `src/bin`. Their output is asserted by `tests`.
#![forbid(unsafe_code)]

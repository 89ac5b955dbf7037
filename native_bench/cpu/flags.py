"""The one set of flags, for candidate and baseline alike. An entrant adds only defines and include folders."""

COMPILE_FLAGS = (
    "-O3",
    "-march=native",
    "-std=c++20",
    "-fPIC",
    "-fvisibility=hidden",
    "-fno-plt",
    "-ffile-prefix-map=/src=.",
    "-fdiagnostics-color=never",
    "-fmax-errors=20",
    "-pipe",
)

# No start files: the library then has no constructor at all, and any that appears is the entrant's.
LINK_FLAGS = (
    "-shared",
    "-nostartfiles",
    "-Wl,-z,now,-z,relro,-z,noexecstack,-z,defs,-z,separate-code",
    "-Wl,--version-script=/generated/exports.map",
    "-Wl,--build-id=none",
)

EXPORTS_MAP = b"{ global: zoo_entry; local: *; };\n"
WRAPPER_NAME = "zoo_entry.cpp"
EXPORTS_NAME = "exports.map"

# Trusted programs (worker, timer): plain, warnings are errors.
# Bound at start: a worker put back to its checkpoint would bind its symbols anew in every batch.
TRUSTED_FLAGS = (
    "-std=c++20",
    "-O2",
    "-Wall",
    "-Wextra",
    "-Wpedantic",
    "-Wconversion",
    "-Wshadow",
    "-Werror",
    "-Wl,-z,now,-z,relro",
)

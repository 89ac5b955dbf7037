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
    "-Wl,--version-script=/src/.zoo/exports.map",
    "-Wl,--build-id=none",
)

EXPORTS_MAP = b"{ global: zoo_entry; local: *; };\n"
WRAPPER_PATH = ".zoo/zoo_entry.cpp"
EXPORTS_PATH = ".zoo/exports.map"

# Trusted programs (worker, timer): plain, warnings are errors.
TRUSTED_FLAGS = ("-std=c++20", "-O2", "-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Wshadow", "-Werror")

"""What a native kernel may take from outside: memory moves, mathematics, and what the compiler itself adds."""

_MEMORY = frozenset({"memcpy", "memmove", "memset", "memcmp"})
_COMPILER = frozenset(
    {"__stack_chk_fail", "__gxx_personality_v0", "_Unwind_Resume", "__cxa_begin_catch", "_ZSt9terminatev"}
)
_MATHS_DOUBLE = (
    "acos", "acosh", "asin", "asinh", "atan", "atan2", "atanh", "cbrt", "ceil", "copysign", "cos", "cosh",
    "erf", "erfc", "exp", "exp2", "expm1", "fabs", "fdim", "floor", "fma", "fmax", "fmin", "fmod", "frexp",
    "hypot", "ilogb", "ldexp", "lgamma", "llrint", "llround", "log", "log10", "log1p", "log2", "logb", "lrint",
    "lround", "modf", "nearbyint", "nextafter", "pow", "remainder", "rint", "round", "scalbln", "scalbn", "sin",
    "sincos", "sinh", "sqrt", "tan", "tanh", "tgamma", "trunc",
)  # fmt: skip
_MATHS = frozenset(name + suffix for name in _MATHS_DOUBLE for suffix in ("", "f"))
# libm keeps a version of its own for these under a reserved name.
_FINITE = frozenset(f"__{name}_finite" for name in _MATHS)
# The compiler's support for half precision and wide integers.
_SUPPORT_PREFIXES = (
    "__extendhf",
    "__truncsf",
    "__truncdf",
    "__trunctf",
    "__extendbf",
    "__fix",
    "__float",
    "__mul",
    "__div",
    "__mod",
    "__udiv",
    "__umod",
    "__popcount",
    "__clz",
    "__ctz",
)


def is_allowed(name: str) -> bool:
    """Say whether a library may leave this symbol undefined."""
    return (
        name in _MEMORY
        or name in _MATHS
        or name in _COMPILER
        or name in _FINITE
        or name.startswith(_SUPPORT_PREFIXES)
    )

"""Where a worker's memory lies: drawn by us, for all contestants of a set alike."""

import ctypes

import pytest

from tests.unit.native_bench.conftest import SECRET, Judge, kernel

pytestmark = [
    pytest.mark.sandbox,
    pytest.mark.skipif(
        ctypes.CDLL(None).personality(0xFFFFFFFF) == -1, reason="this system forbids personality(2)"
    ),
]

# Each dies at an address that tells where something lies, in pages or in units of 16 bytes.
PLACES = {
    "the inputs": "reinterpret_cast<std::uintptr_t>(x) >> 12",
    "the outputs": "reinterpret_cast<std::uintptr_t>(z) >> 12",
    "the stack": "reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0)) >> 4",
}


def address_of(judge: Judge, place: str, secret: bytes) -> str:
    body = f"*reinterpret_cast<volatile int*>(0x100000000000U + ({PLACES[place]})) = 1; LOOP"
    result = judge(kernel(body), secret=secret)
    assert (result["verdict"], result["code"]) == ("crashed", "check:crashed")
    return str(result["message"])


@pytest.mark.parametrize("place", PLACES)
def test_it_is_drawn_anew_from_the_secret_and_from_nothing_else(judge: Judge, place: str) -> None:
    assert address_of(judge, place, SECRET) == address_of(judge, place, SECRET)
    others = {address_of(judge, place, bytes([number] * 32)) for number in range(3)}
    assert len(others) > 1

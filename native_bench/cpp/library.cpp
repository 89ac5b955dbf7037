#include "library.hpp"

#include <dlfcn.h>
#include <link.h>
#include <sys/auxv.h>
#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>

namespace zoo {
namespace {

constexpr std::size_t kMaxSegments = 8;

struct Search {
    std::uintptr_t base;
    std::array<Segment, kMaxSegments> found;
    std::size_t count;
};

std::uintptr_t round_up(std::uintptr_t value) { return (value + kPage - 1) / kPage * kPage; }

// Writable after relocation: PT_LOAD with PF_W, less what RELRO has made read-only.
int collect(dl_phdr_info* info, std::size_t, void* context) {
    auto& search = *static_cast<Search*>(context);
    if (info->dlpi_addr != search.base) {
        return 0;
    }
    std::uintptr_t relro_end = 0;
    for (int i = 0; i < info->dlpi_phnum; ++i) {
        const auto& header = info->dlpi_phdr[i];
        if (header.p_type == PT_GNU_RELRO) {
            relro_end = round_up(info->dlpi_addr + header.p_vaddr + header.p_memsz);
        }
    }
    for (int i = 0; i < info->dlpi_phnum && search.count < kMaxSegments; ++i) {
        const auto& header = info->dlpi_phdr[i];
        if (header.p_type != PT_LOAD || (header.p_flags & PF_W) == 0) {
            continue;
        }
        const std::uintptr_t begin = std::max(info->dlpi_addr + header.p_vaddr, relro_end);
        const std::uintptr_t end = info->dlpi_addr + header.p_vaddr + header.p_memsz;
        if (begin < end) {
            search.found[search.count++] = {reinterpret_cast<std::byte*>(begin), nullptr, end - begin};
        }
    }
    return 1;
}

// One mapping: the segment table, then the copies; sealed read-only, for the kernel shares this address space.
std::span<const Segment> keep_copies(const Search& search) {
    std::size_t bytes = kPage;
    for (std::size_t i = 0; i < search.count; ++i) {
        bytes += search.found[i].bytes;
    }
    void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) {
        return {};
    }
    auto* table = static_cast<Segment*>(memory);
    auto* copy = static_cast<std::byte*>(memory) + kPage;
    for (std::size_t i = 0; i < search.count; ++i) {
        table[i] = search.found[i];
        table[i].pristine = copy;
        std::memcpy(copy, table[i].live, table[i].bytes);
        copy += table[i].bytes;
    }
    mprotect(memory, bytes, PROT_READ);
    return {table, search.count};
}

}  // namespace

Library load_library(const char* path) {
    void* handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (handle == nullptr) {
        return {};
    }
    const auto entry = reinterpret_cast<Entry>(dlsym(handle, "zoo_entry"));
    link_map* map = nullptr;
    if (entry == nullptr || dlinfo(handle, RTLD_DI_LINKMAP, &map) != 0) {
        return {};
    }
    Search search{map->l_addr, {}, 0};
    dl_iterate_phdr(collect, &search);
    return {entry, keep_copies(search), stack_end()};
}

void restore(const Library& library) {
    for (const Segment& segment : library.segments) {
        std::memcpy(segment.live, segment.pristine, segment.bytes);
    }
}

// The kernel puts the program's name last on the stack, with eight zero bytes behind it.
std::uintptr_t stack_end() {
    const auto* name = reinterpret_cast<const char*>(getauxval(AT_EXECFN));
    return round_up(reinterpret_cast<std::uintptr_t>(name) + std::strlen(name) + 1 + sizeof(std::uint64_t));
}

// Through a bare pointer, from the first byte: a call or an alloca would leave a rest there.
[[gnu::noinline]] void wipe_stack_from(std::uintptr_t begin) {
    constexpr std::uintptr_t own_frame_bytes = 128;
    const auto here = reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0)) - own_frame_bytes;
    auto* word = reinterpret_cast<volatile std::uint64_t*>(begin);
    auto* const last = reinterpret_cast<volatile std::uint64_t*>(here);
    for (; word < last; ++word) {
        *word = 0xa5a5a5a5a5a5a5a5U;
    }
}

}  // namespace zoo

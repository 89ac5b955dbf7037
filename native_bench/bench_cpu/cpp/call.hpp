// A kernel's library with all that one call of it takes, from four words of the command line:
//   NAME LIBRARY TENSORS SCALARS      TENSORS: bytes, bytes, …      SCALARS: fp32=2.5,i64=4096 or "-"
// The tensors hold single-precision numbers from -1 to 1, the same in every run.
#pragma once

#include <dlfcn.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <sstream>
#include <string>
#include <vector>

namespace zoo {

class Call {
public:
    explicit Call(char** words) : name_(words[0]), entry_(entry_of(words[1])) {
        std::istringstream sizes(words[2]);
        for (std::string bytes; std::getline(sizes, bytes, ',');) {
            tensors_.push_back(tensor(std::stoul(bytes)));
        }
        std::istringstream values(words[3]);
        for (std::string value; std::getline(values, value, ',');) {
            if (value != "-") {
                scalars_.push_back(scalar(value));
            }
        }
        for (const std::uint64_t& bits : scalars_) {
            scalar_places_.push_back(&bits);
        }
    }
    // The places point into the scalars.
    Call(const Call&) = delete;
    Call& operator=(const Call&) = delete;
    Call(Call&&) = default;
    Call& operator=(Call&&) = default;
    ~Call() = default;

    const std::string& name() const { return name_; }
    void operator()() const { entry_(tensors_.data(), scalar_places_.data()); }

private:
    using Entry = void (*)(void* const*, const void* const*);

    static Entry entry_of(const char* library) {
        void* loaded = dlopen(library, RTLD_NOW);
        void* entry = loaded == nullptr ? nullptr : dlsym(loaded, "zoo_entry");
        if (entry == nullptr) {
            std::fprintf(stderr, "%s\n", dlerror());
            std::exit(1);
        }
        return reinterpret_cast<Entry>(entry);
    }

    // Never freed: it is used until the process ends.
    static void* tensor(std::size_t bytes) {
        auto* memory = static_cast<float*>(std::aligned_alloc(64, (bytes + 63) / 64 * 64));
        std::mt19937 generator(1);
        std::uniform_real_distribution<float> from_range(-1, 1);
        for (std::size_t i = 0; i < bytes / sizeof(float); ++i) {
            memory[i] = from_range(generator);
        }
        return memory;
    }

    static std::uint64_t scalar(const std::string& text) {
        const std::size_t sign = text.find('=');
        const std::string value = text.substr(sign + 1);
        std::uint64_t bits = 0;
        if (text.substr(0, sign) == "fp32") {
            const float number = std::stof(value);
            std::memcpy(&bits, &number, sizeof number);
        } else {
            bits = static_cast<std::uint64_t>(std::stoll(value));
        }
        return bits;
    }

    std::string name_;
    Entry entry_;
    std::vector<void*> tensors_;
    std::vector<std::uint64_t> scalars_;
    std::vector<const void*> scalar_places_;
};

// One call for every four words; they stay where they are until the process ends.
inline std::vector<Call> calls_of(int argc, char** argv) {
    std::vector<Call> calls;
    for (int at = 1; at + 4 <= argc; at += 4) {
        calls.emplace_back(argv + at);
    }
    return calls;
}

}  // namespace zoo

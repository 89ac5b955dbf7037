#include "seal.hpp"

#include <cstddef>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <initializer_list>
#include <vector>

namespace zoo {
namespace {

#if defined(__x86_64__)
constexpr unsigned kArch = AUDIT_ARCH_X86_64;
constexpr bool kHasTscSwitch = true;
#elif defined(__aarch64__)
constexpr unsigned kArch = AUDIT_ARCH_AARCH64;
constexpr bool kHasTscSwitch = false;
#else
#error "no seccomp table for this machine"
#endif

bool install(std::initializer_list<long> allowed) {
    std::vector<sock_filter> code;
    code.push_back(BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, arch)));
    code.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, kArch, 1, 0));
    code.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS));
    code.push_back(BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)));
    for (const long number : allowed) {
        code.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, static_cast<unsigned>(number), 0, 1));
        code.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
    }
    code.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS));
    sock_fprog program{static_cast<unsigned short>(code.size()), code.data()};
    return syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) == 0;
}

}  // namespace

bool seal_for_loading() {
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) {
        return false;
    }
    return install({SYS_openat, SYS_read, SYS_pread64, SYS_fstat, SYS_newfstatat, SYS_mmap, SYS_mprotect,
                    SYS_munmap, SYS_close, SYS_brk, SYS_exit_group, SYS_exit, SYS_prctl, SYS_seccomp,
                    SYS_close_range, SYS_futex, SYS_getrandom, SYS_lseek});
}

bool seal_for_serving() {
#if defined(__x86_64__)
    if (kHasTscSwitch && prctl(PR_SET_TSC, PR_TSC_SIGSEGV, 0, 0, 0) != 0) {
        return false;
    }
#endif
    // A second filter, stacked on the first: SECCOMP_MODE_STRICT is refused once a filter stands.
    return install({SYS_exit_group, SYS_exit});
}

}  // namespace zoo

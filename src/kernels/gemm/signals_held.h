// No signal handler runs on this thread while one lives.
//
// oneDNN's generated kernels point the stack pointer at their workspace on the
// heap while they run (mended after its 3.11). The frame of a handler that
// starts then is written over the heap. What is held back arrives right after;
// faults of the thread itself (SIGSEGV, …) still come.
#pragma once

#include <signal.h>

namespace qkv::kernels {

class SignalsHeld {
 public:
  SignalsHeld() {
    static const sigset_t all = held();
    pthread_sigmask(SIG_BLOCK, &all, &before_);
  }
  ~SignalsHeld() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  SignalsHeld(const SignalsHeld&) = delete;
  SignalsHeld& operator=(const SignalsHeld&) = delete;

 private:
  static sigset_t held() {
    sigset_t set;
    sigfillset(&set);
    for (const int fault :
         {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT, SIGSYS})
      sigdelset(&set, fault);
    return set;
  }
  sigset_t before_;
};

}  // namespace qkv::kernels

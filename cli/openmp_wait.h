// How long a thread that waits for the others keeps its processor busy.
#pragma once

namespace qkv::cli {

// Begins the program again, once, with libgomp told to spin only briefly before
// a waiting thread sleeps: nothing may have been read or written yet. Returns
// where the user has set GOMP_SPINCOUNT or OMP_WAIT_POLICY, and where it
// cannot.
//
// By itself libgomp spins for some ten milliseconds. Where other programs want
// the processors too, the thread that is waited for cannot run while its
// sibling spins, and a step of 5 ms takes a second. libgomp reads its
// environment when it is loaded, before any code of this program runs; so it
// has to be loaded again. A program that uses the library sets the environment
// itself.
void spin_briefly(char** argv);

}  // namespace qkv::cli

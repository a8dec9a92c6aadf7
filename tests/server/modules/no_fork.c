// For LD_PRELOAD: fork fails while the working directory has a file roughly-no-fork.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <sys/types.h>
#include <unistd.h>

pid_t fork(void) {
    pid_t (*real)(void);
    if (access("roughly-no-fork", F_OK) == 0) {
        errno = EAGAIN;
        return -1;
    }
    *(void **)&real = dlsym(RTLD_NEXT, "fork");
    return real();
}

/* Loads a shared library and resolves all its symbols. Calls a function that returns a number, if one is specified, and
 * prints the number. scripts/test-packages.sh uses it for the module.
 *
 *     loader LIBRARY [FUNCTION]
 */
#include <dlfcn.h>
#include <stdio.h>

int main(int argc, char **argv) {
    void *library = argc > 1 ? dlopen(argv[1], RTLD_NOW) : NULL;
    if (library == NULL) {
        fprintf(stderr, "loader: %s\n", argc > 1 ? dlerror() : "no library is specified");
        return 1;
    }
    if (argc > 2) {
        int (*function)(void) = (int (*)(void))dlsym(library, argv[2]);
        if (function == NULL) {
            fprintf(stderr, "loader: %s\n", dlerror());
            return 1;
        }
        printf("%d\n", function());
    }
    return 0;
}

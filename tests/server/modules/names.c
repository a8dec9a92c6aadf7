// A module for tests with other modules that have the names of this one. tests/support/c_modules.rs compiles it.
//
//   loadmodule names.so MODULE [TYPE name | COMMAND name | SETTING name | KEEP file] ...
//
// MODULE is the name of the module. It registers the other names: of a data type, a command, and a setting, whose
// name has no prefix on Redis 8. KEEP keeps a shared library in memory when a server unloads it, as musl does.
// The module declares the few functions of the module API that it uses, so that no header is needed.

#include <dlfcn.h>
#include <stdint.h>
#include <string.h>

typedef struct RedisModuleCtx RedisModuleCtx;
typedef struct RedisModuleString RedisModuleString;
typedef struct RedisModuleType RedisModuleType;
typedef int (*Command)(RedisModuleCtx *, RedisModuleString **, int);
typedef RedisModuleString *(*GetSetting)(const char *, void *);
typedef int (*SetSetting)(const char *, RedisModuleString *, void *, RedisModuleString **);
typedef int (*ApplySetting)(RedisModuleCtx *, void *, RedisModuleString **);

enum { OK = 0, ERR = 1, API_VERSION = 1, FIRST_OF_REDIS_8 = 0x080000 };
enum { UNPREFIXED = 1 << 9 };

// Values of the type are never created, so its methods stay null.
typedef struct {
    uint64_t version;
    void *methods[24];
} TypeMethods;

static int (*GetApi)(const char *, void *);
static int (*SetModuleAttribs)(RedisModuleCtx *, const char *, int, int);
static int (*IsModuleNameBusy)(const char *);
static int (*CreateCommand)(RedisModuleCtx *, const char *, Command, const char *, int, int, int);
static RedisModuleType *(*CreateDataType)(RedisModuleCtx *, const char *, int, TypeMethods *);
static int (*RegisterStringConfig)(RedisModuleCtx *, const char *, const char *, unsigned, GetSetting,
                                   SetSetting, ApplySetting, void *);
static int (*LoadConfigs)(RedisModuleCtx *);
static int (*GetServerVersion)(void);
static RedisModuleString *(*CreateString)(RedisModuleCtx *, const char *, size_t);
static const char *(*StringPtrLen)(const RedisModuleString *, size_t *);
static int (*ReplyWithSimpleString)(RedisModuleCtx *, const char *);

static RedisModuleString *value;

static int reply(RedisModuleCtx *ctx, RedisModuleString **argv, int argc) {
    (void)argv;
    (void)argc;
    return ReplyWithSimpleString(ctx, "OK");
}

static RedisModuleString *get(const char *name, void *data) {
    (void)name;
    (void)data;
    return value;
}

static int set(const char *name, RedisModuleString *text, void *data, RedisModuleString **error) {
    (void)name;
    (void)text;
    (void)data;
    (void)error;
    return OK;
}

static int add(RedisModuleCtx *ctx, const char *kind, const char *name) {
    if (strcmp(kind, "TYPE") == 0) {
        TypeMethods methods = {.version = 1};
        return CreateDataType(ctx, name, 0, &methods) ? OK : ERR;
    }
    if (strcmp(kind, "COMMAND") == 0) return CreateCommand(ctx, name, reply, "", 0, 0, 0);
    if (strcmp(kind, "SETTING") == 0) {
        unsigned flags = GetServerVersion() < FIRST_OF_REDIS_8 ? 0 : UNPREFIXED;
        return RegisterStringConfig(ctx, name, "", flags, get, set, NULL, NULL);
    }
    if (strcmp(kind, "KEEP") == 0) return dlopen(name, RTLD_NOW | RTLD_NODELETE) ? OK : ERR;
    return ERR;
}

int RedisModule_OnLoad(RedisModuleCtx *ctx, RedisModuleString **argv, int argc) {
    // The first field of the context is the function that looks up all others.
    memcpy(&GetApi, (void *)ctx, sizeof GetApi);
#define API(name) if (GetApi("RedisModule_" #name, &name) != OK) return ERR
    API(SetModuleAttribs);
    API(IsModuleNameBusy);
    API(CreateCommand);
    API(CreateDataType);
    API(RegisterStringConfig);
    API(LoadConfigs);
    API(GetServerVersion);
    API(CreateString);
    API(StringPtrLen);
    API(ReplyWithSimpleString);
    if (argc % 2 == 0) return ERR;
    const char *module = StringPtrLen(argv[0], NULL);
    if (IsModuleNameBusy(module)) return ERR;
    SetModuleAttribs(ctx, module, 1, API_VERSION);
    value = CreateString(NULL, "", 0);
    for (int i = 1; i < argc; i += 2) {
        if (add(ctx, StringPtrLen(argv[i], NULL), StringPtrLen(argv[i + 1], NULL)) != OK) return ERR;
    }
    return LoadConfigs(ctx);
}

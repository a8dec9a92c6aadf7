// A module for tests of what other modules can do. tests/support/c_modules.rs compiles it.
//
// It runs a command whenever a keyspace event of a given name occurs, from inside the notification:
//
//   HANDLER.ON event command [argument ...]   the argument KEY stands for the key of the event
//   HANDLER.OFF                               array of the replies since HANDLER.ON, in RESP2
//   HANDLER.DELETE key                        deletes the key, and overwrites the memory that this frees
//   HANDLER.SET key text                      the same, then sets the key to a string
//   HANDLER.CALL flags command [argument ...]  runs the command with these flags of RedisModule_Call
//   HANDLER.REPLICATE command [argument ...]  sends the command to the replicas, and does not run it
//   HANDLER.SAVE file                         makes the server write an RDB file (Redis 7.2 and above, Valkey)
//
// The handler does not run for events that occur while it runs. It declares the few functions of the module
// API that it uses, so that no header is needed.

#include <stddef.h>
#include <string.h>

typedef struct RedisModuleCtx RedisModuleCtx;
typedef struct RedisModuleString RedisModuleString;
typedef struct RedisModuleCallReply RedisModuleCallReply;
typedef struct RedisModuleKey RedisModuleKey;
typedef struct RedisModuleRdbStream RedisModuleRdbStream;
typedef int (*Command)(RedisModuleCtx *, RedisModuleString **, int);
typedef int (*Notification)(RedisModuleCtx *, int type, const char *event, RedisModuleString *key);

enum { OK = 0, ERR = 1, API_VERSION = 1 };
// All classes of events up to "new key", including "keymiss".
enum { ALL_EVENTS = (1 << 15) - 4 };
enum { READ_WRITE = 3 };
enum { MAX_ARGUMENTS = 16, MAX_TEXT = 256, MAX_REPLIES = 64 };

static int (*GetApi)(const char *, void *);
static int (*SetModuleAttribs)(RedisModuleCtx *, const char *, int, int);
static int (*CreateCommand)(RedisModuleCtx *, const char *, Command, const char *, int, int, int);
static int (*SubscribeToKeyspaceEvents)(RedisModuleCtx *, int, Notification);
static const char *(*StringPtrLen)(const RedisModuleString *, size_t *);
static RedisModuleString *(*CreateString)(RedisModuleCtx *, const char *, size_t);
static void (*FreeString)(RedisModuleCtx *, RedisModuleString *);
static RedisModuleCallReply *(*Call)(RedisModuleCtx *, const char *, const char *, ...);
static const char *(*CallReplyProto)(RedisModuleCallReply *, size_t *);
static void (*FreeCallReply)(RedisModuleCallReply *);
static int (*ReplyWithSimpleString)(RedisModuleCtx *, const char *);
static int (*ReplyWithStringBuffer)(RedisModuleCtx *, const char *, size_t);
static int (*ReplyWithArray)(RedisModuleCtx *, long);
static int (*WrongArity)(RedisModuleCtx *);
static void *(*Alloc)(size_t);
static RedisModuleKey *(*OpenKey)(RedisModuleCtx *, RedisModuleString *, int);
static void (*CloseKey)(RedisModuleKey *);
static int (*DeleteKey)(RedisModuleKey *);
static int (*StringSet)(RedisModuleKey *, RedisModuleString *);
static int (*Replicate)(RedisModuleCtx *, const char *, const char *, ...);
static int (*ReplyWithError)(RedisModuleCtx *, const char *);
static int (*ReplyWithCallReply)(RedisModuleCtx *, RedisModuleCallReply *);
static RedisModuleRdbStream *(*RdbStreamCreateFromFile)(const char *);
static void (*RdbStreamFree)(RedisModuleRdbStream *);
static int (*RdbSave)(RedisModuleCtx *, RedisModuleRdbStream *, int);

// Fixed storage, because the handler must not allocate memory.
static char event_name[MAX_TEXT];
static char arguments[MAX_ARGUMENTS][MAX_TEXT];
static size_t argument_lengths[MAX_ARGUMENTS];
static int argument_count;
static char replies[MAX_REPLIES][MAX_TEXT];
static size_t reply_lengths[MAX_REPLIES];
static int reply_count;
static int is_running;

static void add_reply(const char *text, size_t length) {
    if (reply_count == MAX_REPLIES) return;
    if (length > MAX_TEXT) length = MAX_TEXT;
    memcpy(replies[reply_count], text, length);
    reply_lengths[reply_count++] = length;
}

// Runs the stored command and keeps its reply.
static void run(RedisModuleCtx *ctx, const RedisModuleString *key) {
    RedisModuleString *strings[MAX_ARGUMENTS];
    for (int i = 1; i < argument_count; i++) {
        size_t length = argument_lengths[i];
        const char *text = arguments[i];
        if (key && length == 3 && memcmp(text, "KEY", 3) == 0) text = StringPtrLen(key, &length);
        strings[i] = CreateString(ctx, text, length);
    }
    RedisModuleCallReply *reply =
        Call(ctx, arguments[0], "!v", strings + 1, (size_t)argument_count - 1);
    if (reply) {
        size_t length;
        const char *text = CallReplyProto(reply, &length);
        add_reply(text, length);
        FreeCallReply(reply);
    } else {
        add_reply("refused", strlen("refused"));
    }
    for (int i = 1; i < argument_count; i++) FreeString(ctx, strings[i]);
}

static int on_event(RedisModuleCtx *ctx, int type, const char *event, RedisModuleString *key) {
    (void)type;
    if (is_running || argument_count == 0 || strcmp(event, event_name) != 0) return OK;
    is_running = 1;
    run(ctx, key);
    is_running = 0;
    return OK;
}

static int on(RedisModuleCtx *ctx, RedisModuleString **argv, int argc) {
    if (argc < 3 || argc > MAX_ARGUMENTS + 2) return WrongArity(ctx);
    size_t length;
    const char *text = StringPtrLen(argv[1], &length);
    if (length >= MAX_TEXT) return WrongArity(ctx);
    memcpy(event_name, text, length + 1);
    argument_count = 0;
    reply_count = 0;
    for (int i = 2; i < argc; i++) {
        text = StringPtrLen(argv[i], &length);
        if (length >= MAX_TEXT) return WrongArity(ctx);
        memcpy(arguments[i - 2], text, length + 1);
        argument_lengths[i - 2] = length;
    }
    argument_count = argc - 2;
    return ReplyWithSimpleString(ctx, "OK");
}

static int call(RedisModuleCtx *ctx, RedisModuleString **argv, int argc) {
    if (argc < 3) return WrongArity(ctx);
    char format[16];
    size_t length;
    const char *flags = StringPtrLen(argv[1], &length);
    if (length > sizeof format - 2) return WrongArity(ctx);
    memcpy(format, flags, length);
    memcpy(format + length, "v", 2);
    const char *name = StringPtrLen(argv[2], &length);
    RedisModuleCallReply *reply = Call(ctx, name, format, argv + 3, (size_t)argc - 3);
    if (!reply) return ReplyWithError(ctx, "ERR refused");
    ReplyWithCallReply(ctx, reply);
    FreeCallReply(reply);
    return OK;
}

static int replicate(RedisModuleCtx *ctx, RedisModuleString **argv, int argc) {
    if (argc < 2) return WrongArity(ctx);
    Replicate(ctx, StringPtrLen(argv[1], NULL), "v", argv + 2, (size_t)argc - 2);
    return ReplyWithSimpleString(ctx, "OK");
}

static int off(RedisModuleCtx *ctx, RedisModuleString **argv, int argc) {
    (void)argv;
    if (argc != 1) return WrongArity(ctx);
    argument_count = 0;
    ReplyWithArray(ctx, reply_count);
    for (int i = 0; i < reply_count; i++) ReplyWithStringBuffer(ctx, replies[i], reply_lengths[i]);
    return OK;
}

// Allocates the memory that was just freed, fills it and never frees it, so that tests detect uses of a freed value.
//
// Servers continue to use the object of a new key (its type and its count of references) after the handlers have
// run, even if a handler deleted the key. So the start of each block looks like an object of a module's type with
// many references. Otherwise servers would free the block a second time.
static void overwrite_freed_memory(void) {
    static const unsigned char object[16] = {5, 0, 0, 0, 0x40, 0x1f};
    for (size_t size = sizeof object; size <= 512; size += 16) {
        for (int i = 0; i < 32; i++) {
            char *block = Alloc(size);
            memset(block, 0xdb, size);
            memcpy(block, object, sizeof object);
        }
    }
}

static int delete_key(RedisModuleCtx *ctx, RedisModuleString **argv, int argc) {
    if (argc != 2) return WrongArity(ctx);
    RedisModuleKey *key = OpenKey(ctx, argv[1], READ_WRITE);
    DeleteKey(key);
    overwrite_freed_memory();
    CloseKey(key);
    Replicate(ctx, "DEL", "s", argv[1]);
    return ReplyWithSimpleString(ctx, "OK");
}

static int set_key(RedisModuleCtx *ctx, RedisModuleString **argv, int argc) {
    if (argc != 3) return WrongArity(ctx);
    RedisModuleKey *key = OpenKey(ctx, argv[1], READ_WRITE);
    DeleteKey(key);
    overwrite_freed_memory();
    StringSet(key, argv[2]);
    CloseKey(key);
    Replicate(ctx, "SET", "ss", argv[1], argv[2]);
    return ReplyWithSimpleString(ctx, "OK");
}

static int save(RedisModuleCtx *ctx, RedisModuleString **argv, int argc) {
    if (argc != 2) return WrongArity(ctx);
    if (!RdbSave) return ReplyWithError(ctx, "ERR this server has no RdbSave");
    size_t length;
    RedisModuleRdbStream *file = RdbStreamCreateFromFile(StringPtrLen(argv[1], &length));
    int saved = RdbSave(ctx, file, 0);
    RdbStreamFree(file);
    return saved == OK ? ReplyWithSimpleString(ctx, "OK") : ReplyWithError(ctx, "ERR not saved");
}

int RedisModule_OnLoad(RedisModuleCtx *ctx, RedisModuleString **argv, int argc) {
    (void)argv;
    (void)argc;
    // The first field of the context is the function that looks up all others.
    memcpy(&GetApi, (void *)ctx, sizeof GetApi);
#define API(name) if (GetApi("RedisModule_" #name, &name) != OK) return ERR
    API(SetModuleAttribs);
    API(CreateCommand);
    API(SubscribeToKeyspaceEvents);
    API(StringPtrLen);
    API(CreateString);
    API(FreeString);
    API(Call);
    API(CallReplyProto);
    API(FreeCallReply);
    API(ReplyWithSimpleString);
    API(ReplyWithStringBuffer);
    API(ReplyWithArray);
    API(WrongArity);
    API(Alloc);
    API(OpenKey);
    API(CloseKey);
    API(DeleteKey);
    API(StringSet);
    API(Replicate);
    API(ReplyWithError);
    API(ReplyWithCallReply);
    // Missing functions stay null.
    GetApi("RedisModule_RdbStreamCreateFromFile", &RdbStreamCreateFromFile);
    GetApi("RedisModule_RdbStreamFree", &RdbStreamFree);
    GetApi("RedisModule_RdbSave", &RdbSave);
    SetModuleAttribs(ctx, "handler", 1, API_VERSION);
    if (CreateCommand(ctx, "handler.on", on, "", 0, 0, 0) != OK) return ERR;
    if (CreateCommand(ctx, "handler.off", off, "", 0, 0, 0) != OK) return ERR;
    if (CreateCommand(ctx, "handler.call", call, "", 0, 0, 0) != OK) return ERR;
    if (CreateCommand(ctx, "handler.replicate", replicate, "", 0, 0, 0) != OK) return ERR;
    if (CreateCommand(ctx, "handler.delete", delete_key, "write", 1, 1, 1) != OK) return ERR;
    if (CreateCommand(ctx, "handler.save", save, "", 0, 0, 0) != OK) return ERR;
    if (CreateCommand(ctx, "handler.set", set_key, "write", 1, 1, 1) != OK) return ERR;
    return SubscribeToKeyspaceEvents(ctx, ALL_EVENTS, on_event);
}

// A module for tests of commands that other modules run. tests/support/c_modules.rs compiles it.
//
// It runs a command in each kind of context that a module can get:
//
//   CONTEXTS.KINDS                                  the kinds that this server has
//   CONTEXTS.RUN key kind flags command [argument ...]
//                                                   runs the command, with these flags of RedisModule_Call, now or later
//   CONTEXTS.SEND                                   sends a message to the other nodes of the cluster (kind "cluster")
//   CONTEXTS.WAIT                                   blocks its client for a moment
//   CONTEXTS.REPLY                                  the reply, once, in RESP2; null if there is none yet
//
// Kinds that need more than CONTEXTS.RUN: "auth" needs an AUTH, "disconnect" the end of the connection, "filter" another
// command, "unnamed" one that calls a command without a name, "cluster" a CONTEXTS.SEND to another node. "keys" waits for the
// key, which must have a module's type.
//
// The module declares the few functions of the module API that it uses, so that no header is needed.

#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

typedef struct Ctx Ctx;
typedef struct String String;
typedef struct Reply Reply;
typedef struct Blocked Blocked;
typedef struct User User;
typedef struct Key Key;
typedef struct Cursor Cursor;
typedef struct { uint64_t id, version; } Event;
typedef int (*Command)(Ctx *, String **, int);

enum { OK = 0, ERR = 1, API_VERSION = 1 };
enum { NOTIFY_GENERIC = 1 << 2, EVENT_CRON_LOOP = 8, AUTH_NOT_HANDLED = 1, REPLY_PROMISE = 12 };
enum { MAX_ARGUMENTS = 16, MAX_TEXT = 256 };

static int (*GetApi)(const char *, void *);
static int (*SetModuleAttribs)(Ctx *, const char *, int, int);
static int (*CreateCommand)(Ctx *, const char *, Command, const char *, int, int, int);
static const char *(*StringPtrLen)(const String *, size_t *);
static String *(*CreateString)(Ctx *, const char *, size_t);
static void (*FreeString)(Ctx *, String *);
static Reply *(*Call)(Ctx *, const char *, const char *, ...);
static const char *(*CallReplyProto)(Reply *, size_t *);
static int (*CallReplyType)(Reply *);
static void (*FreeCallReply)(Reply *);
static int (*ReplyWithSimpleString)(Ctx *, const char *);
static int (*ReplyWithStringBuffer)(Ctx *, const char *, size_t);
static int (*ReplyWithNull)(Ctx *);
static int (*ReplyWithError)(Ctx *, const char *);
static int (*ReplyWithArray)(Ctx *, long);
static int (*WrongArity)(Ctx *);
static unsigned long long (*CreateTimer)(Ctx *, long long, void (*)(Ctx *, void *), void *);
static Ctx *(*GetThreadSafeContext)(Blocked *);
static Ctx *(*GetDetachedThreadSafeContext)(Ctx *);
static void (*FreeThreadSafeContext)(Ctx *);
static void (*ThreadSafeContextLock)(Ctx *);
static void (*ThreadSafeContextUnlock)(Ctx *);
static Blocked *(*BlockClient)(Ctx *, Command, Command, void (*)(Ctx *, void *), long long);
static Blocked *(*BlockClientOnKeys)(Ctx *, Command, Command, void (*)(Ctx *, void *), long long, String **, int, void *);
static int (*UnblockClient)(Blocked *, void *);
static void (*SignalKeyAsReady)(Ctx *, String *);
static void (*SetDisconnectCallback)(Blocked *, void (*)(Ctx *, Blocked *));
static int (*SubscribeToKeyspaceEvents)(Ctx *, int, int (*)(Ctx *, int, const char *, String *));
static int (*NotifyKeyspaceEvent)(Ctx *, int, const char *, String *);
static int (*AddPostNotificationJob)(Ctx *, void (*)(Ctx *, void *), void *, void (*)(void *));
static int (*SubscribeToServerEvent)(Ctx *, Event, void (*)(Ctx *, Event, uint64_t, void *));
static int (*EventLoopAddOneShot)(void (*)(void *), void *);
static int (*Fork)(void (*)(int, int, void *), void *);
static int (*ExitFromChild)(int);
static void (*RegisterClusterMessageReceiver)(Ctx *, uint8_t, void (*)(Ctx *, const char *, uint8_t, const unsigned char *, uint32_t));
static int (*SendClusterMessage)(Ctx *, const char *, uint8_t, const char *, uint32_t);
static void *(*RegisterCommandFilter)(Ctx *, void (*)(void *), int);
static const String *(*CommandFilterArgGet)(void *, int);
static Cursor *(*ScanCursorCreate)(void);
static void (*ScanCursorDestroy)(Cursor *);
static int (*Scan)(Ctx *, Cursor *, void (*)(Ctx *, String *, Key *, void *), void *);
static int (*RegisterBoolConfig)(Ctx *, const char *, int, unsigned, int (*)(const char *, void *), int (*)(const char *, int, void *, String **), int (*)(Ctx *, void *, String **), void *);
static int (*LoadConfigs)(Ctx *);
static void (*RegisterAuthCallback)(Ctx *, int (*)(Ctx *, String *, String *, String **));
static void (*CallReplyPromiseSetUnblockHandler)(Reply *, void (*)(Ctx *, Reply *, void *), void *);
static User *(*CreateModuleUser)(const char *);
static void (*FreeModuleUser)(User *);
static int (*SetModuleUserACL)(User *, const char *);
static void (*SetContextUser)(Ctx *, const User *);

// The command that waits for its context, and the kind of this context. Only one command waits.
static char arguments[MAX_ARGUMENTS][MAX_TEXT];
static size_t lengths[MAX_ARGUMENTS];
static int count;
static char key_name[MAX_TEXT];
static size_t key_length;
static const char *waiting = "";
static char reply[MAX_TEXT];
static size_t reply_length;
static int is_set;

static void set_reply(const char *text, size_t length) {
    reply_length = length < MAX_TEXT ? length : MAX_TEXT;
    memcpy(reply, text, reply_length);
    is_set = 1;
}

// Runs the command in this context, if it waits for this kind. Arguments: flags, name, arguments of the command.
static void run(Ctx *ctx, const char *kind) {
    if (strcmp(waiting, kind) != 0) return;
    waiting = "";
    char format[MAX_TEXT + 2];
    memcpy(format, arguments[0], lengths[0]);
    memcpy(format + lengths[0], "v", 2);
    String *strings[MAX_ARGUMENTS];
    for (int i = 2; i < count; i++) strings[i] = CreateString(NULL, arguments[i], lengths[i]);
    Reply *got = Call(ctx, arguments[1], format, strings + 2, (size_t)count - 2);
    if (got) {
        size_t length;
        const char *text = CallReplyProto(got, &length);
        set_reply(text, length);
        FreeCallReply(got);
    } else {
        set_reply("refused", strlen("refused"));
    }
    for (int i = 2; i < count; i++) FreeString(NULL, strings[i]);
}

// Callbacks that have no context.
static void run_without(const char *kind) {
    if (strcmp(waiting, kind) != 0) return;
    Ctx *ctx = GetThreadSafeContext(NULL);
    run(ctx, kind);
    FreeThreadSafeContext(ctx);
}

static int finish(Ctx *ctx, String **argv, int argc) {
    (void)argv, (void)argc;
    return ReplyWithSimpleString(ctx, "OK");
}

static int in_command(Ctx *ctx) {
    run(ctx, "command");
    return finish(ctx, NULL, 0);
}

static int in_user(Ctx *ctx) {
    User *user = CreateModuleUser("of-module");
    SetModuleUserACL(user, "on");
    SetModuleUserACL(user, "allcommands");
    SetModuleUserACL(user, "allkeys");
    SetContextUser(ctx, user);
    run(ctx, "user");
    SetContextUser(ctx, NULL);
    FreeModuleUser(user);
    return finish(ctx, NULL, 0);
}

static void on_scan(Ctx *ctx, String *name, Key *key, void *data) {
    (void)name, (void)key, (void)data;
    run(ctx, "scan");
}

static int in_scan(Ctx *ctx) {
    Cursor *cursor = ScanCursorCreate();
    while (*waiting && Scan(ctx, cursor, on_scan, NULL)) {}
    ScanCursorDestroy(cursor);
    return finish(ctx, NULL, 0);
}

static void on_timer(Ctx *ctx, void *data) {
    (void)data;
    run(ctx, "timer");
}

static int in_timer(Ctx *ctx) {
    CreateTimer(ctx, 1, on_timer, NULL);
    return finish(ctx, NULL, 0);
}

static void on_job(Ctx *ctx, void *data) {
    (void)data;
    run(ctx, "job");
}

static int on_notification(Ctx *ctx, int type, const char *event, String *key) {
    (void)type, (void)key;
    if (strcmp(event, "contexts") != 0) return OK;
    run(ctx, "notification");
    if (strcmp(waiting, "job") == 0) AddPostNotificationJob(ctx, on_job, NULL, NULL);
    return OK;
}

static int in_notification(Ctx *ctx) {
    String *key = CreateString(ctx, "x", 1);
    NotifyKeyspaceEvent(ctx, NOTIFY_GENERIC, "contexts", key);
    FreeString(ctx, key);
    return finish(ctx, NULL, 0);
}

static void on_loop(void *data) {
    (void)data;
    run_without("loop");
}

static int in_loop(Ctx *ctx) {
    EventLoopAddOneShot(on_loop, NULL);
    return finish(ctx, NULL, 0);
}

static void on_forked(int code, int signal, void *data) {
    (void)code, (void)signal, (void)data;
    run_without("fork");
}

static int in_fork(Ctx *ctx) {
    int child = Fork(on_forked, NULL);
    if (child == 0) ExitFromChild(0);
    return child < 0 ? ReplyWithError(ctx, "ERR no fork") : finish(ctx, NULL, 0);
}

static int is_on;

static int get_setting(const char *name, void *data) {
    (void)name, (void)data;
    return is_on;
}

static int set_setting(const char *name, int value, void *data, String **error) {
    (void)name, (void)data, (void)error;
    is_on = value;
    return OK;
}

// RedisModule_Call crashes servers with the context of this callback.
static int on_setting(Ctx *ctx, void *data, String **error) {
    (void)ctx, (void)data, (void)error;
    run_without("setting");
    return OK;
}

static int in_setting(Ctx *ctx) {
    Reply *got = Call(ctx, "CONFIG", "ccc", "SET", "contexts.on", is_on ? "no" : "yes");
    if (got) FreeCallReply(got);
    return finish(ctx, NULL, 0);
}

static void on_promise(Ctx *ctx, Reply *of, void *data) {
    (void)data;
    run(ctx, "promise");
    FreeCallReply(of);
}

// Blocks its client for a moment.
static int wait(Ctx *ctx, String **argv, int argc) {
    (void)argv, (void)argc;
    UnblockClient(BlockClient(ctx, finish, NULL, NULL, 0), NULL);
    return OK;
}

static int in_promise(Ctx *ctx) {
    Reply *got = Call(ctx, "contexts.wait", "K");
    if (!got || CallReplyType(got) != REPLY_PROMISE) return ReplyWithError(ctx, "ERR no promise");
    CallReplyPromiseSetUnblockHandler(got, on_promise, NULL);
    FreeCallReply(got);
    return finish(ctx, NULL, 0);
}

// Contexts of blocked clients.
static int on_reply(Ctx *ctx, String **argv, int argc) {
    run(ctx, "reply");
    return finish(ctx, argv, argc);
}

static int on_timeout(Ctx *ctx, String **argv, int argc) {
    run(ctx, "timeout");
    return finish(ctx, argv, argc);
}

static void on_free(Ctx *ctx, void *data) {
    (void)data;
    run(ctx, "free");
}

static int in_reply(Ctx *ctx) {
    UnblockClient(BlockClient(ctx, on_reply, NULL, on_free, 0), &count);
    return OK;
}

static int in_timeout(Ctx *ctx) {
    BlockClient(ctx, finish, on_timeout, on_free, 1);
    return OK;
}

static void on_disconnect(Ctx *ctx, Blocked *blocked) {
    run(ctx, "disconnect");
    UnblockClient(blocked, NULL);
}

static int in_disconnect(Ctx *ctx) {
    SetDisconnectCallback(BlockClient(ctx, finish, NULL, on_free, 0), on_disconnect);
    return OK;
}

static int on_key(Ctx *ctx, String **argv, int argc) {
    run(ctx, "keys");
    return finish(ctx, argv, argc);
}

static void on_signal(Ctx *ctx, void *data) {
    (void)data;
    String *key = CreateString(ctx, key_name, key_length);
    SignalKeyAsReady(ctx, key);
    FreeString(ctx, key);
}

static int in_keys(Ctx *ctx) {
    String *key = CreateString(ctx, key_name, key_length);
    BlockClientOnKeys(ctx, on_key, NULL, on_free, 0, &key, 1, NULL);
    FreeString(ctx, key);
    CreateTimer(ctx, 1, on_signal, NULL);
    return OK;
}

static int in_blocked(Ctx *ctx) {
    Blocked *blocked = BlockClient(ctx, finish, NULL, on_free, 0);
    Ctx *safe = GetThreadSafeContext(blocked);
    run(safe, "blocked");
    FreeThreadSafeContext(safe);
    UnblockClient(blocked, NULL);
    return OK;
}

static void *on_blocked_thread(void *blocked) {
    Ctx *ctx = GetThreadSafeContext(blocked);
    ThreadSafeContextLock(ctx);
    run(ctx, "blocked-thread");
    ThreadSafeContextUnlock(ctx);
    FreeThreadSafeContext(ctx);
    UnblockClient(blocked, NULL);
    return NULL;
}

static void *on_thread(void *data) {
    (void)data;
    Ctx *ctx = GetThreadSafeContext(NULL);
    ThreadSafeContextLock(ctx);
    run(ctx, "thread");
    ThreadSafeContextUnlock(ctx);
    FreeThreadSafeContext(ctx);
    return NULL;
}

static void *on_detached(void *ctx) {
    ThreadSafeContextLock(ctx);
    run(ctx, "detached");
    ThreadSafeContextUnlock(ctx);
    FreeThreadSafeContext(ctx);
    return NULL;
}

static void start(void *(*function)(void *), void *data) {
    pthread_t id;
    pthread_create(&id, NULL, function, data);
    pthread_detach(id);
}

static int in_blocked_thread(Ctx *ctx) {
    start(on_blocked_thread, BlockClient(ctx, finish, NULL, on_free, 0));
    return OK;
}

static int in_thread(Ctx *ctx) {
    start(on_thread, NULL);
    return finish(ctx, NULL, 0);
}

static int in_detached(Ctx *ctx) {
    start(on_detached, GetDetachedThreadSafeContext(ctx));
    return finish(ctx, NULL, 0);
}

// Contexts of what the server calls by itself.
static void on_cron(Ctx *ctx, Event event, uint64_t subevent, void *data) {
    (void)event, (void)subevent, (void)data;
    run(ctx, "event");
}

static int on_auth(Ctx *ctx, String *user, String *password, String **error) {
    (void)user, (void)password, (void)error;
    run(ctx, "auth");
    return AUTH_NOT_HANDLED;
}

static void on_message(Ctx *ctx, const char *sender, uint8_t type, const unsigned char *text, uint32_t length) {
    (void)sender, (void)type, (void)text, (void)length;
    run(ctx, "cluster");
}

static void on_filter(void *filter) {
    size_t length;
    StringPtrLen(CommandFilterArgGet(filter, 0), &length);
    run_without(length ? "filter" : "unnamed");
}

static int in_nothing(Ctx *ctx) {
    return finish(ctx, NULL, 0);
}

// Each kind, and the function of the module API without which the server does not have it.
static const struct {
    const char *name;
    int (*enter)(Ctx *);
    void *needed;
} KINDS[] = {
    {"command", in_command, &Call},
    {"user", in_user, &SetContextUser},
    {"scan", in_scan, &Scan},
    {"timer", in_timer, &CreateTimer},
    {"notification", in_notification, &NotifyKeyspaceEvent},
    {"job", in_notification, &AddPostNotificationJob},
    {"loop", in_loop, &EventLoopAddOneShot},
    {"fork", in_fork, &Fork},
    {"setting", in_setting, &RegisterBoolConfig},
    {"promise", in_promise, &CallReplyPromiseSetUnblockHandler},
    {"reply", in_reply, &BlockClient},
    {"free", in_reply, &BlockClient},
    {"timeout", in_timeout, &BlockClient},
    {"disconnect", in_disconnect, &SetDisconnectCallback},
    {"keys", in_keys, &BlockClientOnKeys},
    {"blocked", in_blocked, &GetThreadSafeContext},
    {"blocked-thread", in_blocked_thread, &GetThreadSafeContext},
    {"thread", in_thread, &GetThreadSafeContext},
    {"detached", in_detached, &GetDetachedThreadSafeContext},
    {"event", in_nothing, &SubscribeToServerEvent},
    {"auth", in_nothing, &RegisterAuthCallback},
    {"cluster", in_nothing, &RegisterClusterMessageReceiver},
    {"filter", in_nothing, &RegisterCommandFilter},
    {"unnamed", in_nothing, &CommandFilterArgGet},
};
enum { KIND_COUNT = sizeof KINDS / sizeof *KINDS };

static int has(int kind) {
    void *function;
    memcpy(&function, KINDS[kind].needed, sizeof function);
    return function != NULL;
}

static int kinds(Ctx *ctx, String **argv, int argc) {
    (void)argv;
    if (argc != 1) return WrongArity(ctx);
    int found = 0;
    for (int i = 0; i < KIND_COUNT; i++) found += has(i);
    ReplyWithArray(ctx, found);
    for (int i = 0; i < KIND_COUNT; i++) {
        if (has(i)) ReplyWithSimpleString(ctx, KINDS[i].name);
    }
    return OK;
}

static int run_in(Ctx *ctx, String **argv, int argc) {
    if (argc < 5 || argc > MAX_ARGUMENTS + 3) return WrongArity(ctx);
    size_t length;
    const char *name = StringPtrLen(argv[2], &length);
    int kind = 0;
    while (kind < KIND_COUNT && strcmp(name, KINDS[kind].name) != 0) kind++;
    if (kind == KIND_COUNT || !has(kind)) return ReplyWithError(ctx, "ERR this server has no such kind");
    if (*waiting) return ReplyWithError(ctx, "ERR a command waits");
    for (int i = 3; i < argc; i++) {
        const char *text = StringPtrLen(argv[i], &length);
        if (length >= MAX_TEXT) return WrongArity(ctx);
        memcpy(arguments[i - 3], text, length);
        arguments[i - 3][length] = 0;
        lengths[i - 3] = length;
    }
    count = argc - 3;
    const char *key = StringPtrLen(argv[1], &key_length);
    if (key_length >= MAX_TEXT) return WrongArity(ctx);
    memcpy(key_name, key, key_length);
    is_set = 0;
    waiting = KINDS[kind].name;
    return KINDS[kind].enter(ctx);
}

static int send(Ctx *ctx, String **argv, int argc) {
    (void)argv;
    if (argc != 1) return WrongArity(ctx);
    SendClusterMessage(ctx, NULL, 1, "x", 1);
    return finish(ctx, NULL, 0);
}

static int reply_of(Ctx *ctx, String **argv, int argc) {
    (void)argv;
    if (argc != 1) return WrongArity(ctx);
    if (!is_set) return ReplyWithNull(ctx);
    is_set = 0;
    return ReplyWithStringBuffer(ctx, reply, reply_length);
}

int RedisModule_OnLoad(Ctx *ctx, String **argv, int argc) {
    (void)argv, (void)argc;
    // The first field of the context is the function that looks up all others.
    memcpy(&GetApi, (void *)ctx, sizeof GetApi);
#define API(name) if (GetApi("RedisModule_" #name, &name) != OK) return ERR
// Missing functions stay null.
#define OPTIONAL(name) GetApi("RedisModule_" #name, &name)
    API(SetModuleAttribs);
    API(CreateCommand);
    API(StringPtrLen);
    API(CreateString);
    API(FreeString);
    API(Call);
    API(CallReplyProto);
    API(CallReplyType);
    API(FreeCallReply);
    API(ReplyWithSimpleString);
    API(ReplyWithStringBuffer);
    API(ReplyWithNull);
    API(ReplyWithError);
    API(ReplyWithArray);
    API(WrongArity);
    API(CreateTimer);
    API(GetThreadSafeContext);
    API(GetDetachedThreadSafeContext);
    API(FreeThreadSafeContext);
    API(ThreadSafeContextLock);
    API(ThreadSafeContextUnlock);
    API(BlockClient);
    API(BlockClientOnKeys);
    API(UnblockClient);
    API(SignalKeyAsReady);
    API(SetDisconnectCallback);
    API(SubscribeToKeyspaceEvents);
    API(NotifyKeyspaceEvent);
    API(SubscribeToServerEvent);
    API(EventLoopAddOneShot);
    API(Fork);
    API(ExitFromChild);
    API(RegisterClusterMessageReceiver);
    API(SendClusterMessage);
    API(RegisterCommandFilter);
    API(CommandFilterArgGet);
    API(ScanCursorCreate);
    API(ScanCursorDestroy);
    API(Scan);
    API(RegisterBoolConfig);
    API(LoadConfigs);
    API(CreateModuleUser);
    API(FreeModuleUser);
    API(SetModuleUserACL);
    OPTIONAL(SetContextUser);
    OPTIONAL(AddPostNotificationJob);
    OPTIONAL(RegisterAuthCallback);
    OPTIONAL(CallReplyPromiseSetUnblockHandler);
    SetModuleAttribs(ctx, "contexts", 1, API_VERSION);
    if (CreateCommand(ctx, "contexts.kinds", kinds, "", 0, 0, 0) != OK) return ERR;
    if (CreateCommand(ctx, "contexts.run", run_in, "", 1, 1, 1) != OK) return ERR;
    if (CreateCommand(ctx, "contexts.send", send, "", 0, 0, 0) != OK) return ERR;
    if (CreateCommand(ctx, "contexts.wait", wait, "", 0, 0, 0) != OK) return ERR;
    if (CreateCommand(ctx, "contexts.reply", reply_of, "", 0, 0, 0) != OK) return ERR;
    if (RegisterBoolConfig(ctx, "on", 0, 0, get_setting, set_setting, on_setting, NULL) != OK) return ERR;
    if (LoadConfigs(ctx) != OK) return ERR;
    if (SubscribeToServerEvent(ctx, (Event){EVENT_CRON_LOOP, 1}, on_cron) != OK) return ERR;
    if (!RegisterCommandFilter(ctx, on_filter, 0)) return ERR;
    RegisterClusterMessageReceiver(ctx, 1, on_message);
    if (RegisterAuthCallback) RegisterAuthCallback(ctx, on_auth);
    return SubscribeToKeyspaceEvents(ctx, NOTIFY_GENERIC, on_notification);
}

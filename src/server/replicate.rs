//! Replication of a command to replicas and the AOF, and the signals of a changed key.

use super::argument::Argument;
use super::call::Call;
use redis_module::raw;
use std::ffi::CStr;

impl Call<'_> {
    /// Replicates the command as the client sent it.
    pub fn replicate_verbatim(&mut self) {
        // SAFETY: the context is the running command's.
        unsafe { api!(RedisModule_ReplicateVerbatim)(self.ctx()) };
    }

    /// Replicates another command with these arguments.
    pub fn replicate(&mut self, name: &CStr, arguments: &[&[u8]]) {
        let ctx = self.ctx();
        let strings: Vec<_> = arguments
            .iter()
            // SAFETY: the bytes are copied.
            .map(|argument| unsafe {
                api!(RedisModule_CreateString)(ctx, argument.as_ptr().cast(), argument.len())
            })
            .collect();
        // SAFETY: the format "v" takes a vector of strings and its length; the server takes its own references, and
        // each of these is freed once.
        unsafe {
            api!(RedisModule_Replicate)(
                ctx,
                name.as_ptr(),
                c"v".as_ptr(),
                strings.as_ptr(),
                strings.len(),
            );
            for string in strings {
                api!(RedisModule_FreeString)(ctx, string);
            }
        }
    }

    /// Replicates `name key [keyword] items`, where the key is argument 1 and the items are arguments of this command.
    /// Replicates nothing if there are no items.
    // Not inlined: most commands are replicated verbatim.
    #[inline(never)]
    pub fn replicate_items(&self, name: &CStr, keyword: Option<&CStr>, items: &[Argument<'_>]) {
        if items.is_empty() {
            return;
        }
        let (ctx, name, key) = (self.ctx(), name.as_ptr(), self.arg(1).as_raw());
        let (strings, len) = (items.as_ptr(), items.len());
        let replicate = api!(RedisModule_Replicate);
        // SAFETY: the formats take a string "s", a text "c", and a vector of strings and its length "v"; an argument
        // is a pointer to a string, and the server takes its own references.
        unsafe {
            match (keyword, items) {
                // The server allocates its list of arguments once, instead of twice.
                (None, &[item, value]) => {
                    let (item, value) = (item.as_raw(), value.as_raw());
                    replicate(ctx, name, c"sss".as_ptr(), key, item, value)
                }
                (None, _) => replicate(ctx, name, c"sv".as_ptr(), key, strings, len),
                (Some(keyword), _) => {
                    let keyword = keyword.as_ptr();
                    replicate(ctx, name, c"scv".as_ptr(), key, keyword, strings, len)
                }
            }
        };
    }

    /// Signals that the key in argument `key` changed, for WATCH and client-side caching, and publishes a keyspace event
    /// with this name (in the classes module and generic).
    #[inline]
    pub fn signal_changed(&mut self, key: usize, event: &CStr) {
        self.signal_advance();
        let key = self.arg(key).as_raw();
        let class = raw::REDISMODULE_NOTIFY_MODULE | raw::REDISMODULE_NOTIFY_GENERIC;
        // SAFETY: the context and the key's name are the running command's.
        unsafe {
            api!(RedisModule_SignalModifiedKey)(self.ctx(), key);
            api!(RedisModule_NotifyKeyspaceEvent)(self.ctx(), class, event.as_ptr(), key);
        }
    }
}

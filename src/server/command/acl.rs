//! Permissions of the user that runs a command.

use crate::server::argument::Argument;
use crate::server::call::Call;
use crate::server::context::flags_must_obey;
use crate::server::error::Error;
use redis_module::raw;
use std::ffi::{CStr, CString, c_int};
use std::io;
use std::ptr::NonNull;

/// Why a user may not run a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Denied {
    /// The server has no command of this name.
    UnknownCommand,
    /// The number of arguments is wrong. Only Redis 8.0 checks it, before the permission.
    WrongArity,
    /// The user has no permission.
    Permission(Error),
}

/// A string that is freed at the end.
struct OwnedString(NonNull<raw::RedisModuleString>);

impl OwnedString {
    /// # Safety
    /// `string` must be null or a string that nothing else frees.
    unsafe fn new(string: *mut raw::RedisModuleString) -> Option<Self> {
        NonNull::new(string).map(Self)
    }

    fn as_argument(&self) -> Argument<'_> {
        // SAFETY: the string lives as long as `self`.
        unsafe { Argument::new(self.0.as_ptr()) }
    }
}

impl Drop for OwnedString {
    fn drop(&mut self) {
        // SAFETY: by the contract of `new`. Without a context, because automatic memory management is off.
        unsafe { api!(RedisModule_FreeString)(std::ptr::null_mut(), self.0.as_ptr()) };
    }
}

/// A user. The server may delete or change it after the running command.
struct User(NonNull<raw::RedisModuleUser>);

impl Drop for User {
    fn drop(&mut self) {
        // SAFETY: frees the handle, not the user. It is freed once.
        unsafe { api!(RedisModule_FreeModuleUser)(self.0.as_ptr()) };
    }
}

impl Call<'_> {
    /// Checks that the user may run a command with these arguments, of which the first is its name. Logs a refusal in ACL LOG
    /// under `name`. Commands that must be obeyed, and commands of other modules without a user, are allowed.
    ///
    /// # Errors
    /// [`Denied`].
    pub fn check_permission(&self, name: &CStr, arguments: &[Argument<'_>]) -> Result<(), Denied> {
        if !self.has_user() {
            return Ok(());
        }
        // SAFETY: the context is the running command's, and it has a user.
        let user_name =
            unsafe { OwnedString::new(api!(RedisModule_GetCurrentUserName)(self.ctx())) };
        let Some(user_name) = user_name else {
            return Ok(());
        };
        // SAFETY: the string is valid. The result is null, or a handle that is freed below.
        let user = unsafe { api!(RedisModule_GetModuleUserFromUserName)(user_name.0.as_ptr()) };
        let user = NonNull::new(user).map(User);
        if let Some(user) = &user {
            // The number of arguments of a command has 31 bits.
            let count = arguments.len() as c_int;
            // SAFETY: the user is valid. An argument is a pointer to a string, and the server changes none of them.
            let allowed = unsafe {
                let strings = arguments.as_ptr().cast_mut().cast();
                api!(RedisModule_ACLCheckCommandPermissions)(user.0.as_ptr(), strings, count)
            };
            if allowed == raw::REDISMODULE_OK as c_int {
                return Ok(());
            }
            match io::Error::last_os_error().kind() {
                io::ErrorKind::NotFound => return Err(Denied::UnknownCommand),
                io::ErrorKind::InvalidInput => return Err(Denied::WrongArity),
                _ => {}
            }
        }
        // A user without a name in the list of users has no permissions that can be checked.
        Err(Denied::Permission(self.refuse(
            user.as_ref(),
            user_name.as_argument().bytes(),
            name,
        )))
    }

    /// As [`Call::check_permission`], for the command `name` with these arguments after its name.
    ///
    /// # Errors
    /// The server's error, also if the server has no such command.
    pub fn check_permission_for(
        &self,
        name: &CStr,
        arguments: &[Argument<'_>],
    ) -> Result<(), Error> {
        let string = self.string(name).ok_or(c"ERR Insufficient memory")?;
        let all: Vec<_> = std::iter::once(string.as_argument())
            .chain(arguments.iter().copied())
            .collect();
        self.check_permission(name, &all)
            .map_err(|denied| match denied {
                Denied::UnknownCommand | Denied::WrongArity => no_permission(b"", name),
                Denied::Permission(error) => error,
            })
    }

    fn string(&self, text: &CStr) -> Option<OwnedString> {
        let bytes = text.to_bytes();
        // SAFETY: the server copies the bytes.
        unsafe {
            let start = bytes.as_ptr().cast();
            OwnedString::new(api!(RedisModule_CreateString)(
                self.ctx(),
                start,
                bytes.len(),
            ))
        }
    }

    /// Logs a refusal. Returns the server's error.
    #[cold]
    fn refuse(&self, user: Option<&User>, user_name: &[u8], name: &CStr) -> Error {
        if let Some(user) = user
            && let Some(command) = self.string(name)
        {
            // SAFETY: the context, the user and the string are valid; the server copies the string.
            unsafe {
                api!(RedisModule_ACLAddLogEntry)(
                    self.ctx(),
                    user.0.as_ptr(),
                    command.0.as_ptr(),
                    raw::RedisModuleACLLogEntryReason_REDISMODULE_ACL_LOG_CMD,
                );
            }
        }
        no_permission(user_name, name)
    }

    /// Whether the command has a user, and need not be obeyed. Other modules can run it without a user, from any context;
    /// RedisModule_GetCurrentUserName then crashes Redis 7.0 and Valkey 8.0. No flag of the context shows it, and no id: servers
    /// use their clients for modules again, with the id of a connection. So the server is asked: for a call as the user, it
    /// looks for the user before it looks for the command.
    fn has_user(&self) -> bool {
        if flags_must_obey(self.context().flags()) {
            return false;
        }
        // SAFETY: the context is the running command's. There is no command without a name, so the server runs none.
        unsafe { api!(RedisModule_Call)(self.ctx(), c"".as_ptr(), c"C".as_ptr()) };
        io::Error::last_os_error().kind() != io::ErrorKind::Unsupported
    }
}

/// The server's error for a command that a user may not run.
fn no_permission(user_name: &[u8], name: &CStr) -> Error {
    let text = [
        b"NOPERM User ",
        user_name,
        b" has no permissions to run the '",
        name.to_bytes(),
        b"' command",
    ];
    Error::Formatted(CString::new(text.concat()).unwrap_or_default())
}

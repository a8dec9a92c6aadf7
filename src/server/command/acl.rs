//! Permissions of the user that runs a command.

use crate::server::argument::{Argument, OwnedString};
use crate::server::call::Call;
use crate::server::error::Error;
use crate::server::key::assert_none_open;
use redis_module::raw;
use std::ffi::{CStr, CString, c_int};
use std::io;
use std::marker::PhantomData;
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

/// The user of a running command.
#[derive(Debug)]
pub struct User<'a> {
    ctx: *mut raw::RedisModuleCtx,
    /// `None` if there is no user, or the command must be obeyed: then everything is allowed.
    name: Option<OwnedString>,
    /// `None` for a user without a name in the list of users, whose permissions cannot be checked. The server may delete or change
    /// the user after the running command.
    handle: Option<NonNull<raw::RedisModuleUser>>,
    command: PhantomData<&'a ()>,
}

impl Drop for User<'_> {
    fn drop(&mut self) {
        if let Some(handle) = self.handle {
            // SAFETY: frees the handle, not the user. It is freed once.
            unsafe { api!(RedisModule_FreeModuleUser)(handle.as_ptr()) };
        }
    }
}

impl<'a> User<'a> {
    /// The user that runs the command. To find it, the server calls the command filters of other modules, which can run commands.
    ///
    /// # Panics
    /// If a key is open.
    pub fn of(call: &Call<'a>) -> Self {
        assert_none_open();
        let mut user = Self {
            ctx: call.ctx(),
            name: None,
            handle: None,
            command: PhantomData,
        };
        if has_user(call) {
            // SAFETY: the context is the running command's, and it has a user. The name is freed once.
            user.name =
                unsafe { OwnedString::from_raw(api!(RedisModule_GetCurrentUserName)(call.ctx())) };
        }
        if let Some(name) = &user.name {
            let name = name.as_argument().as_raw();
            // SAFETY: the string is valid. The result is null, or a handle that is freed once.
            let handle = unsafe { api!(RedisModule_GetModuleUserFromUserName)(name) };
            user.handle = NonNull::new(handle);
        }
        user
    }
}

/// Whether the command has a user, and need not be obeyed. Other modules can run it without a user, from any context;
/// RedisModule_GetCurrentUserName then crashes Redis 7.0 and Valkey 8.0. No flag of the context shows it, and no id: servers
/// use their clients for modules again, with the id of a connection. So the server is asked: for a call as the user, it
/// looks for the user before it looks for the command.
fn has_user(call: &Call<'_>) -> bool {
    if call.must_obey() {
        return false;
    }
    // SAFETY: the context is the running command's. There is no command without a name, so the server runs none.
    unsafe { api!(RedisModule_Call)(call.ctx(), c"".as_ptr(), c"C".as_ptr()) };
    io::Error::last_os_error().kind() != io::ErrorKind::Unsupported
}

impl User<'_> {
    /// Checks that the user may run a command with these arguments, of which the first is its name. Logs a refusal in ACL LOG
    /// under `name`. Commands that must be obeyed, and commands of other modules without a user, are allowed.
    ///
    /// # Errors
    /// [`Denied`].
    pub fn check_permission(&self, name: &CStr, arguments: &[Argument<'_>]) -> Result<(), Denied> {
        let Some(user_name) = &self.name else {
            return Ok(());
        };
        if let Some(user) = self.handle {
            // The number of arguments of a command has 31 bits.
            let count = arguments.len() as c_int;
            // SAFETY: the user is valid. An argument is a pointer to a string, and the server changes none of them.
            let allowed = unsafe {
                let strings = arguments.as_ptr().cast_mut().cast();
                api!(RedisModule_ACLCheckCommandPermissions)(user.as_ptr(), strings, count)
            };
            if allowed == raw::REDISMODULE_OK as c_int {
                return Ok(());
            }
            match io::Error::last_os_error().kind() {
                io::ErrorKind::NotFound => return Err(Denied::UnknownCommand),
                io::ErrorKind::InvalidInput => return Err(Denied::WrongArity),
                _ => {}
            }
            let command = OwnedString::new(name.to_bytes());
            // SAFETY: the context, the user and the string are valid; the server copies the string.
            unsafe {
                api!(RedisModule_ACLAddLogEntry)(
                    self.ctx,
                    user.as_ptr(),
                    command.as_argument().as_raw(),
                    raw::RedisModuleACLLogEntryReason_REDISMODULE_ACL_LOG_CMD,
                );
            }
        }
        let user_name = user_name.as_argument().bytes();
        Err(Denied::Permission(no_permission(user_name, name)))
    }

    /// As [`User::check_permission`], for the command `name` with these arguments after its name.
    ///
    /// # Errors
    /// The server's error, also if the server has no such command.
    pub fn check_permission_for(
        &self,
        name: &CStr,
        arguments: &[Argument<'_>],
    ) -> Result<(), Error> {
        let string = OwnedString::new(name.to_bytes());
        let all = [&[string.as_argument()], arguments].concat();
        self.check_permission(name, &all)
            .map_err(|denied| match denied {
                Denied::UnknownCommand | Denied::WrongArity => no_permission(b"", name),
                Denied::Permission(error) => error,
            })
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

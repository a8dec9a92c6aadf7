//! Settings: CONFIG GET, SET and REWRITE, and the arguments of the load line.
//!
//! The server handles the value of a setting as text. The family that owns the setting parses the text and stores the
//! value. Redis 8 uses the name as it is; other servers put the module's name and a dot before it.
//!
//! The argument `families` of the load line is no setting: it selects which families of commands are loaded
//! (docs/configuration.md#families).

use super::argument::{Argument, OwnedString};
use super::guard::guarded;
use super::log;
use redis_module::raw;
use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::mem;
use std::ops::RangeInclusive;
use std::ptr;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicPtr, AtomicU32, Ordering};

/// Why a setting rejects a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Rejection {
    /// It cannot be parsed.
    Invalid,
    /// It is outside this range, which is written as `[1, 255]`.
    OutOfRange(String),
    /// Another reason, which is the whole text of the error.
    Because(String),
}

/// What CONFIG GET shows for an accepted text, if not the text itself.
pub type Accepted = Option<String>;

/// A setting.
#[derive(Debug, Clone, Copy)]
pub struct Setting {
    /// Its name.
    pub name: &'static CStr,
    /// Its old name, which the load line still accepts.
    pub old_name: Option<&'static str>,
    /// Its default.
    pub default: &'static CStr,
    /// Parses a text and stores the value.
    pub set: fn(Argument<'_>) -> Result<Accepted, Rejection>,
    /// Checks the text that was set against the values of other settings. Called when all settings of a command, or those
    /// of the load line and of the configuration file, are set: they are set one at a time, in any order.
    pub fits: fn(Argument<'_>) -> Result<(), Rejection>,
    /// Whether its name has the module's prefix on all servers.
    pub always_prefixed: bool,
    /// Whether new keys use it. Called when all settings are set.
    pub is_used: fn() -> bool,
    /// A line for the log if the setting is not the default, and not used, when the module is loaded.
    pub notice: Option<&'static str>,
}

impl Setting {
    /// A setting with these fields and the defaults of the others.
    pub const fn new(
        name: &'static CStr,
        default: &'static CStr,
        set: fn(Argument<'_>) -> Result<Accepted, Rejection>,
    ) -> Self {
        Self {
            name,
            old_name: None,
            default,
            set,
            fits: |_| Ok(()),
            always_prefixed: false,
            is_used: || true,
            notice: None,
        }
    }
}

/// Parses `yes` or `no` and stores it: the `set` of boolean settings.
///
/// # Errors
/// [`Rejection::Invalid`] for another text.
pub fn store_boolean(text: Argument<'_>, value: &AtomicBool) -> Result<Accepted, Rejection> {
    store_choice(text, ["no", "yes"], value)
}

/// Parses one of two words, in upper or lower case, and stores whether it is the second: the `set` of settings with two
/// values.
///
/// # Errors
/// [`Rejection::Invalid`] for another text.
pub fn store_choice(
    text: Argument<'_>,
    words: [&'static str; 2],
    value: &AtomicBool,
) -> Result<Accepted, Rejection> {
    let Some(index) = words.iter().position(|word| text.is(word)) else {
        return Err(Rejection::Invalid);
    };
    value.store(index == 1, Ordering::Relaxed);
    Ok(Some(words[index].to_owned()))
}

/// Parses an integer in this range.
///
/// # Errors
/// [`Rejection`] if the text is not an integer or out of range.
pub fn integer_in(text: Argument<'_>, range: RangeInclusive<i64>) -> Result<i64, Rejection> {
    let given = text.integer().ok_or(Rejection::Invalid)?;
    if range.contains(&given) {
        return Ok(given);
    }
    let (min, max) = range.into_inner();
    Err(Rejection::OutOfRange(format!("[{min}, {max}]")))
}

/// Parses an integer in this range and stores it: the `set` of integer settings.
///
/// # Errors
/// As [`integer_in`].
pub fn store_integer(
    text: Argument<'_>,
    range: RangeInclusive<i64>,
    value: &AtomicI64,
) -> Result<Accepted, Rejection> {
    value.store(integer_in(text, range)?, Ordering::Relaxed);
    Ok(None)
}

/// A setting and the text that CONFIG GET shows.
struct Shown {
    setting: &'static Setting,
    text: AtomicPtr<raw::RedisModuleString>,
}

static SHOWN: OnceLock<Vec<Shown>> = OnceLock::new();

impl Shown {
    /// The text of the error for a rejected text.
    fn rejected(&self, rejection: Rejection) -> String {
        let name = self.setting.name.to_string_lossy();
        match rejection {
            Rejection::Invalid => format!("Invalid value for `{name}`"),
            Rejection::OutOfRange(range) => {
                format!("Value for `{name}` must be in the range {range}")
            }
            Rejection::Because(text) => text,
        }
    }

    /// Sets the setting, whatever the values of the others: [`Shown::check`] checks them.
    fn take(&self, text: Argument<'_>) -> Result<(), String> {
        let shown = (self.setting.set)(text).map_err(|why| self.rejected(why))?;
        let shown = shown.as_ref().map_or(text.bytes(), String::as_bytes);
        let shown = OwnedString::new(shown).into_raw();
        let old = self.text.swap(shown, Ordering::Relaxed);
        // SAFETY: null, or the reference of an earlier call.
        drop(unsafe { OwnedString::from_raw(old) });
        Ok(())
    }

    /// The text that CONFIG GET shows. Another one may be set while the caller has it.
    fn text(&self) -> OwnedString {
        let text = self.text.load(Ordering::Relaxed);
        // SAFETY: [`register`] sets the text before anything reads it. The caller gets another reference to it.
        unsafe {
            api!(RedisModule_RetainString)(ptr::null_mut(), text);
            OwnedString::from_raw(text).expect("a text")
        }
    }

    /// Checks the value against the values of other settings.
    fn check(&self) -> Result<(), String> {
        (self.setting.fits)(self.text().as_argument()).map_err(|why| self.rejected(why))
    }
}

unsafe extern "C" fn get(_name: *const c_char, data: *mut c_void) -> *mut raw::RedisModuleString {
    // SAFETY: `data` is the address of an element of SHOWN, which is never changed once it is set.
    unsafe { &*data.cast::<Shown>() }
        .text
        .load(Ordering::Relaxed)
}

unsafe extern "C" fn set(
    _name: *const c_char,
    value: *mut raw::RedisModuleString,
    data: *mut c_void,
    error: *mut *mut raw::RedisModuleString,
) -> c_int {
    // SAFETY: by the contract of the callback; the value is valid for this call.
    unsafe { run(data, error, |shown| shown.take(Argument::new(value))) }
}

/// The server calls this when it has set all settings of a CONFIG SET. After an error, it sets the old values.
unsafe extern "C" fn apply(
    _ctx: *mut raw::RedisModuleCtx,
    data: *mut c_void,
    error: *mut *mut raw::RedisModuleString,
) -> c_int {
    // SAFETY: by the contract of the callback.
    unsafe { run(data, error, Shown::check) }
}

/// Runs `body` with the setting of a callback. Returns OK or ERR of the module API, and the text of the error in `error`.
///
/// # Safety
/// `data` and `error` must be those of the running callback.
unsafe fn run(
    data: *mut c_void,
    error: *mut *mut raw::RedisModuleString,
    body: impl FnOnce(&Shown) -> Result<(), String>,
) -> c_int {
    let done = guarded("a setting", || {
        // SAFETY: as in `get`.
        body(unsafe { &*data.cast() })
    });
    match done {
        Some(Ok(())) => raw::REDISMODULE_OK as c_int,
        Some(Err(text)) => {
            // SAFETY: the server takes ownership of the string.
            unsafe { *error = OwnedString::new(text.as_bytes()).into_raw() };
            raw::REDISMODULE_ERR as c_int
        }
        None => raw::REDISMODULE_ERR as c_int,
    }
}

/// Registers settings with the values of the load line. `settings` are all of the module, each with whether its family is
/// loaded; the others only get their defaults. `prefixed`: the server puts `module`, the module's name, and a dot before the
/// names of settings. On other servers, this name is an alias.
///
/// # Errors
/// A text for the log with the reason.
///
/// # Safety
/// `ctx` and `args` must be those of the running load function.
pub(super) unsafe fn register(
    ctx: *mut raw::RedisModuleCtx,
    settings: &[(bool, &'static Setting)],
    args: &[Argument<'_>],
    module: &CStr,
    prefixed: bool,
) -> Result<(), String> {
    let shown = SHOWN.get_or_init(|| {
        let settings = settings.iter().map(|&(_, setting)| Shown {
            setting,
            text: AtomicPtr::new(ptr::null_mut()),
        });
        settings.collect()
    });
    for one in shown {
        one.take(OwnedString::new(one.setting.default.to_bytes()).as_argument())?;
    }
    let shown = shown.iter().zip(settings);
    let shown: Vec<_> = shown
        .filter_map(|(one, (is_loaded, _))| is_loaded.then_some(one))
        .collect();
    let prefix = format!("{}.", module.to_string_lossy());
    let values = take_load_line(&shown, args, &prefix)?;
    for (&one, value) in shown.iter().zip(values) {
        let name = one.setting.name;
        let (flags, name) = if prefixed || one.setting.always_prefixed {
            (raw::REDISMODULE_CONFIG_DEFAULT, name.to_owned())
        } else {
            // The alias is the name on servers that add the prefix, so that their configuration files can be used.
            let name = name.to_string_lossy();
            let names = CString::new(format!("{name}|{prefix}{name}"));
            (
                raw::REDISMODULE_CONFIG_UNPREFIXED,
                names.unwrap_or_default(),
            )
        };
        let default = value.as_deref().unwrap_or(one.setting.default);
        // SAFETY: name and default are copied; the data of the callbacks live as long as the process.
        let registered = unsafe {
            api!(RedisModule_RegisterStringConfig)(
                ctx,
                name.as_ptr(),
                default.as_ptr(),
                flags,
                Some(get),
                Some(set),
                Some(apply),
                ptr::from_ref(one).cast_mut().cast(),
            )
        };
        if registered != raw::REDISMODULE_OK as c_int {
            let name = one.setting.name.to_string_lossy();
            return Err(format!(
                "setting {name} was refused by the server. Does another module have a setting of this name?"
            ));
        }
    }
    if prefixed {
        log::notice(&format!(
            "this server adds a prefix to the settings of modules: use CONFIG SET {prefix}<name>"
        ));
    }
    // SAFETY: all settings are registered; the server now sets them from its configuration file.
    if unsafe { api!(RedisModule_LoadConfigs)(ctx) } != raw::REDISMODULE_OK as c_int {
        return Err(
            "a setting in the configuration file was refused, see the preceding line".to_owned(),
        );
    }
    for one in shown {
        one.check()?;
        if one.text().as_argument().bytes() != one.setting.default.to_bytes()
            && let Some(notice) = one.setting.notice
            && !(one.setting.is_used)()
        {
            log::notice(notice);
        }
    }
    Ok(())
}

/// Parses the load line: pairs of a name (or an old name) and a value. Returns the specified texts in the order of the
/// settings.
fn take_load_line(
    shown: &[&Shown],
    args: &[Argument<'_>],
    prefix: &str,
) -> Result<Vec<Option<CString>>, String> {
    let mut values = vec![None; shown.len()];
    if let [only] = args
        && only.bytes().is_empty()
    {
        return Ok(values);
    }
    let (pairs, rest) = args.as_chunks();
    if !rest.is_empty() {
        return Err(
            "module arguments must be pairs of a name and a value, for example bf-error-rate 0.001"
                .to_owned(),
        );
    }
    for [given, value] in pairs.iter().filter(|[given, _]| !given.is(FAMILIES)) {
        let text = value.bytes();
        let given = String::from_utf8_lossy(given.bytes());
        let is_old = |one: &&Shown| {
            let old = one.setting.old_name;
            old.is_some_and(|old| old.eq_ignore_ascii_case(&given))
        };
        let is_new = |one: &&Shown| {
            let given = match one.setting.always_prefixed {
                true => given.strip_prefix(prefix).unwrap_or(&given),
                false => &given,
            };
            let name = one.setting.name.to_bytes();
            name.eq_ignore_ascii_case(given.as_bytes())
        };
        let Some(index) = shown.iter().position(|one| is_new(one) || is_old(one)) else {
            let known = shown.iter().map(|one| one.setting.name.to_string_lossy());
            let known: Vec<_> = known.chain([FAMILIES.into()]).collect();
            return Err(format!(
                "unknown module argument {given}. Known arguments: {}",
                known.join(", ")
            ));
        };
        if !is_new(&shown[index]) {
            log::warning(&format!(
                "{given} is a deprecated module argument, use {}",
                shown[index].setting.name.to_string_lossy()
            ));
        }
        shown[index].take(*value).map_err(|why| {
            let value = String::from_utf8_lossy(text);
            format!("invalid module argument {given} {value}: {why}")
        })?;
        values[index] = CString::new(text).ok();
    }
    Ok(values)
}

/// The argument of the load line that selects families.
const FAMILIES: &str = "families";

/// A set of families: bit i is the family i of [`Module::families`](super::load::Module::families).
#[derive(Debug)]
pub struct Selection(AtomicU32);

/// Why a load line selects no families.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum InvalidSelection {
    /// The list is empty, or has an empty or unknown name.
    UnknownName,
    /// The list has a name twice, or the load line has the argument twice.
    Duplicate,
}

impl Selection {
    /// All families.
    pub const fn all() -> Self {
        Self(AtomicU32::new(u32::MAX))
    }

    /// Whether the family with this number is loaded.
    #[inline]
    pub(super) fn contains(&self, family: usize) -> bool {
        self.0.load(Ordering::Relaxed) & 1 << family != 0
    }

    /// Replaces the selection by that of a load line: arguments in pairs of a name and a value. `names` are those of the
    /// families; a family without a name is always loaded. Without the argument `families`, all are loaded.
    ///
    /// Allocates no memory, so that it can run before the module is initialized.
    ///
    /// # Errors
    /// [`InvalidSelection`]; then all families are selected.
    pub(super) fn set(
        &self,
        names: impl Iterator<Item = Option<&'static str>> + Clone,
        arguments: &[Argument<'_>],
    ) -> Result<(), InvalidSelection> {
        self.0.store(u32::MAX, Ordering::Relaxed);
        let unnamed = bits(names.clone(), |name| name.is_none());
        let mut selected = None;
        let (pairs, _) = arguments.as_chunks::<2>();
        for [_, list] in pairs.iter().filter(|[name, _]| name.is(FAMILIES)) {
            if selected.is_some() {
                return Err(InvalidSelection::Duplicate);
            }
            let mut families = unnamed;
            for given in list.bytes().split(|&byte| byte == b',') {
                let same = |name: Option<&str>| {
                    name.is_some_and(|name| name.as_bytes().eq_ignore_ascii_case(given))
                };
                match bits(names.clone(), same) {
                    0 => return Err(InvalidSelection::UnknownName),
                    family if families & family != 0 => return Err(InvalidSelection::Duplicate),
                    family => families |= family,
                }
            }
            selected = Some(families);
        }
        self.0
            .store(selected.unwrap_or(u32::MAX), Ordering::Relaxed);
        Ok(())
    }
}

/// The numbers of the families whose name satisfies `condition`, as bits.
fn bits(
    names: impl Iterator<Item = Option<&'static str>>,
    condition: impl Fn(Option<&'static str>) -> bool,
) -> u32 {
    names
        .enumerate()
        .filter(|&(_, name)| condition(name))
        .fold(0, |bits, (number, _)| bits | 1 << number)
}

/// Fills the one function of the module API that reads arguments. The module's name depends on its arguments, and all other
/// functions are filled when the module takes its name.
///
/// # Safety
/// `ctx` must be that of the running load function.
pub(super) unsafe fn prepare_arguments(ctx: *mut raw::RedisModuleCtx) {
    type GetApi = unsafe extern "C" fn(*const c_char, *mut c_void) -> c_int;
    let name: &CStr = c"RedisModule_StringPtrLen";
    // SAFETY: the first field of the context is the server's function that returns a function by its name, as
    // RedisModule_Init in redismodule.h uses it. The pointer that it writes has the type of the function of this name.
    unsafe {
        let get: GetApi = mem::transmute(*ctx.cast::<*const c_void>());
        get(
            name.as_ptr(),
            (&raw mut raw::RedisModule_StringPtrLen).cast(),
        );
    }
}

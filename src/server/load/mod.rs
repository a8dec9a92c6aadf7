//! Loading: registers types, commands and settings with the server.

mod module_list;
mod repeated_load;
pub mod server_version;

use super::argument::Argument;
use super::command::{self, Command, Since, Unregistered};
use super::config::{self, InvalidSelection, Selection, Setting};
use super::context::slot_imports;
use super::data_type::{FILE_EVENTS, Registration};
use super::guard::{self, guarded};
use super::huge_pages;
use super::injected;
use super::log;
use super::memory;
use super::part::Parts;
use super::stats::{self, InfoWriter, Statistic};
use super::window;
use module_list::Loaded;
use redis_module::{Context, raw};
use server_version::ServerVersion;
use std::borrow::Cow;
use std::ffi::{CStr, c_int};
use std::ptr;
use std::slice;
use std::sync::OnceLock;

/// A family of commands around its data types.
#[derive(Debug, Clone, Copy)]
pub struct Family {
    /// Its name in the module argument `families`; `None` for a family that is always loaded.
    pub name: Option<&'static str>,
    /// Its ACL category, which is also the prefix of its fields in INFO.
    pub category: &'static CStr,
    /// The version that introduced its commands, except for those that specify another one.
    pub since: Since,
    /// Its types.
    pub data_types: &'static [&'static Registration],
    /// Its commands.
    pub commands: &'static [Command],
    /// Its settings.
    pub settings: &'static [Setting],
    /// The counters of its types besides those of all types.
    pub counters: &'static [Statistic],
}

impl Family {
    /// The names of the commands that another module has, too.
    fn names_in(&self, owner: &Loaded) -> impl Iterator<Item = Cow<'static, str>> {
        let names = (self.commands.iter()).map(|command| command.name.to_string_lossy());
        names.filter(|name| (owner.commands.iter()).any(|other| other.eq_ignore_ascii_case(name)))
    }

    fn has_command_of(&self, owner: &Loaded) -> bool {
        self.names_in(owner).next().is_some()
    }

    /// The commands that another module has, too, for the log: `topk.*` for all of them. `None` if there are none.
    fn commands_of(&self, owner: &Loaded) -> Option<String> {
        let names: Vec<_> = self.names_in(owner).collect();
        let prefix = names.first()?.split('.').next()?;
        Some(match names.len() == self.commands.len() {
            true => format!("{prefix}.*"),
            false => names.join(", "),
        })
    }
}

/// A module.
#[derive(Debug)]
pub struct Module {
    /// Its name if its first family is loaded.
    pub name: &'static CStr,
    /// Its name without the first family.
    pub name_without_first: &'static CStr,
    /// The version of the command set, which clients read.
    pub version: c_int,
    /// Its families, also those that are not loaded.
    pub families: &'static [Family],
    /// Which families are loaded: [`Selection::all`] in a literal.
    pub selection: Selection,
    /// Version and revision of the build, for the log and INFO.
    pub release: Release,
}

/// The version of a build of the module.
#[derive(Debug, Clone, Copy)]
pub struct Release {
    /// The version of the package.
    pub version: &'static str,
    /// The revision of the sources.
    pub revision: &'static str,
}

/// Logs which API functions the server lacks, with the consequence.
fn log_missing() {
    if optional_api!(RedisModule_SetCommandACLCategories).is_none() {
        log::notice(
            "this server does not put module commands into ACL categories: grant and deny the commands by name (+bf.add)",
        );
    } else if optional_api!(RedisModule_AddACLCategory).is_none() {
        log::notice(
            "this server does not support ACL categories of modules: the commands are in @read, @write and @fast only",
        );
    }
    if optional_api!(RedisModule_TryCalloc).is_none() {
        log::verbose(
            "this server lacks RedisModule_TryCalloc: large allocations are tested with TryAlloc first; no action is needed",
        );
    }
}

/// Valkey 9 migrates cluster slots as a stream of commands, the AOF rewrite of their keys. During the migration, a
/// node has keys that it does not own yet. Valkey migrates slots in this way only if all modules declare this option.
/// This module uses only the keys of the running command. Older releases ignore the option; Redis may give the bit
/// another meaning.
const VALKEY_HANDLE_ATOMIC_SLOT_MIGRATION: u32 = 1 << 5;

/// The first version of Redis with setting names without the module's prefix, in the format of
/// `RedisModule_GetServerVersion`: a byte each for major, minor and patch. No version of Valkey has such names: up to
/// 8.1 it logs a warning for the flag, and in 9.1 the flag has another meaning.
const REDIS_WITH_UNPREFIXED_SETTINGS: c_int = 0x08_00_00;

/// The module that a load function of this library has loaded. The server may have unloaded it since, and the library may
/// have stayed in memory.
static LOADED: OnceLock<&'static Module> = OnceLock::new();

/// The module.
///
/// # Panics
/// If it is not loaded.
pub fn module() -> &'static Module {
    LOADED.get().expect("a loaded module")
}

impl Module {
    /// Whether the server has this library loaded as a module.
    fn is_loaded(&self) -> bool {
        LOADED.get().is_some() && module_list::is_loaded(self.loaded_name())
    }

    /// Whether the family with this number in [`Module::families`] is loaded.
    #[inline]
    pub fn has_family(&self, number: usize) -> bool {
        self.selection.contains(number)
    }

    fn loaded_families(&self) -> impl Iterator<Item = &'static Family> {
        let families = self.families.iter().enumerate();
        families.filter_map(|(number, family)| self.has_family(number).then_some(family))
    }

    /// The types of the loaded families.
    pub fn data_types(&self) -> impl Iterator<Item = &'static Registration> {
        self.loaded_families()
            .flat_map(|family| family.data_types.iter().copied())
    }

    /// The module's name in the server.
    fn loaded_name(&self) -> &'static CStr {
        match self.has_family(0) {
            true => self.name,
            false => self.name_without_first,
        }
    }

    /// The advice to load only the families of whose commands other modules have none. Without the first family if its name, which
    /// is also that of the module, `is_name_taken`. Empty if there are none, or if another module has commands that belong to no
    /// family.
    fn families_left(&self, owners: &[Loaded], is_name_taken: bool) -> String {
        let is_free = |family: &&Family| !owners.iter().any(|owner| family.has_command_of(owner));
        let mut others = self
            .loaded_families()
            .filter(|family| family.name.is_none());
        let is_possible = others.all(|family| is_free(&family));
        let families = self.loaded_families().skip(usize::from(is_name_taken));
        let left = families.filter(is_free).filter_map(|family| family.name);
        match left.collect::<Vec<_>>() {
            left if is_possible && !left.is_empty() => format!(
                ", or load only the families that no other module has: families {}",
                left.join(",")
            ),
            _ => String::new(),
        }
    }

    /// Why a command or a type is not registered, for the log: with the module that has it, what else that module has, and which
    /// families can be loaded beside it.
    fn unregistered(&self, context: &Context, why: Unregistered) -> String {
        let taken = match why {
            Unregistered::Taken(taken) => taken,
            Unregistered::Failed(why) => return why,
        };
        let mut owners = Loaded::all(context);
        owners.retain(|owner| (self.loaded_families()).any(|family| family.has_command_of(owner)));
        if owners.is_empty() {
            return format!("{taken} was refused by the server: another module has it");
        }
        let owned = owners.iter().map(|owner| {
            let commands = (self.loaded_families()).filter_map(|family| family.commands_of(owner));
            let commands = commands.collect::<Vec<_>>().join(", ");
            format!("module {}{} has {commands}", owner.name, owner.description)
        });
        let owned: Vec<_> = owned.collect();
        format!(
            "{taken} was refused by the server: {}. Remove the other loadmodule line{}",
            owned.join(", "),
            self.families_left(&owners, false)
        )
    }

    /// Why the load line selects no families, for the log.
    fn invalid_selection(&self, why: InvalidSelection) -> String {
        let names = self.families.iter().filter_map(|family| family.name);
        let names = names.collect::<Vec<_>>().join(",");
        match why {
            InvalidSelection::UnknownName => {
                format!("families must be one or more of {names}, separated by commas")
            }
            InvalidSelection::Duplicate => {
                format!("families must be specified once, with each of {names} at most once")
            }
        }
    }

    /// Registers the types, the ACL category and the commands of a family. Returns whether the server accepted all ACL
    /// categories.
    ///
    /// # Errors
    /// [`Unregistered`].
    ///
    /// # Safety
    /// As [`Module::register`].
    unsafe fn register_family(
        ctx: *mut raw::RedisModuleCtx,
        family: &'static Family,
        asks_for_keys: bool,
    ) -> Result<bool, Unregistered> {
        for data_type in family.data_types {
            // SAFETY: by the function's contract, as in this whole function.
            if !unsafe { (data_type.register)(ctx) } {
                let name = data_type.name.to_string_lossy();
                return Err(Unregistered::Taken(format!("type {name}")));
            }
        }
        if let Some(add) = optional_api!(RedisModule_AddACLCategory) {
            // SAFETY: the server copies the name. If it refuses the category because a category of this name exists, the
            // commands are put into the existing category.
            unsafe { add(ctx, family.category.as_ptr()) };
        }
        let mut all_categories = true;
        for command in family.commands {
            let (category, since) = (family.category, family.since);
            // SAFETY: see above.
            all_categories &=
                unsafe { command::register(ctx, command, category, since, asks_for_keys)? };
        }
        Ok(all_categories)
    }

    fn options(is_valkey: bool) -> c_int {
        let mut options = raw::REDISMODULE_OPTIONS_HANDLE_IO_ERRORS
            | raw::REDISMODULE_OPTION_NO_IMPLICIT_SIGNAL_MODIFIED
            | raw::REDISMODULE_OPTIONS_HANDLE_REPL_ASYNC_LOAD;
        if is_valkey {
            options |= VALKEY_HANDLE_ATOMIC_SLOT_MIGRATION;
        }
        options as c_int
    }

    /// Registers types, commands and settings, which the server removes again if loading fails, and then what it would keep.
    ///
    /// # Safety
    /// `ctx` and `args` must be those of the running load function, and the API initialized.
    unsafe fn register(
        &'static self,
        ctx: *mut raw::RedisModuleCtx,
        args: &[Argument<'_>],
        info: raw::RedisModuleInfoFunc,
    ) -> Result<(), String> {
        // SAFETY: by the function's contract.
        let server = unsafe { ServerVersion::of(ctx) };
        let is_valkey = server.is_some_and(|server| server.is_valkey);
        // SAFETY: by the function's contract, as in this whole function.
        unsafe { log::name_module(ctx) };
        if let Some(why) = server.and_then(ServerVersion::too_old) {
            return Err(why);
        }
        // SAFETY: see above.
        unsafe { api!(RedisModule_SetModuleOptions)(ctx, Self::options(is_valkey)) };
        log_missing();
        if let Some(line) = server.and_then(ServerVersion::untested) {
            log::notice(&line);
        }
        // SAFETY: see above.
        unsafe { injected::register(ctx) };
        #[cfg(debug_assertions)]
        memory::set_refusals();
        let context = Context::new(ctx);
        let asks_for_keys = server.is_none_or(|server| server.asks_for_keys(&context));
        let mut all_categories = true;
        for (number, family) in self.families.iter().enumerate() {
            if self.has_family(number) {
                // SAFETY: see above.
                let registered = unsafe { Self::register_family(ctx, family, asks_for_keys) };
                all_categories &=
                    registered.map_err(|why| self.unregistered(&Context::new(ctx), why))?;
            } else {
                // A load that failed may have set them, and the library may have stayed in memory.
                let types = family.data_types.iter();
                types.for_each(|data_type| data_type.set_handle(ptr::null_mut()));
            }
        }
        if !all_categories {
            log::notice("this server accepted only some ACL categories: run ACL CAT to list them");
        }
        let families = self.families.iter().enumerate();
        let families = families.flat_map(|(number, family)| {
            let settings = family.settings.iter();
            settings.map(move |setting| (self.has_family(number), setting))
        });
        let module = [memory::SETTINGS, huge_pages::SETTINGS, window::SETTINGS];
        let module = module.into_iter().flatten().map(|setting| (true, setting));
        let settings: Vec<_> = families.chain(module).collect();
        // SAFETY: the API is initialized.
        let version = unsafe { api!(RedisModule_GetServerVersion)() };
        let prefixed = is_valkey || version < REDIS_WITH_UNPREFIXED_SETTINGS;
        // SAFETY: see above.
        unsafe { config::register(ctx, &settings, args, self.loaded_name(), prefixed)? };
        huge_pages::log_status();
        // Redis 7.0 keeps the subscriptions of a module that failed to load, and would call code that is no longer in memory.
        for (id, on_event) in [
            slot_imports(is_valkey),
            FILE_EVENTS,
            huge_pages::CHILD_EVENTS,
            huge_pages::CRON_EVENTS,
        ] {
            let event = raw::RedisModuleEvent { id, dataver: 1 };
            // SAFETY: see above; the function has the type that the server expects.
            unsafe { api!(RedisModule_SubscribeToServerEvent)(ctx, event, Some(on_event)) };
        }
        // SAFETY: see above.
        unsafe { api!(RedisModule_RegisterInfoFunc)(ctx, info) };
        let Release { version, revision } = self.release;
        log::notice(&format!("Roughly {version} ({revision}) is ready"));
        repeated_load::keep_arguments(args);
        LOADED.get_or_init(|| self);
        Ok(())
    }

    /// Implements `RedisModule_OnLoad`. Returns OK or ERR of the module API.
    ///
    /// # Safety
    /// The pointers must be those the server passes to `RedisModule_OnLoad`.
    pub unsafe fn load(
        &'static self,
        ctx: *mut raw::RedisModuleCtx,
        argv: *mut *mut raw::RedisModuleString,
        argc: c_int,
        info: raw::RedisModuleInfoFunc,
    ) -> c_int {
        let (ok, refused) = (raw::REDISMODULE_OK as c_int, raw::REDISMODULE_ERR as c_int);
        let is_loaded = self.is_loaded();
        if !is_loaded {
            // SAFETY: the context is that of the running load function.
            unsafe { config::prepare_arguments(ctx) };
        }
        let args: &[Argument<'_>] = match usize::try_from(argc).unwrap_or(0) {
            0 => &[],
            // SAFETY: argv holds argc strings, valid until the return; it may be null where there are none. An argument is a
            // pointer to a string.
            len => unsafe { slice::from_raw_parts(argv.cast(), len) },
        };
        if is_loaded {
            // The server opens a library once, so a second load must not change the state of the first.
            let loaded = guarded("loading", || {
                let name = self.loaded_name().to_string_lossy();
                // SAFETY: the context is that of the running load function, and the first load has succeeded.
                unsafe {
                    let server = ServerVersion::of(ctx);
                    let options = Self::options(server.is_some_and(|server| server.is_valkey));
                    repeated_load::load(ctx, &name, self.version, options, args)
                }
            });
            return loaded.unwrap_or(refused);
        }
        let names = self.families.iter().map(|family| family.name);
        let selected = self.selection.set(names, args);
        let name = self.loaded_name();
        // Until this call returns, all other API pointers are null and the global allocator is the system's, so the module
        // must not allocate before it.
        // SAFETY: the context is the server's; the name is a constant.
        let initialized = unsafe {
            raw::Export_RedisModule_Init(
                ctx,
                name.as_ptr(),
                self.version,
                raw::REDISMODULE_APIVER_1 as c_int,
            )
        };
        guard::replace_report();
        let loaded = guarded("loading", || {
            let loaded = match selected {
                Err(why) => Err(self.invalid_selection(why)),
                Ok(()) if initialized != ok => Err(self.name_taken(&Context::new(ctx))),
                // SAFETY: the context is that of the running load function, and the call has set the API pointers.
                Ok(()) => unsafe { self.register(ctx, args, info) },
            };
            if let Err(why) = &loaded {
                log::warning(&format!("not loaded: {why}"));
            }
            loaded.is_ok()
        });
        if loaded == Some(true) {
            return ok;
        }
        log::forget_module();
        refused
    }

    /// Why the module is not loaded if a module has its name, which is the only reason why its initialization fails.
    fn name_taken(&self, context: &Context) -> String {
        let name = self.loaded_name().to_string_lossy();
        let owners = Loaded::all(context);
        let other = owners.iter().find(|owner| owner.name == name);
        let other = other.map_or("", |owner| &owner.description);
        let left = match self.has_family(0) {
            true => self.families_left(&owners, true),
            false => String::new(),
        };
        format!(
            "another module with the name {name} is loaded{other}. Remove its loadmodule line or the one of Roughly{}{left}",
            module_list::own_file()
        )
    }

    /// Implements the INFO callback.
    ///
    /// # Safety
    /// The arguments must be those of the running callback.
    pub unsafe fn write_info(&self, ctx: *mut raw::RedisModuleInfoCtx, for_crash_report: c_int) {
        if for_crash_report != 0 {
            // A crash report is written in a signal handler, which must not allocate.
            return;
        }
        // SAFETY: by the function's contract.
        let mut info = unsafe { InfoWriter::new(ctx) };
        guarded("info", || self.write_sections(&mut info));
    }

    /// Writes the sections `version` and `stats`. The server puts the module's name before each name.
    fn write_sections(&self, info: &mut InfoWriter) {
        if info.section(c"version") {
            info.text("roughly_version", self.release.version);
            info.text("roughly_revision", self.release.revision);
        }
        if info.section(c"stats") {
            for family in self.loaded_families() {
                let category = family.category.to_string_lossy();
                for data_type in family.data_types {
                    let suffix = data_type.info_suffix;
                    for (name, value) in data_type.stats.fields(family.counters) {
                        info.number(&format!("{category}{suffix}_{name}"), value);
                    }
                }
            }
            for of in Parts::ALL {
                for (number, family) in self.families.iter().enumerate() {
                    let mut commands = family.commands.iter();
                    if self.has_family(number) && commands.any(|each| each.handler.parts >= of) {
                        let category = family.category.to_string_lossy();
                        let name = format!("{}_calls_{category}", of.name().to_lowercase());
                        info.number(&name, stats::part_calls(of, number));
                    }
                }
            }
            for (name, value) in stats::module_fields() {
                info.number(name, value);
            }
            let bytes = i64::try_from(memory::of_process().bytes).unwrap_or(i64::MAX);
            info.number("memory_limit_bytes", bytes);
            huge_pages::write_info(info);
        }
    }
}

/// Defines the entry point of the module for a `static` [`Module`].
#[macro_export]
macro_rules! export_module {
    ($module:path) => {
        /// The entry point: the server calls it when it loads the module.
        ///
        /// # Safety
        /// Only the server calls this, with the pointers of a loading module.
        #[allow(non_snake_case, unsafe_code)]
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn RedisModule_OnLoad(
            ctx: *mut redis_module::raw::RedisModuleCtx,
            argv: *mut *mut redis_module::raw::RedisModuleString,
            argc: std::ffi::c_int,
        ) -> std::ffi::c_int {
            unsafe extern "C" fn info(
                ctx: *mut redis_module::raw::RedisModuleInfoCtx,
                for_crash_report: std::ffi::c_int,
            ) {
                // SAFETY: the arguments are this callback's.
                unsafe { $module.write_info(ctx, for_crash_report) }
            }
            // SAFETY: the pointers are those of the server.
            unsafe { $module.load(ctx, argv, argc, Some(info)) }
        }
    };
}

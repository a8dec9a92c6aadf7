//! Options at any position among the arguments of a command. Other arguments are ignored.
//!
//! RedisBloom accepts surplus and misspelled arguments of some commands, and so does Roughly. A warning in the
//! log names the first of them, because the sender may expect it to have an effect.

use crate::server::argument::Argument;
use crate::server::call::Call;
use crate::server::error::Error;
use crate::server::log::{self, quoted};
use smallvec::SmallVec;

/// An option without its value: its keyword is the last argument.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MissingValue;

/// The options of a running command.
#[derive(Debug)]
pub struct Options<'call, 'a> {
    call: &'call Call<'a>,
    first: usize,
    /// Keywords that were looked up as options without a value.
    flags: SmallVec<[&'static str; 2]>,
    /// Positions of the keywords that were found and have a value after them.
    keywords: SmallVec<[usize; 8]>,
}

impl<'call, 'a> Options<'call, 'a> {
    /// The options of `call` from argument number `first` on.
    pub fn new(call: &'call Call<'a>, first: usize) -> Self {
        Self {
            call,
            first,
            flags: SmallVec::new(),
            keywords: SmallVec::new(),
        }
    }

    /// Whether the keyword is specified.
    pub fn flag(&mut self, keyword: &'static str) -> bool {
        self.flags.push(keyword);
        self.position(keyword).is_some()
    }

    /// The argument after the first occurrence of the keyword; `None` if the keyword is not specified.
    ///
    /// # Errors
    /// [`MissingValue`] if there is no argument after it.
    pub fn value(&mut self, keyword: &'static str) -> Result<Option<Argument<'a>>, MissingValue> {
        let Some(position) = self.position(keyword) else {
            return Ok(None);
        };
        self.keywords.push(position);
        let value = self.call.args_from(position + 1).next();
        value.map(Some).ok_or(MissingValue)
    }

    /// The number of the first argument that is this keyword, the first of an option with several arguments. The caller reports
    /// them with [`Options::take`].
    pub fn position(&self, keyword: &'static str) -> Option<usize> {
        let arguments = self.call.args_from(self.first);
        let mut numbered = (self.first..).zip(arguments);
        numbered.find_map(|(number, argument)| argument.is(keyword).then_some(number))
    }

    /// The number of the first argument that is this keyword and belongs to no option that was found.
    pub fn untaken(&self, keyword: &'static str) -> Option<usize> {
        let mut ignored = self.ignored();
        ignored.find_map(|(number, argument)| argument.is(keyword).then_some(number))
    }

    /// Arguments that belong to an option: `len` from number `index` on, pairs of a keyword and a value.
    pub fn take(&mut self, index: usize, len: usize) {
        self.keywords.extend((index..index + len).step_by(2));
    }

    /// The arguments that are neither an option that was looked up nor the value of one.
    fn ignored(&self) -> impl Iterator<Item = (usize, Argument<'a>)> {
        let is_ignored = |(index, argument): &(usize, Argument<'_>)| {
            let is_flag = self.flags.iter().any(|flag| argument.is(flag));
            let is_value = |keyword: &usize| (*keyword..=keyword + 1).contains(index);
            !is_flag && !self.keywords.iter().any(is_value)
        };
        let arguments = (self.first..).zip(self.call.args_from(self.first));
        arguments.filter(is_ignored)
    }

    /// Refuses arguments that are neither an option that was looked up nor the value of one.
    ///
    /// # Errors
    /// `ERR syntax error` if there is such an argument.
    pub fn refuse_others(&self) -> Result<(), Error> {
        match self.ignored().next() {
            None => Ok(()),
            Some(_) => Err(c"ERR syntax error".into()),
        }
    }

    /// Logs a warning, at most once a second, if an argument is neither an option that was looked up nor the
    /// value of one. The warning shows the first of them.
    pub fn warn_of_ignored(&self) {
        let mut ignored = self.ignored();
        let Some((_, first)) = ignored.next() else {
            return;
        };
        let command = self.call.arg(0).bytes().to_ascii_uppercase();
        let command = command.escape_ascii();
        let argument = quoted(first.bytes());
        let more = match ignored.count() {
            0 => String::new(),
            count => format!(" and {count} more"),
        };
        log::warning_of_input(&format!("{command} ignores the argument {argument}{more}"));
    }
}

//! Options at any position among the arguments of a command. Other arguments are ignored.
//!
//! RedisBloom accepts surplus and misspelled arguments of some commands, and so does Roughly. A warning in the
//! log names the first of them, because the sender may expect it to have an effect.

use super::argument::Argument;
use super::call::{Call, Error};
use super::log;
use super::log_text::quoted;

/// An option without its value: its keyword is the last argument.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MissingValue;

/// The options of a running command.
#[derive(Debug)]
pub struct Options<'call, 'a> {
    call: &'call Call<'a>,
    first: usize,
    /// Keywords that were looked up as options without a value.
    flags: Vec<&'static str>,
    /// Positions of the keywords that were found and have a value after them.
    keywords: Vec<usize>,
}

impl<'call, 'a> Options<'call, 'a> {
    /// The options of `call` from argument number `first` on.
    #[must_use]
    pub fn new(call: &'call Call<'a>, first: usize) -> Self {
        Self {
            call,
            first,
            flags: Vec::new(),
            keywords: Vec::new(),
        }
    }

    /// Whether the keyword is specified.
    pub fn flag(&mut self, keyword: &'static str) -> bool {
        self.flags.push(keyword);
        self.call
            .args_from(self.first)
            .any(|argument| argument.is(keyword))
    }

    /// The argument after the first occurrence of the keyword; `None` if the keyword is not specified.
    ///
    /// # Errors
    /// [`MissingValue`] if there is no argument after it.
    pub fn value(&mut self, keyword: &str) -> Result<Option<Argument<'a>>, MissingValue> {
        let mut arguments = self.call.args_from(self.first);
        let Some(position) = arguments.position(|argument| argument.is(keyword)) else {
            return Ok(None);
        };
        self.keywords.push(self.first + position);
        arguments.next().map(Some).ok_or(MissingValue)
    }

    /// The arguments that are neither an option that was looked up nor the value of one.
    fn ignored(&self) -> impl Iterator<Item = Argument<'a>> {
        let is_ignored = |(index, argument): &(usize, Argument<'_>)| {
            let is_flag = self.flags.iter().any(|flag| argument.is(flag));
            let is_value = |keyword: &usize| (*keyword..=keyword + 1).contains(index);
            !is_flag && !self.keywords.iter().any(is_value)
        };
        let arguments = (self.first..).zip(self.call.args_from(self.first));
        arguments.filter(is_ignored).map(|(_, argument)| argument)
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
    /// value of one.
    pub fn warn_of_ignored(&self) {
        let mut ignored = self.ignored();
        let Some(argument) = ignored.next() else {
            return;
        };
        let command = self.call.arg(0).bytes().to_ascii_uppercase();
        let command = command.escape_ascii();
        let argument = quoted(argument.bytes());
        let more = match ignored.count() {
            0 => String::new(),
            count => format!(" and {count} more"),
        };
        log::warning_of_input(&format!("{command} ignores the argument {argument}{more}"));
    }
}

//! Options at any position among the arguments of a command. Other arguments are ignored.
//!
//! RedisBloom accepts surplus and misspelled arguments of some commands, and so does Roughly. A warning in the
//! log names the first of them, because the sender may expect it to have an effect.

use crate::server::argument::Argument;
use crate::server::call::Call;
use crate::server::error::Error;
use crate::server::log::{self, quoted};

/// An option without its value: its keyword is the last argument.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MissingValue;

/// The options of a running command.
#[derive(Debug)]
pub struct Options<'call, 'a> {
    call: &'call Call<'a>,
    first: usize,
    /// Keywords that were looked up as options with a value.
    options: Vec<&'static str>,
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
            options: Vec::new(),
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
    pub fn value(&mut self, keyword: &'static str) -> Result<Option<Argument<'a>>, MissingValue> {
        self.options.push(keyword);
        let mut arguments = self.call.args_from(self.first);
        let Some(position) = arguments.position(|argument| argument.is(keyword)) else {
            return Ok(None);
        };
        self.keywords.push(self.first + position);
        arguments.next().map(Some).ok_or(MissingValue)
    }

    /// The number of the first argument that is this keyword, the first of an option with several arguments. The caller reports
    /// them with [`Options::take`].
    pub fn position(&mut self, keyword: &'static str) -> Option<usize> {
        self.options.push(keyword);
        let mut arguments = self.call.args_from(self.first);
        let position = arguments.position(|argument| argument.is(keyword))?;
        Some(self.first + position)
    }

    /// Arguments that belong to an option: `len` from number `index` on, pairs of a keyword and a value.
    pub fn take(&mut self, index: usize, len: usize) {
        self.keywords.extend((index..index + len).step_by(2));
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
    /// value of one. The warning shows the first of them that is similar to an option, or the first.
    pub fn warn_of_ignored(&self) {
        let Some(first) = self.ignored().next() else {
            return;
        };
        let with_option = |argument| {
            self.similar_option(argument)
                .map(|option| (argument, option))
        };
        let (argument, perhaps) = match self.ignored().find_map(with_option) {
            Some((argument, option)) => (argument, format!(" (perhaps {option})")),
            None => (first, String::new()),
        };
        let command = self.call.arg(0).bytes().to_ascii_uppercase();
        let command = command.escape_ascii();
        let argument = quoted(argument.bytes());
        let more = match self.ignored().count() - 1 {
            0 => String::new(),
            count => format!(" and {count} more"),
        };
        let text = format!("{command} ignores the argument {argument}{perhaps}{more}");
        log::warning_of_input(&text);
    }

    /// The option of which an argument is probably a misspelling.
    fn similar_option(&self, argument: Argument<'_>) -> Option<&'static str> {
        let options = self.options.iter().chain(&self.flags).copied();
        let distance = |option: &str| edit_distance(argument.bytes(), option.as_bytes());
        let distances = options.map(|option| (distance(option), option));
        let (distance, option) = distances.min_by_key(|&(distance, _)| distance)?;
        // An option that is specified twice has the distance 0.
        (1..=MAX_DISTANCE).contains(&distance).then_some(option)
    }
}

/// The largest edit distance of a misspelled option.
const MAX_DISTANCE: usize = 2;

/// The number of characters to insert, delete or replace to get `option`, in upper case, from `text` in any case; more than
/// [`MAX_DISTANCE`] if it may be more (Wagner and Fischer, "The String-to-String Correction Problem", JACM 1974).
fn edit_distance(text: &[u8], option: &[u8]) -> usize {
    if text.len().abs_diff(option.len()) > MAX_DISTANCE {
        return usize::MAX;
    }
    // The distances of a prefix of `text` to each prefix of `option`.
    let mut row: Vec<usize> = (0..=option.len()).collect();
    for (number, letter) in text.iter().enumerate() {
        let mut diagonal = std::mem::replace(&mut row[0], number + 1);
        for (place, other) in option.iter().enumerate() {
            let replaced = diagonal + usize::from(!letter.eq_ignore_ascii_case(other));
            diagonal = row[place + 1];
            row[place + 1] = replaced.min(diagonal + 1).min(row[place] + 1);
        }
    }
    row[option.len()]
}

#[cfg(test)]
mod tests {
    use super::edit_distance;

    #[test]
    fn the_distance_is_the_number_of_different_letters() {
        for (text, option, distance) in [
            ("WINDOW", "WINDOW", 0),
            ("windo", "WINDOW", 1),
            ("WINDWO", "WINDOW", 2),
            ("BUCKETSZE", "BUCKETSIZE", 1),
            ("NOSCALING", "NONSCALING", 1),
            ("WINODWS", "WINDOW", 3),
            ("1000", "PANES", 5),
        ] {
            let found = edit_distance(text.as_bytes(), option.as_bytes());
            assert_eq!(found, distance, "{text} {option}");
        }
        assert_eq!(edit_distance(b"WIN", b"WINDOW"), usize::MAX);
    }
}

//! BF.ADDNX, which RedisBloom and valkey-bloom do not have.

use super::add::{ADD_ITEMS, add_all};
use super::texts::NOT_FOUND;
use super::types::Filter;
use crate::server::call::{Call, Error};
use crate::server::key::{Found, OneOf};
use crate::server::outcome::Outcome;
use roughly_sketch::window_filter::IfPresent;

/// BF.ADDNX key item [item …]
pub fn addnx(call: &mut Call<'_>) -> Result<(), Error> {
    let found = call.write(1).find(call, Filter::TYPES.iter().copied())?;
    let Found::Entry(entry) = found else {
        return Err(NOT_FOUND.into());
    };
    let outcome = Outcome::new(ADD_ITEMS, 2).without_options();
    add_all(call, entry, 2, IfPresent::Skip, outcome, c"bf.addnx");
    Ok(())
}

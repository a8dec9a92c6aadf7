//! BF.ADDNX, which RedisBloom and valkey-bloom do not have.

use super::add::{ADD_ITEMS, add_all};
use super::create;
use super::key::{self, for_each_type};
use super::request::Request;
use super::texts::NOT_FOUND;
use crate::server::call::{Call, Error};
use crate::server::outcome::Outcome;
use roughly_sketch::window_filter::IfPresent;

/// BF.ADDNX key item [item …]
pub fn addnx(call: &mut Call<'_>) -> Result<(), Error> {
    let mut key = key::write(call);
    for_each_type!(&mut key, key => key.get().or_missing(NOT_FOUND).map(drop))?;
    let entry = create::find_or_create(call, key, &Request::default())?;
    let outcome = Outcome::new(ADD_ITEMS, 2).without_options();
    for_each_type!(entry, entry => {
        add_all(call, entry, 2, IfPresent::Skip, outcome, c"bf.addnx");
    });
    Ok(())
}

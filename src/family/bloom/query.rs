//! BF.EXISTS and BF.MEXISTS.

use crate::server::call::{Call, Error};
use roughly_sketch::bloom::Chain;
use roughly_sketch::bloom::filter::{BLOCK_ITEMS, ItemHash};

/// BF.EXISTS key item
pub fn exists(call: &mut Call<'_>) -> Result<(), Error> {
    let key = call.read::<Chain>(1);
    let chain = key.get().found();
    let found = chain.is_some_and(|chain| chain.contains(chain.hash(call.arg(2).bytes())));
    drop(key);
    call.reply_boolean(found);
    Ok(())
}

/// BF.MEXISTS key item [item …]
pub fn mexists(call: &mut Call<'_>) -> Result<(), Error> {
    let key = call.read::<Chain>(1);
    let chain = key.get().found();
    call.reply_array(call.len() - 2);
    let mut hashes = [ItemHash::default(); BLOCK_ITEMS];
    let mut start = 2;
    while start < call.len() {
        let len = BLOCK_ITEMS.min(call.len() - start);
        let found = chain.map_or(0, |chain| {
            for (hash, item) in hashes.iter_mut().zip(call.args_from(start)) {
                *hash = chain.hash(item.bytes());
            }
            chain.contains_block(&hashes[..len])
        });
        for n in 0..len {
            call.reply_boolean(found >> n & 1 != 0);
        }
        start += len;
    }
    Ok(())
}

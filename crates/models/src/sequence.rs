//! Sequences of operations on a sketch and its model.

use super::input::Input;
use super::stored::{Subject, copied, reloads};
use roughly_sketch::stored::Stored;

/// Maximum number of operations per sequence: enough for every sketch to grow, and still fast.
const MAX_OPERATIONS: usize = 500;

/// A simple implementation of the operations of a sketch.
pub trait Model: Sized {
    /// The sketch.
    type Sketch: Subject;

    /// An empty sketch with the parameters that the input describes, and its model. `None` if the parameters are
    /// refused.
    fn new(input: &mut Input<'_>) -> Option<(Self::Sketch, Self)>;

    /// Executes the operation that the input describes on both and compares the results.
    fn step(&mut self, sketch: &mut Self::Sketch, input: &mut Input<'_>);

    /// Compares the results of all reads, and the state if it is specified.
    fn check(&self, sketch: &Self::Sketch);
}

/// Executes the sequence of operations that `bytes` describe. In between, the sketch is replaced by a copy or by itself
/// after a reload.
pub fn run<M: Model>(bytes: &[u8]) {
    each_state::<M>(bytes, |_| ());
}

/// [`run`]; shows every state.
fn each_state<M: Model>(bytes: &[u8], mut show: impl FnMut(&M::Sketch)) {
    let mut input = Input::new(bytes);
    let Some((mut sketch, mut model)) = M::new(&mut input) else {
        return;
    };
    for _ in 0..MAX_OPERATIONS {
        show(&sketch);
        if input.is_empty() {
            break;
        }
        match input.byte() {
            0..=11 => {
                reloads(&sketch);
                model.check(&sketch);
            }
            12..=31 => sketch = copied(&mut input, &sketch),
            _ => model.step(&mut sketch, &mut input),
        }
    }
    model.check(&sketch);
    reloads(&sketch);
}

/// DUMP payloads of states that sequences reach.
pub fn samples<M: Model>() -> Vec<Vec<u8>> {
    let mut samples = Vec::new();
    for step in [7usize, 31, 77, 101, 147, 213] {
        let bytes: Vec<u8> = (0..400).map(|n| (n * n * step / 16) as u8).collect();
        let mut states = 0;
        each_state::<M>(&bytes, |sketch| {
            if states % 16 == 0 {
                let mut payload = roughly_dump::Writer::new(super::stored::id_of::<M::Sketch>());
                sketch.save(&mut payload);
                samples.push(payload.finish());
            }
            states += 1;
        });
    }
    samples
}

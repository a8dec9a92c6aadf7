//! The lock of an object, and the gate of the process that a fork closes.
//!
//! Each object has a lock of its own. Whoever holds it runs no Python code, so it needs no other lock and ends soon: a method
//! that processes many items holds it for one batch at a time. No thread waits for a lock while it holds the GIL, and none waits
//! for the GIL while it holds a lock.
//!
//! A fork copies the locks in the state that they have. It happens in a thread that holds the GIL. So each use of an object is
//! made either inside the gate, which is closed before a fork and opened in both processes, or with the GIL, which the module
//! declares to need: then no lock is held and no object is half written. No thread waits for the gate to open, since other handlers of the fork run Python code between:
//! they can use objects, or wait for a thread that uses one.

use crate::error::Error;
use crate::sketch::variants::Variants;
use pyo3::prelude::*;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, PoisonError, RwLock, RwLockWriteGuard, TryLockError};
use std::time::Duration;

static GATE: Gate = Gate {
    forks: AtomicUsize::new(0),
    inside: AtomicUsize::new(0),
};

struct Gate {
    /// Threads that are about to fork. The gate is open if there are none.
    forks: AtomicUsize,
    /// Threads inside the gate.
    inside: AtomicUsize,
}

/// A thread is inside the gate.
struct Inside;

impl Drop for Inside {
    fn drop(&mut self) {
        GATE.inside.fetch_sub(1, SeqCst);
    }
}

impl Gate {
    /// `None` if the gate is closed.
    fn enter(&self) -> Option<Inside> {
        self.inside.fetch_add(1, SeqCst);
        let inside = Inside;
        (self.forks.load(SeqCst) == 0).then_some(inside)
    }

    /// Calls `run` inside the gate, or with the GIL. Call it without the GIL.
    fn pass<R>(&self, run: impl FnOnce() -> R) -> R {
        let (mut run, mut result) = (Some(run), None);
        self.pass_once(&mut || result = run.take().map(|run| run()));
        result.expect("it was called")
    }

    /// As [`Gate::pass`], compiled once.
    fn pass_once(&self, run: &mut dyn FnMut()) {
        loop {
            if let Some(_inside) = self.enter() {
                return run();
            }
            let was_called = Python::attach(|_| {
                // The fork can have ended while this thread waited for the GIL.
                let is_closed = self.forks.load(SeqCst) > 0;
                if is_closed {
                    run();
                }
                is_closed
            });
            if was_called {
                return;
            }
        }
    }
}

/// Closes the gate: waits until no thread is inside.
#[pyfunction]
fn close_gate() {
    GATE.forks.fetch_add(1, SeqCst);
    while GATE.inside.load(SeqCst) > 0 {
        std::thread::sleep(Duration::from_micros(50));
    }
}

/// Opens the gate in the parent process.
#[pyfunction]
fn open_gate() {
    // Unless the package was imported by another handler of the same fork, the gate was closed.
    let _ = GATE
        .forks
        .fetch_update(SeqCst, SeqCst, |forks| forks.checked_sub(1));
}

/// Opens the gate in the child process, which has none of the other threads.
#[pyfunction]
fn reset_gate() {
    GATE.inside.store(0, SeqCst);
    GATE.forks.store(0, SeqCst);
}

/// Makes forks of this process close the gate.
///
/// # Errors
/// Those of the interpreter. Without `os.register_at_fork`, there are no forks.
pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    let py = module.py();
    if let Some(register) = py.import("os")?.getattr_opt("register_at_fork")? {
        let handlers = pyo3::types::PyDict::new(py);
        handlers.set_item("before", pyo3::wrap_pyfunction!(close_gate, module)?)?;
        handlers.set_item(
            "after_in_parent",
            pyo3::wrap_pyfunction!(open_gate, module)?,
        )?;
        handlers.set_item(
            "after_in_child",
            pyo3::wrap_pyfunction!(reset_gate, module)?,
        )?;
        register.call((), Some(&handlers))?;
    }
    Ok(())
}

/// A value that several threads use.
#[derive(Debug)]
pub struct Shared<T>(RwLock<Value<T>>);

/// A value, or a reference to one that others have, too: a write then changes a copy.
#[derive(Debug)]
struct Value<T> {
    own: Option<T>,
    shared: Option<Arc<T>>,
}

impl<T> Value<T> {
    #[inline]
    fn get(&self) -> &T {
        let own = self.own.as_ref();
        own.or(self.shared.as_deref()).expect("one of them")
    }

    fn share(&mut self) -> Arc<T> {
        if let Some(own) = self.own.take() {
            self.shared = Some(Arc::new(own));
        }
        self.shared.clone().expect("one of them")
    }
}

impl<T: Variants> Value<T> {
    /// The value for a write: a copy if the present one is shared.
    ///
    /// # Errors
    /// The memory for the copy is refused.
    #[inline]
    fn get_mut(&mut self) -> Result<&mut T, Error> {
        if self.own.is_none() {
            self.take_back()?;
        }
        Ok(self.own.as_mut().expect("taken back"))
    }

    #[cold]
    fn take_back(&mut self) -> Result<(), Error> {
        let shared = self.shared.take().map(Arc::try_unwrap);
        self.own = match shared {
            Some(Ok(own)) => Some(own),
            Some(Err(shared)) => {
                let copy = shared.try_clone();
                self.shared = Some(shared);
                Some(copy?)
            }
            None => None,
        };
        self.shared = None;
        Ok(())
    }
}

/// The guard of a lock, or `None` if the thread would have to wait.
fn free<G>(result: Result<G, TryLockError<G>>) -> Option<G> {
    match result {
        Ok(guard) => Some(guard),
        Err(TryLockError::Poisoned(error)) => Some(error.into_inner()),
        Err(TryLockError::WouldBlock) => None,
    }
}

impl<T: Variants> Shared<T> {
    /// A value, which no other thread uses yet.
    pub fn new(value: T) -> Self {
        Self(RwLock::new(Value {
            own: Some(value),
            shared: None,
        }))
    }

    /// Calls `read` with the value. Call it without the GIL; `read` runs no Python code.
    pub fn read<R>(&self, read: impl FnOnce(&T) -> R) -> R {
        GATE.pass(|| read(self.0.read().unwrap_or_else(PoisonError::into_inner).get()))
    }

    /// Calls `write` with the value. Call it without the GIL; `write` runs no Python code.
    ///
    /// # Errors
    /// Those of `write`, and [`Error::OutOfMemory`].
    pub fn write<R>(&self, write: impl FnOnce(&mut T) -> Result<R, Error>) -> Result<R, Error> {
        GATE.pass(|| write(self.lock().get_mut()?))
    }

    fn lock(&self) -> RwLockWriteGuard<'_, Value<T>> {
        self.0.write().unwrap_or_else(PoisonError::into_inner)
    }

    /// The value, which no write changes while this reference exists. Call it without the GIL.
    pub fn share(&self) -> Arc<T> {
        GATE.pass(|| self.lock().share())
    }

    /// As [`Shared::read`], with the GIL. Releases it only if the thread must wait, so `read` must be short.
    pub fn peek<R: Send>(&self, py: Python<'_>, read: impl FnOnce(&T) -> R + Send) -> R {
        // With the GIL, there is no fork.
        if let Some(value) = free(self.0.try_read()) {
            return read(value.get());
        }
        py.detach(|| self.read(read))
    }

    /// As [`Shared::write`], with the GIL. Releases it only if the thread must wait, so `write` must be short.
    ///
    /// # Errors
    /// As [`Shared::write`].
    pub fn poke<R: Send>(
        &self,
        py: Python<'_>,
        write: impl FnOnce(&mut T) -> Result<R, Error> + Send,
    ) -> Result<R, Error> {
        // With the GIL, there is no fork.
        if let Some(mut value) = free(self.0.try_write()) {
            return write(value.get_mut()?);
        }
        py.detach(|| self.write(write))
    }

    /// As [`Shared::peek`] with the GIL, and as [`Shared::read`] without it.
    pub fn read_maybe_attached<R: Send>(
        &self,
        py: Option<Python<'_>>,
        read: impl FnOnce(&T) -> R + Send,
    ) -> R {
        match py {
            Some(py) => self.peek(py, read),
            None => self.read(read),
        }
    }

    /// As [`Shared::poke`] with the GIL, and as [`Shared::write`] without it.
    ///
    /// # Errors
    /// As [`Shared::write`].
    pub fn write_maybe_attached<R: Send>(
        &self,
        py: Option<Python<'_>>,
        write: impl FnOnce(&mut T) -> Result<R, Error> + Send,
    ) -> Result<R, Error> {
        match py {
            Some(py) => self.poke(py, write),
            None => self.write(write),
        }
    }

    /// Calls `merge` with this value and others, of which some may be the same, also this one: it is then `None`. Call it
    /// without the GIL; `merge` runs no Python code.
    ///
    /// # Errors
    /// Those of `merge`, and [`Error::OutOfMemory`].
    pub fn write_with(
        &self,
        others: &[&Self],
        merge: impl FnOnce(&mut T, &[Option<&T>]) -> Result<(), Error>,
    ) -> Result<(), Error> {
        GATE.pass(|| {
            let operands: Vec<Option<Arc<T>>> = others
                .iter()
                .map(|other| (!std::ptr::eq(*other, self)).then(|| other.lock().share()))
                .collect();
            let operands: Vec<Option<&T>> = operands.iter().map(Option::as_deref).collect();
            merge(self.lock().get_mut()?, &operands)
        })
    }
}

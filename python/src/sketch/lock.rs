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

use pyo3::prelude::*;
use std::cmp::Ordering;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::{PoisonError, RwLock, RwLockReadGuard, TryLockError};
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
        let mut run = Some(run);
        loop {
            if let Some(_inside) = self.enter()
                && let Some(run) = run.take()
            {
                return run();
            }
            let result = Python::attach(|_| {
                // The fork can have ended while this thread waited for the GIL.
                let is_closed = self.forks.load(SeqCst) > 0;
                is_closed.then(|| run.take().map(|run| run())).flatten()
            });
            if let Some(result) = result {
                return result;
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
pub struct Shared<T>(RwLock<T>);

/// The guard of a lock, or `None` if the thread would have to wait.
fn free<G>(result: Result<G, TryLockError<G>>) -> Option<G> {
    match result {
        Ok(guard) => Some(guard),
        Err(TryLockError::Poisoned(error)) => Some(error.into_inner()),
        Err(TryLockError::WouldBlock) => None,
    }
}

impl<T> Shared<T> {
    /// A value, which no other thread uses yet.
    pub fn new(value: T) -> Self {
        Self(RwLock::new(value))
    }

    /// Calls `read` with the value. Call it without the GIL; `read` runs no Python code.
    pub fn read<R>(&self, read: impl FnOnce(&T) -> R) -> R {
        GATE.pass(|| read(&self.0.read().unwrap_or_else(PoisonError::into_inner)))
    }

    /// Calls `write` with the value. Call it without the GIL; `write` runs no Python code.
    pub fn write<R>(&self, write: impl FnOnce(&mut T) -> R) -> R {
        GATE.pass(|| write(&mut self.0.write().unwrap_or_else(PoisonError::into_inner)))
    }
}

impl<T: Send + Sync> Shared<T> {
    /// As [`Shared::read`], with the GIL. Releases it only if the thread must wait, so `read` must be short.
    pub fn peek<R: Send>(&self, py: Python<'_>, read: impl FnOnce(&T) -> R + Send) -> R {
        // With the GIL, there is no fork.
        if let Some(value) = free(self.0.try_read()) {
            return read(&value);
        }
        py.detach(|| self.read(read))
    }

    /// As [`Shared::write`], with the GIL. Releases it only if the thread must wait, so `write` must be short.
    pub fn poke<R: Send>(&self, py: Python<'_>, write: impl FnOnce(&mut T) -> R + Send) -> R {
        // With the GIL, there is no fork.
        if let Some(mut value) = free(self.0.try_write()) {
            return write(&mut value);
        }
        py.detach(|| self.write(write))
    }

    /// Calls `read` with this value and another one, which may be the same. Call it without the GIL; `read` runs no Python code.
    pub fn read_with<R>(&self, other: &Self, read: impl FnOnce(&T, &T) -> R) -> R {
        GATE.pass(|| self.lock_with(other, read))
    }

    fn lock_with<R>(&self, other: &Self, read: impl FnOnce(&T, &T) -> R) -> R {
        // In the order of their addresses, and each once, as in `write_with`.
        match std::ptr::from_ref(self).cmp(&std::ptr::from_ref(other)) {
            Ordering::Less => {
                let (one, other) = (self.0.read(), other.0.read());
                read(
                    &one.unwrap_or_else(PoisonError::into_inner),
                    &other.unwrap_or_else(PoisonError::into_inner),
                )
            }
            Ordering::Equal => {
                let one = self.0.read().unwrap_or_else(PoisonError::into_inner);
                read(&one, &one)
            }
            Ordering::Greater => {
                let (other, one) = (other.0.read(), self.0.read());
                read(
                    &one.unwrap_or_else(PoisonError::into_inner),
                    &other.unwrap_or_else(PoisonError::into_inner),
                )
            }
        }
    }

    /// Calls `merge` with this value and others, of which some may be the same, also this one: it is then `None`. Call it
    /// without the GIL; `merge` runs no Python code.
    pub fn write_with<R>(
        &self,
        others: &[&Self],
        merge: impl FnOnce(&mut T, &[Option<&T>]) -> R,
    ) -> R {
        GATE.pass(|| self.lock_all(others, merge))
    }

    fn lock_all<R>(&self, others: &[&Self], merge: impl FnOnce(&mut T, &[Option<&T>]) -> R) -> R {
        // In the order of their addresses, so that two threads never wait for each other, and each once.
        let mut locks: Vec<&Self> = others.to_vec();
        locks.push(self);
        locks.sort_unstable_by_key(|&lock| std::ptr::from_ref(lock));
        locks.dedup_by(|one, other| std::ptr::eq(*one, *other));
        let is_self = |lock: &Self| std::ptr::eq(lock, self);
        let mut destination = None;
        let guards: Vec<Option<RwLockReadGuard<'_, T>>> = locks
            .iter()
            .map(|lock| match is_self(lock) {
                true => {
                    destination = Some(self.0.write().unwrap_or_else(PoisonError::into_inner));
                    None
                }
                false => Some(lock.0.read().unwrap_or_else(PoisonError::into_inner)),
            })
            .collect();
        let operands: Vec<Option<&T>> = others
            .iter()
            .map(|other| {
                let index = locks.iter().position(|lock| std::ptr::eq(*lock, *other));
                index.and_then(|index| guards[index].as_deref())
            })
            .collect();
        let mut destination =
            destination.unwrap_or_else(|| self.0.write().unwrap_or_else(PoisonError::into_inner));
        merge(&mut destination, &operands)
    }
}

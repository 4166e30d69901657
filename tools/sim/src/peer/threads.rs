//! Per-thread state of a peer.

/// One `T` per thread. A new thread has the default.
#[derive(Debug, Default)]
pub(super) struct Threads<T>(Vec<T>);

impl<T: Default> Threads<T> {
    pub fn of(&mut self, thread: u32) -> &mut T {
        let index = thread as usize;
        if self.0.len() <= index {
            self.0.resize_with(index + 1, T::default);
        }
        &mut self.0[index]
    }
}

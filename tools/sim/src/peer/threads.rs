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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_thread_has_separate_state() {
        let mut threads = Threads::<u32>::default();
        *threads.of(3) = 7;
        *threads.of(0) = 1;
        assert_eq!([0, 1, 2, 3, 4].map(|thread| *threads.of(thread)), [1, 0, 0, 7, 0]);
    }
}

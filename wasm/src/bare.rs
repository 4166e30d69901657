//! What a module without the standard library needs.

/// A static used by one thread, from calls that do not nest.
pub struct Alone<T>(core::cell::UnsafeCell<T>);

// SAFETY: a WebAssembly instance without threads runs one call at a time, and on the host only the
// module's own tests use the values that they created themselves.
unsafe impl<T> Sync for Alone<T> {}

impl<T> Alone<T> {
    pub const fn new(value: T) -> Self {
        Self(core::cell::UnsafeCell::new(value))
    }

    /// Uses the value. `act` must not use it again.
    pub fn with<R>(&self, act: impl FnOnce(&mut T) -> R) -> R {
        // SAFETY: see above; every exported function uses a static once, and calls no other
        // exported function.
        act(unsafe { &mut *self.0.get() })
    }

    #[cfg(any(feature = "lite", feature = "shared"))]
    /// The address of the value, for JavaScript to read and write.
    pub const fn place(&self) -> *mut T {
        self.0.get()
    }
}

/// An allocator that always fails: there is no heap.
#[cfg(target_arch = "wasm32")]
struct NoHeap;

#[cfg(target_arch = "wasm32")]
// SAFETY: null reports that no memory is available.
unsafe impl core::alloc::GlobalAlloc for NoHeap {
    unsafe fn alloc(&self, _: core::alloc::Layout) -> *mut u8 {
        core::ptr::null_mut()
    }

    unsafe fn dealloc(&self, _: *mut u8, _: core::alloc::Layout) {}
}

#[cfg(target_arch = "wasm32")]
#[global_allocator]
static HEAP: NoHeap = NoHeap;

#[cfg(target_arch = "wasm32")]
#[panic_handler]
fn panic(_: &core::panic::PanicInfo) -> ! {
    core::arch::wasm32::unreachable()
}

//! What both images have: the handler that does not link, and the tables that the linker must keep.

unsafe extern "C" {
    fn a_panic_is_reachable() -> !;
}

#[panic_handler]
fn panic(_: &core::panic::PanicInfo) -> ! {
    unsafe { a_panic_is_reachable() }
}

/// Defines a table of functions that the linker must keep: its type, and the table.
macro_rules! table {
    ($name:ident: $kind:ident { $($(#[$if:meta])? $field:ident: $of:ty = $function:expr,)* }) => {
        #[allow(dead_code, reason = "roots for the linker, never called")]
        pub struct $kind {
            $($(#[$if])? $field: $of,)*
        }

        #[unsafe(no_mangle)]
        pub static $name: $kind = $kind { $($(#[$if])? $field: $function,)* };
    };
}

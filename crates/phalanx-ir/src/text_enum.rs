//! Enumerations of keywords: a member is a word of the text format and a number.

/// Declares such an enumeration: its members in order, each with its keyword.
macro_rules! text_enum {
    ($(#[$doc:meta])* $name:ident { $($variant:ident $text:literal),* $(,)? }) => {
        $(#[$doc])*
        #[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        #[repr(u8)]
        pub enum $name { $(#[doc = concat!("`", $text, "`")] $variant),* }
        impl $name {
            /// All members, in order.
            pub const ALL: &'static [$name] = &[$($name::$variant),*];
            /// The keyword.
            pub const fn text(self) -> &'static str {
                match self { $($name::$variant => $text),* }
            }
            /// The member with this keyword.
            pub fn from_text(text: &[u8]) -> Option<$name> {
                $(if text == $text.as_bytes() { return Some($name::$variant); })*
                None
            }
            /// The member with this number.
            ///
            /// # Panics
            /// When there is no such member.
            pub fn from_number(number: u8) -> $name {
                Self::ALL[number as usize]
            }
        }
    };
}
pub(crate) use text_enum;

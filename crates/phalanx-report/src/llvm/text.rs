//! A text buffer that may spill to a writer while it grows.
//!
//! LLVM's output about cycles and temporal divergence is quadratic in the worst case: hundreds of
//! megabytes for ten thousand nested loops. A [`Text`] with a writer holds only a part of the
//! output at a time.

use std::{
    io::{self, Write},
    ops::{Deref, DerefMut},
};

/// A longer buffer is spilled at the next end of line.
const PART: usize = 1 << 16;

/// A buffer that is written to as a vector, and spills to a writer if it has one.
#[derive(Default)]
pub struct Text<'w> {
    buffer: Vec<u8>,
    writer: Option<&'w mut dyn Write>,
    error: Option<io::Error>,
}

impl<'w> Text<'w> {
    /// Text that stays in memory.
    #[must_use]
    pub fn new() -> Self {
        Text::default()
    }

    /// Text that goes to a writer.
    pub fn to(writer: &'w mut dyn Write) -> Self {
        Text { writer: Some(writer), ..Text::default() }
    }

    /// Printers call this at the end of each line: spills the buffer if it is long.
    #[inline]
    pub fn end_of_line(&mut self) {
        if self.buffer.len() > PART {
            self.spill();
        }
    }

    fn spill(&mut self) {
        let Some(writer) = &mut self.writer else { return };
        if self.error.is_none() {
            self.error = writer.write_all(&self.buffer).err();
        }
        self.buffer.clear();
    }

    /// The buffer; empty if there is a writer, which has received everything.
    ///
    /// # Errors
    /// The first error of the writer.
    pub fn finish(mut self) -> io::Result<Vec<u8>> {
        self.spill();
        match self.error {
            Some(error) => Err(error),
            None => Ok(self.buffer),
        }
    }
}

impl Deref for Text<'_> {
    type Target = Vec<u8>;

    fn deref(&self) -> &Vec<u8> {
        &self.buffer
    }
}

impl DerefMut for Text<'_> {
    fn deref_mut(&mut self) -> &mut Vec<u8> {
        &mut self.buffer
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fill(text: &mut Text<'_>) -> usize {
        let mut most = 0;
        for _ in 0..5000 {
            text.extend_from_slice(&[b'x'; 99]);
            text.push(b'\n');
            text.end_of_line();
            most = most.max(text.len());
        }
        most
    }

    #[test]
    fn a_writer_gets_everything_in_parts() {
        let mut kept = Text::new();
        assert_eq!(fill(&mut kept), 500_000);
        let mut written = Vec::new();
        let mut text = Text::to(&mut written);
        assert!(fill(&mut text) <= PART + 100);
        assert_eq!(text.finish().unwrap(), b"");
        assert_eq!(kept.finish().unwrap(), written);
    }

    #[test]
    fn the_first_error_is_reported() {
        struct Full;
        impl Write for Full {
            fn write(&mut self, _: &[u8]) -> io::Result<usize> {
                Err(io::Error::other("full"))
            }
            fn flush(&mut self) -> io::Result<()> {
                Ok(())
            }
        }
        let mut full = Full;
        let mut text = Text::to(&mut full);
        fill(&mut text);
        assert_eq!(text.finish().unwrap_err().to_string(), "full");
    }
}

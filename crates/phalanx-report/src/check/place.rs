//! Where something is: in the program that was compiled, and in the text of the module.

use phalanx_ir::{
    Context, InstId,
    function::FunctionRef,
    metadata::{Field, Metadata, MetadataId, MetadataValue, kind},
};
use serde::Serialize;

use crate::analyze::{Lines, Place};

/// How many scopes, and calls that were inlined, are followed.
const DEPTH: usize = 64;

/// A place.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize)]
pub struct Location {
    /// In the text of the module.
    pub ir: Place,
    /// In the program that was compiled, if that is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source: Option<SourceFile>,
    /// Where the code was inlined, the innermost call first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub inlined_at: Vec<SourceFile>,
}

/// A place in a file.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default, Serialize)]
pub struct SourceFile {
    /// The name of the file, as the compiler was told.
    pub file: String,
    /// The folder in which the compiler ran, if that is known.
    #[serde(skip)]
    pub folder: String,
    /// Line, from 1.
    pub line: u32,
    /// Column, from 1; 0 when unknown.
    pub column: u32,
}

/// Gives the contents of source files.
pub trait Sources {
    /// The text of a file, by its name and the folder that it is relative to; none when it is not there.
    fn text(&self, file: &str, folder: &str) -> Option<std::sync::Arc<Vec<u8>>>;
}

impl Location {
    /// The places of an instruction: that of its own line, then those of the calls by which it was inlined. Without `lines` its place in
    /// the text is left out.
    pub(super) fn of(
        function: FunctionRef<'_>,
        (metadata, context): (&Metadata, &Context),
        lines: Option<&Lines<'_>>,
        inst: InstId,
    ) -> Location {
        let mut attachments = function.extras.attachments_of(inst);
        let mut at = attachments.find(|a| a.kind == kind::DBG).map(|a| a.node);
        let mut places = Vec::new();
        while let Some(location) = at.filter(|_| places.len() < DEPTH) {
            places.extend(place(metadata, context, location));
            at = metadata.field(location, Field::InlinedAt).and_then(MetadataValue::as_node);
        }
        let mut places = places.into_iter();
        let ir = lines.map(|lines| lines.inst(inst)).unwrap_or_default();
        Location { ir, source: places.next(), inlined_at: places.collect() }
    }
}

fn place(metadata: &Metadata, context: &Context, location: MetadataId) -> Option<SourceFile> {
    let number = |field| {
        let value = metadata.field(location, field).and_then(|value| value.as_int(context));
        u32::try_from(value.unwrap_or(0)).unwrap_or(0)
    };
    let line = number(Field::Line);
    let (file, folder) = file_of(metadata, context, location).unwrap_or_default();
    (line != 0 && !file.is_empty()).then(|| SourceFile {
        file,
        folder,
        line,
        column: number(Field::Column),
    })
}

/// File and folder of a debug location: those of the nearest scope that has some.
fn file_of(
    metadata: &Metadata,
    context: &Context,
    location: MetadataId,
) -> Option<(String, String)> {
    let node = |at, field| metadata.field(at, field).and_then(MetadataValue::as_node);
    let mut at = location;
    for _ in 0..DEPTH {
        if let Some(file) = node(at, Field::File) {
            let text = |field| {
                let symbol = metadata.field(file, field).and_then(MetadataValue::as_string);
                symbol.map(|symbol| context.text(symbol).into_owned()).unwrap_or_default()
            };
            return Some((text(Field::Filename), text(Field::Directory)));
        }
        at = node(at, Field::Scope)?;
    }
    None
}

/// A line of a text, from 1, without its end.
pub(super) fn line_of(text: &[u8], line: u32) -> Option<&[u8]> {
    let wanted = line.checked_sub(1)? as usize;
    let line = text.split(|&byte| byte == b'\n').nth(wanted)?;
    Some(line.strip_suffix(b"\r").unwrap_or(line))
}

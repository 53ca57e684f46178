//! Drawings of graphs as SVG, without other programs.
//!
//! The layout is that of the `layout-rs` crate: layers from top to bottom, edges routed around
//! nodes. Equal graphs give equal bytes.
//!
//! **Cost.** Crossings are reduced by rounds over the layers; a graph of [`MOST`] nodes takes well
//! under a second. Larger graphs are refused, since they would not be readable.

use layout::{
    backends::svg::SVGWriter,
    core::{base::Orientation, color::Color, style::StyleAttr},
    std_shapes::{
        render::get_shape_size,
        shapes::{Arrow, Element, ShapeKind},
    },
    topo::layout::VisualGraph,
};

/// Graphs with more nodes are not drawn.
pub const MOST: usize = 400;

/// Height of letters, in pixels.
const FONT: usize = 13;

/// How something is coloured.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Look {
    /// As any other.
    #[default]
    Plain,
    /// It differs between threads of the launch, but is equal within a workgroup.
    Grid,
    /// It differs within a workgroup, but is equal within a wave.
    Workgroup,
    /// It differs within a wave.
    Wave,
}

impl Look {
    /// The look of a [level](crate::levels).
    pub(crate) const fn of_level(level: u8) -> Look {
        match level {
            3 => Look::Wave,
            2 => Look::Workgroup,
            1 => Look::Grid,
            _ => Look::Plain,
        }
    }

    /// Fill of a node; the colours differ in grey and for colour-blind readers.
    const fn fill(self) -> u32 {
        match self {
            Look::Plain => 0xffff_ffff,
            Look::Grid => 0xe3f0_faff,
            Look::Workgroup => 0xfdf3_c9ff,
            Look::Wave => 0xf6c8_a8ff,
        }
    }

    const fn line(self) -> u32 {
        match self {
            Look::Plain | Look::Grid => 0x4a4a_4aff,
            Look::Workgroup => 0x8a6d_00ff,
            Look::Wave => 0xb550_0bff,
        }
    }

    /// The class of the element, for style sheets.
    const fn class(self) -> &'static str {
        match self {
            Look::Plain => "l0",
            Look::Grid => "l1",
            Look::Workgroup => "l2",
            Look::Wave => "l3",
        }
    }
}

/// A node, with a text of one or more lines.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct PictureNode {
    /// The text.
    pub text: String,
    /// How it looks.
    pub look: Look,
    /// Whether it has a heavy border: the header of a cycle.
    pub is_header: bool,
    /// Whether it has round corners: threads that were apart reconverge here.
    pub is_join: bool,
}

/// An edge between nodes, by number.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PictureEdge {
    /// Where it leaves.
    pub from: usize,
    /// Where it leads.
    pub to: usize,
    /// How it looks.
    pub look: Look,
}

/// Draws a graph. None if it has no node, or more than [`MOST`].
#[must_use]
pub fn svg(nodes: &[PictureNode], edges: &[PictureEdge]) -> Option<String> {
    if nodes.is_empty() || nodes.len() > MOST {
        return None;
    }
    let mut graph = VisualGraph::new(Orientation::TopToBottom);
    let handles: Vec<_> = nodes
        .iter()
        .enumerate()
        .map(|(number, node)| {
            let width = if node.is_header { 3 } else { 1 };
            let rounded = if node.is_join { 14 } else { 2 };
            let look = &node.look;
            let style = StyleAttr::new(
                Color::new(look.line()),
                width,
                Some(Color::new(look.fill())),
                rounded,
                FONT,
            );
            let properties = format!("class=\"{}\" data-node=\"{number}\"", look.class());
            let shape = ShapeKind::new_box(&node.text);
            let orientation = Orientation::TopToBottom;
            let size = get_shape_size(orientation, &shape, FONT, false);
            graph.add_node(Element::create_with_properties(
                shape,
                style,
                orientation,
                size,
                properties,
            ))
        })
        .collect();
    for edge in edges {
        let width = if edge.look == Look::Wave { 2 } else { 1 };
        let look = StyleAttr::new(Color::new(edge.look.line()), width, None, 0, FONT);
        let properties = Some(format!("class=\"{}\"", edge.look.class()));
        let arrow = Arrow { look, properties, ..Arrow::default() };
        graph.add_edge(arrow, handles[edge.from], handles[edge.to]);
    }
    let mut writer = SVGWriter::new();
    graph.do_it(false, false, false, &mut writer);
    let text = writer.finalize();
    Some(text.lines().map(str::trim_end).filter(|line| !line.is_empty()).fold(
        String::new(),
        |mut all, line| {
            all.push_str(line);
            all.push('\n');
            all
        },
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn node(text: &str) -> PictureNode {
        let text = text.to_owned();
        PictureNode { text, look: Look::Plain, is_header: false, is_join: false }
    }

    fn edge(from: usize, to: usize) -> PictureEdge {
        PictureEdge { from, to, look: Look::Wave }
    }

    #[test]
    fn a_loop_with_itself_and_a_name_like_markup_is_drawn() {
        let nodes = [node("entry"), node("<b>&"), node("exit"), node("alone")];
        let edges = [edge(0, 1), edge(1, 1), edge(1, 2), edge(0, 2), edge(0, 2)];
        let drawn = svg(&nodes, &edges).expect("it is small");
        assert!(drawn.contains("&lt;b&gt;&amp;"), "{drawn}");
        assert_eq!(drawn.matches("data-node=").count(), 4);
        assert_eq!(drawn, svg(&nodes, &edges).expect("it is small"));
    }

    #[test]
    fn what_nobody_could_read_is_refused() {
        assert_eq!(svg(&[], &[]), None);
        assert_eq!(svg(&vec![node("b"); MOST + 1], &[]), None);
    }
}

//! Values → text or JSON, in the shapes that users of the trace language know.
//!
//! The only crate that knows colour, columns and JSON. It is pure: it writes to the writers it is given, asks
//! [`Names`] for whatever a number stands for, and reads no file, map or clock but the time zone. What to do with an event is
//! decided elsewhere; this crate only knows how the result looks.
//!
//! Text that comes from traced processes (command names, paths, symbols) may hold anything. In JSON it is always
//! valid; in text that goes to a terminal control characters are written as `\x1b`; in text that goes to a file or a pipe it
//! passes unchanged.

mod clock;
mod decode;
mod diagnostics;
mod empty;
mod escape;
mod gfp;
mod hist;
mod json;
mod losses;
mod names;
mod order;
mod output;
mod printf;
mod stack;
mod text;
mod value;

pub use clock::{format_timestamp, format_wall_clock};
pub use decode::{Decoder, join_strings};
pub use diagnostics::{DiagnosticStyle, location, render_diagnostics};
pub use empty::empty_scalar;
pub use escape::{escape_terminal, json_string};
pub use json::Json;
pub use losses::ProbeLosses;
pub use names::Names;
pub use order::{MapView, arrange};
pub use output::{Message, Output};
pub use printf::{Piece, PrintfPlan, split_format};
pub use stack::{frame_lines, symbol};
pub use text::Text;
pub use value::write_value;

//! Records and maps → output: which action prints what.

use std::fs;
use std::io::{self, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::process::Command;
use std::sync::Arc;
use std::time::SystemTime;

use rustix::fs::OFlags;
use strix_core::{Error, EventSink, MapCell, MapReader};
use strix_model::{Action, Aggregate, FormatArg, MapValue, Plan, Severity, Value};
use strix_render::{
    Decoder, MapView, Message, Output, PrintfPlan, empty_scalar, format_wall_clock, join_strings,
};
use strix_symbolize::Symbolizer;

use super::names::{ClockOffsets, SessionNames};
use crate::say;

/// Bytes before the body of a record.
const HEADER: usize = 8;

/// Prints what a session hands over.
pub struct Sink<'o> {
    plan: Arc<Plan>,
    /// By schema: the format, for actions that have one.
    formats: Vec<Option<PrintfPlan>>,
    output: Box<dyn Output + 'o>,
    symbols: Symbolizer,
    clocks: ClockOffsets,
    /// Flush after every record.
    every_record: bool,
    /// Show what the script says by `warnf`.
    warnings: bool,
    text: Vec<u8>,
}

impl<'o> Sink<'o> {
    /// A sink for records of the plan.
    pub fn new(
        plan: Arc<Plan>,
        output: Box<dyn Output + 'o>,
        symbols: Symbolizer,
        every_record: bool,
    ) -> Self {
        let formats = plan.events.iter().map(|e| format_of(&e.action)).collect();
        Self {
            plan,
            formats,
            output,
            symbols,
            clocks: ClockOffsets::default(),
            every_record,
            warnings: true,
            text: Vec::new(),
        }
    }

    /// Leaves out what the script says by `warnf`.
    #[must_use]
    pub fn without_warnings(mut self) -> Self {
        self.warnings = false;
        self
    }

    /// Where results go.
    pub fn output(&mut self) -> &mut (dyn Output + 'o) {
        &mut *self.output
    }

    /// Why names of a whole kind are missing.
    pub fn symbol_problems(&self) -> &[String] {
        self.symbols.problems()
    }

    /// All maps, as at the end of a run.
    pub fn print_maps(&mut self, maps: &MapReader<'_>) -> io::Result<()> {
        for index in 0..self.plan.user_maps.len() as u32 {
            self.print_map(index, 0, 0, maps, false)?;
        }
        Ok(())
    }

    /// Prints a map; a scalar one that was never set only if `explicit`.
    fn print_map(
        &mut self,
        index: u32,
        top: u64,
        div: u64,
        maps: &MapReader<'_>,
        explicit: bool,
    ) -> io::Result<()> {
        let entries = match maps.read_map(index) {
            Ok(entries) => entries,
            Err(error) => {
                self.problem(&error);
                return Ok(());
            }
        };
        let plan = Arc::clone(&self.plan);
        let Some(map) = plan.user_maps.get(index as usize) else { return Ok(()) };
        let scalar = map.key == strix_model::Shape::Unit;
        let mut names = SessionNames { plan: &plan, symbols: &mut self.symbols, maps, clocks: &self.clocks };
        let mut decoder = Decoder { names: &mut names, trailer: &plan.config.str_trunc_trailer };
        let mut rows: Vec<(Value, Aggregate)> = entries
            .into_iter()
            .map(|entry| {
                let key = if scalar { Value::None } else { decoder.value(&entry.key, &map.key) };
                (key, aggregate(entry.value, &map.value, &mut decoder))
            })
            .collect();
        if scalar && rows.is_empty() && explicit {
            rows.extend(empty_scalar(&map.value, &mut decoder).map(|value| (Value::None, value)));
        }
        self.output.map(MapView { name: &map.name, scalar, rows, top, div })
    }

    fn print_entry(
        &mut self,
        index: u32,
        key: &FormatArg,
        record: &[u8],
        maps: &MapReader<'_>,
    ) -> io::Result<()> {
        let from = key.field.offset as usize;
        let bytes = record.get(from..from + key.field.shape.size() as usize).unwrap_or_default();
        let cell = match maps.entry(index, bytes) {
            Ok(cell) => cell,
            Err(error) => {
                self.problem(&error);
                None
            }
        };
        let plan = Arc::clone(&self.plan);
        let Some(map) = plan.user_maps.get(index as usize) else { return Ok(()) };
        let mut names = SessionNames { plan: &plan, symbols: &mut self.symbols, maps, clocks: &self.clocks };
        let mut decoder = Decoder { names: &mut names, trailer: &plan.config.str_trunc_trailer };
        let value = match cell {
            Some(cell) => Some(aggregate(cell, &map.value, &mut decoder)),
            None => empty_scalar(&map.value, &mut decoder),
        };
        match value {
            Some(value) => self.output.value(&value),
            None => Ok(()),
        }
    }

    fn print_value(&mut self, arg: &FormatArg, record: &[u8], maps: &MapReader<'_>) -> io::Result<()> {
        let plan = Arc::clone(&self.plan);
        let mut names = SessionNames { plan: &plan, symbols: &mut self.symbols, maps, clocks: &self.clocks };
        let mut decoder = Decoder { names: &mut names, trailer: &plan.config.str_trunc_trailer };
        let value = decoder.field(record, &arg.field);
        self.output.value(&Aggregate::Plain(value))
    }

    /// Fills `self.text` from a record by its format.
    fn format(&mut self, schema: u32, record: &[u8], harmless: bool, maps: &MapReader<'_>) {
        self.text.clear();
        let plan = Arc::clone(&self.plan);
        let mut names = SessionNames { plan: &plan, symbols: &mut self.symbols, maps, clocks: &self.clocks };
        let mut decoder = Decoder { names: &mut names, trailer: &plan.config.str_trunc_trailer };
        if let Some(Some(format)) = self.formats.get(schema as usize) {
            format.format(record, &mut decoder, harmless, &mut self.text);
        }
    }

    fn act(&mut self, schema: u32, record: &[u8], maps: &MapReader<'_>) -> io::Result<()> {
        let plan = Arc::clone(&self.plan);
        let Some(event) = plan.events.get(schema as usize) else { return Ok(()) };
        match &event.action {
            Action::Printf { .. } => {
                let harmless = self.output.escapes();
                self.format(schema, record, harmless, maps);
                self.output.printf(&self.text)
            }
            Action::Message { error, .. } => {
                if !*error && !self.warnings {
                    return Ok(());
                }
                self.format(schema, record, false, maps);
                // Results that came before stand before it.
                self.output.flush()?;
                let severity = if *error { Severity::Error } else { Severity::Warning };
                self.output.message(&Message::new(severity, &plan.sources, event.span, &self.text))
            }
            Action::PrintValue(arg) => self.print_value(arg, record, maps),
            Action::PrintMap { map, top, div } => self.print_map(*map, *top, *div, maps, true),
            Action::PrintMapEntry { map, key } => self.print_entry(*map, key, record, maps),
            Action::Time { format } => self.output.time(&format_wall_clock(wall_clock(), format)),
            Action::Join { record: layout, separator } => {
                let body = record.get(HEADER..).unwrap_or_default();
                let joined = join_strings(body, *layout, separator);
                self.output.join(&joined)
            }
            Action::Cat { .. } => {
                self.format(schema, record, false, maps);
                self.cat()
            }
            Action::System { .. } => {
                self.format(schema, record, false, maps);
                self.system()
            }
            // The session's own work.
            Action::Clear { .. } | Action::Zero { .. } | Action::Exit => Ok(()),
        }
    }

    fn cat(&mut self) -> io::Result<()> {
        let path = String::from_utf8_lossy(&self.text).into_owned();
        let mut content = Vec::new();
        // A path that a traced process made up may be a pipe that nobody writes to.
        let flags = (OFlags::NONBLOCK | OFlags::NOCTTY).bits() as i32;
        let read =
            fs::File::options().read(true).custom_flags(flags).open(&path).and_then(|file| {
                file.take(u64::from(self.plan.config.max_cat_bytes)).read_to_end(&mut content)
            });
        match read {
            Ok(_) => self.output.cat(&content),
            Err(error) => {
                self.output.flush()?;
                say::remark(format_args!("ERROR: failed to open file '{path}': {error}"));
                Ok(())
            }
        }
    }

    fn system(&mut self) -> io::Result<()> {
        // What was printed before must stand before what the command prints.
        self.output.flush()?;
        let command = String::from_utf8_lossy(&self.text).into_owned();
        match Command::new("/bin/sh").arg("-c").arg(&command).output() {
            Ok(done) => {
                self.output.system(&done.stdout)?;
                say::others(&done.stderr);
                Ok(())
            }
            Err(error) => {
                say::remark(format_args!("ERROR: cannot run /bin/sh for system(\"{command}\"): {error}"));
                Ok(())
            }
        }
    }
}

impl EventSink for Sink<'_> {
    fn record(&mut self, schema: u32, record: &[u8], maps: &MapReader<'_>) -> io::Result<()> {
        self.act(schema, record, maps)?;
        if self.every_record { self.output.flush() } else { Ok(()) }
    }

    fn flush(&mut self) -> io::Result<()> {
        self.output.flush()
    }

    fn problem(&mut self, error: &Error) {
        say::remark(format_args!("WARNING: {error}"));
    }
}

fn format_of(action: &Action) -> Option<PrintfPlan> {
    match action {
        Action::Printf { format, args }
        | Action::Message { format, args, .. }
        | Action::Cat { format, args }
        | Action::System { format, args } => Some(PrintfPlan::new(format, args)),
        _ => None,
    }
}

fn aggregate(cell: MapCell, value: &MapValue, decoder: &mut Decoder<'_>) -> Aggregate {
    match (cell, value) {
        (MapCell::Aggregate(aggregate), _) => aggregate,
        (MapCell::Plain(bytes), MapValue::Plain(shape)) => Aggregate::Plain(decoder.value(&bytes, shape)),
        (MapCell::Plain(_), _) => Aggregate::Plain(Value::None),
    }
}

/// Nanoseconds since the epoch.
fn wall_clock() -> i128 {
    SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).map_or(0, |d| d.as_nanos() as i128)
}

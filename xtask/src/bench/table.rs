//! Results as a table for people and as JSON.

use std::fmt::Write;

use serde_json::json;

/// One measured quantity.
struct Row {
    what: String,
    unit: &'static str,
    /// In the order of the tools; `None` where it could not be measured.
    values: Vec<Option<f64>>,
    /// Absolute limit for strix.
    most: Option<f64>,
    /// Limit for strix / peer.
    ratio: Option<f64>,
}

impl Row {
    fn found_ratio(&self) -> Option<f64> {
        match self.values.as_slice() {
            [Some(ours), Some(theirs), ..] if *theirs > 0.0 => Some(ours / theirs),
            _ => None,
        }
    }

    fn verdict(&self) -> &'static str {
        let ours = self.values.first().copied().flatten();
        let over =
            |limit: Option<f64>, found: Option<f64>| matches!((limit, found), (Some(l), Some(f)) if f > l);
        match (self.most, self.ratio) {
            (None, None) => "",
            _ if over(self.most, ours) || over(self.ratio, self.found_ratio()) => "MISSED",
            (Some(_), _) if ours.is_some() => "ok",
            (_, Some(_)) if self.found_ratio().is_some() => "ok",
            _ => "?",
        }
    }
}

/// All results.
#[derive(Default)]
pub(super) struct Table {
    rows: Vec<Row>,
}

impl Table {
    /// Adds a row with its limits.
    pub(super) fn add(
        &mut self,
        what: &str,
        unit: &'static str,
        values: Vec<Option<f64>>,
        most: Option<f64>,
        ratio: Option<f64>,
    ) {
        self.rows.push(Row { what: what.to_owned(), unit, values, most, ratio });
    }

    /// Markdown.
    pub(super) fn text(&self) -> String {
        let mut text =
            String::from("| what | unit | strix | peer | ratio | goal | |\n|---|---|---|---|---|---|---|\n");
        for row in &self.rows {
            let value = |at: usize| row.values.get(at).copied().flatten().map_or_else(String::new, shown);
            let ratio = row.found_ratio().map_or_else(String::new, |r| format!("{r:.3}"));
            let mut goal = row.most.map_or_else(String::new, |m| format!("<= {}", shown(m)));
            if let Some(limit) = row.ratio {
                let comma = if goal.is_empty() { "" } else { ", " };
                write!(goal, "{comma}ratio <= {limit:.3}").expect("writing to a string cannot fail");
            }
            let (ours, theirs) = (value(0), value(1));
            let cells = [&row.what, row.unit, &ours, &theirs, &ratio, &goal, row.verdict()];
            writeln!(text, "| {} |", cells.join(" | ")).expect("writing to a string cannot fail");
        }
        text
    }

    /// An array of objects.
    pub(super) fn json(&self) -> String {
        let rows: Vec<_> = self
            .rows
            .iter()
            .map(|row| {
                json!({"what": row.what, "unit": row.unit, "strix": row.values.first(), "peer": row.values.get(1),
                    "ratio": row.found_ratio(), "most": row.most, "most_ratio": row.ratio, "verdict": row.verdict()})
            })
            .collect();
        format!("{:#}\n", json!(rows))
    }
}

fn shown(value: f64) -> String {
    if value >= 100.0 { format!("{value:.0}") } else { format!("{value:.2}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_are_judged() {
        let mut table = Table::default();
        table.add("a", "ms", vec![Some(10.0), Some(100.0)], Some(20.0), Some(0.125));
        table.add("b", "ms", vec![Some(30.0), Some(100.0)], Some(20.0), Some(0.5));
        table.add("c", "ms", vec![Some(30.0), Some(100.0)], None, Some(0.125));
        table.add("d", "ms", vec![Some(30.0)], None, Some(0.125));
        let verdicts: Vec<&str> = table.rows.iter().map(Row::verdict).collect();
        assert_eq!(verdicts, ["ok", "MISSED", "MISSED", "?"]);
        assert!(table.text().contains("| a | ms | 10.00 | 100 | 0.100 | <= 20.00, ratio <= 0.125 | ok |"));
    }
}

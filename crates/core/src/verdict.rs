//! What the verifier's log says, read leniently: its format is nobody's promise.

use strix_model::{Program, Span};

/// The complaint in a log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Verdict {
    /// The instruction that was looked at last.
    pub(crate) instruction: Option<u32>,
    /// The complaint.
    pub(crate) reason: String,
}

/// Reads a log: the last line of the form `N: (xx) …` names the instruction, the line after it the trouble.
pub(crate) fn read(log: &str) -> Verdict {
    let lines: Vec<&str> = log.lines().map(str::trim).filter(|line| !is_noise(line)).collect();
    let last = lines.iter().rposition(|line| instruction(line).is_some());
    let after = last.map_or(0, |at| at + 1);
    let complaint = lines[after..].iter().find(|line| !is_state(line)).or(lines.last());
    let reason = complaint.map_or_else(|| "it gave no reason".to_owned(), |line| (*line).to_owned());
    // Complaints about the shape of the program come without a walk through it, and name the place in words.
    let named = || reason.split("insn ").nth(1).and_then(leading_number);
    let instruction = last.and_then(|at| instruction(lines[at])).or_else(named);
    Verdict { instruction, reason }
}

/// The source of an instruction: that of the last line record at or before it.
pub(crate) fn span_of(program: &Program, instruction: u32) -> Option<Span> {
    program.line_info.iter().take_while(|line| line.insn <= instruction).last().map(|line| line.span)
}

/// `41: (85) call …`.
fn instruction(line: &str) -> Option<u32> {
    let (number, rest) = line.split_once(": (")?;
    let hex = rest.split(')').next()?;
    let is_code = hex.len() == 2 && hex.bytes().all(|b| b.is_ascii_hexdigit());
    is_code.then(|| number.parse().ok()).flatten()
}

fn leading_number(text: &str) -> Option<u32> {
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    text[..end].parse().ok()
}

fn is_noise(line: &str) -> bool {
    line.is_empty()
        || line.starts_with("processed ")
        || line.starts_with("verification time")
        || line.starts_with("stack depth")
        || line.starts_with("mark_precise")
        || line.starts_with(';')
        || line.starts_with("max_states_per_insn")
        || line.starts_with("func#")
}

/// Register states: `R1=ctx() R10=fp0`, `41: R0_w=…`, `from 5 to 7: …`.
fn is_state(line: &str) -> bool {
    let after_number = line
        .split_once(": ")
        .map_or(line, |(number, rest)| if number.parse::<u32>().is_ok() { rest } else { line });
    let mut chars = after_number.chars();
    let register = chars.next() == Some('R') && chars.next().is_some_and(|c| c.is_ascii_digit());
    line.starts_with("from ")
        || register && after_number.split(' ').next().is_some_and(|word| word.contains('='))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_instruction_and_the_line_after_it() {
        let log = "func#0 @0\n0: R1=ctx() R10=fp0\n; @x = 1; @ t.bt:1\n0: (b7) r2 = 0\n1: (85) call bpf_probe_read#4\n\
                   R2 min value is negative, either use unsigned or 'var &= const'\n\
                   processed 2 insns (limit 1000000) max_states_per_insn 0\n";
        let verdict = read(log);
        assert_eq!(verdict.instruction, Some(1));
        assert!(verdict.reason.starts_with("R2 min value is negative"), "{}", verdict.reason);
    }

    #[test]
    fn register_states_are_no_complaint() {
        let log = "0: (61) r0 = *(u32 *)(r1 +900)\n0: R0_w=scalar() R1=ctx()\nfrom 3 to 5: R0=1\n\
                   R1=ctx() R10=fp0\ninvalid bpf_context access off=900 size=4\n";
        assert_eq!(
            read(log),
            Verdict { instruction: Some(0), reason: "invalid bpf_context access off=900 size=4".into() }
        );
    }

    #[test]
    fn shape_complaints_name_the_place_in_words() {
        let verdict = read("unreachable insn 5\nprocessed 0 insns\n");
        assert_eq!(verdict, Verdict { instruction: Some(5), reason: "unreachable insn 5".into() });
    }

    #[test]
    fn an_empty_log_says_so() {
        assert_eq!(read("").reason, "it gave no reason");
        assert_eq!(read("99999999999: (85) x").instruction, None);
    }
}

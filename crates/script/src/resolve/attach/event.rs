//! begin and end, timers, and counted software and hardware events.

use strix_facts::nearest;
use strix_model::{AttachPoint, HardwareEvent, Period, SoftwareEvent};

use super::super::number;
use super::{Concrete, Found, Part, Problem, Provider, argument_count};

/// Timers fire at most once a microsecond.
const MIN_NANOS: u64 = 1_000;

fn one(provider: Provider, point: AttachPoint) -> Found {
    let name = point.to_string();
    Ok(vec![Concrete { provider, point, name }])
}

/// `begin`, `end`.
pub(super) fn special(provider: Provider, parts: &[Part]) -> Found {
    if !(parts.is_empty() || (parts.len() == 1 && parts[0].text == "*")) {
        return Err(argument_count(provider, "0", parts.len()));
    }
    one(provider, if provider == Provider::Begin { AttachPoint::Begin } else { AttachPoint::End })
}

/// `interval`, `profile`: `UNIT:N` or a duration.
pub(super) fn timer(provider: Provider, parts: &[Part]) -> Found {
    let kind = provider.name();
    let rate = |text: &str| {
        number::unsigned(text).map_err(|e| Problem::wrong(format!("invalid rate of {kind} probe: {e}")))
    };
    let period = match parts {
        [literal] => {
            let nanos = rate(&literal.text).map_err(|problem| match literal.text.as_str() {
                "hz" | "s" | "ms" | "us" => Problem::wrong(format!("{kind} probe must have a rate"))
                    .with_help(format!("for example `{kind}:{}:10`", literal.text)),
                _ => problem,
            })?;
            if nanos < MIN_NANOS {
                return Err(Problem::wrong(format!(
                    "invalid rate of {kind} probe: the minimum is 1000 or 1us, found {nanos} nanoseconds"
                ))
                .with_help(format!("for a frequency write `{kind}:hz:{nanos}`")));
            }
            Period::Nanos(nanos)
        }
        [unit, n] => {
            let nanos = match unit.text.as_str() {
                "hz" => None,
                "s" => Some(1_000_000_000),
                "ms" => Some(1_000_000),
                "us" => Some(1_000),
                other => {
                    return Err(Problem::wrong(format!("{other} is not an accepted unit of time"))
                        .with_help("the units are hz, s, ms and us"));
                }
            };
            let n = rate(&n.text)?;
            if n == 0 {
                return Err(Problem::wrong(format!("{kind} frequency should be a positive integer")));
            }
            match nanos {
                None => Period::Hertz(n),
                Some(unit) => Period::Nanos(n.checked_mul(unit).ok_or_else(|| {
                    Problem::wrong(format!("invalid rate of {kind} probe: {n} is too long a time"))
                })?),
            }
        }
        _ => return Err(argument_count(provider, "1 or 2", parts.len())),
    };
    one(
        provider,
        if provider == Provider::Interval {
            AttachPoint::Interval(period)
        } else {
            AttachPoint::Profile(period)
        },
    )
}

/// `software`, `hardware`: `EVENT[:COUNT]`.
pub(super) fn counter(provider: Provider, parts: &[Part]) -> Found {
    let kind = provider.name();
    let (event, count) = match parts {
        [event] => (event, None),
        [event, count] if count.text.is_empty() || count.text == "*" => (event, None),
        [event, count] => (event, Some(count)),
        _ => return Err(argument_count(provider, "1 or 2", parts.len())),
    };
    if event.text.is_empty() {
        return Err(Problem::wrong(format!("{kind} probe must have a {kind} event name")));
    }
    if !event.literal {
        return Err(Problem::wrong(format!("wildcards are not allowed for {kind} probe type")));
    }
    let count = match count {
        Some(part) => number::unsigned(&part.text)
            .map_err(|e| Problem::wrong(format!("invalid count for {kind} probe: {e}")))?,
        None => 0,
    };
    let or = |default: u64| if count == 0 { default } else { count };
    let unknown = |known: Vec<&'static str>| {
        let problem = Problem::wrong(format!("{} is not a {kind} probe", event.text));
        match nearest(&event.text, known.iter().copied()) {
            Some(near) => problem.with_help(format!("did you mean `{near}`?")),
            None => problem.with_help(format!("the events are {}", known.join(", "))),
        }
    };
    let point = if provider == Provider::Software {
        let event = SoftwareEvent::parse(&event.text)
            .ok_or_else(|| unknown(SoftwareEvent::ALL.iter().map(|e| e.name()).collect()))?;
        AttachPoint::Software { event, period: or(event.default_period()) }
    } else {
        let event = HardwareEvent::parse(&event.text)
            .ok_or_else(|| unknown(HardwareEvent::ALL.iter().map(|e| e.name()).collect()))?;
        AttachPoint::Hardware { event, period: or(event.default_period()) }
    };
    let mut found = one(provider, point)?;
    if let ([concrete], true) = (found.as_mut_slice(), count > 0) {
        // An event has the name that the script gives it.
        concrete.name = format!("{kind}:{}:{count}", event.text);
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::super::{Part, Problem, Provider};
    use super::{counter, special, timer};

    fn parts(text: &str) -> Vec<Part> {
        let part =
            |t: &str| Part { text: t.to_owned(), literal: !super::super::is_wildcard(t), quoted: false };
        if text.is_empty() { Vec::new() } else { text.split(':').map(part).collect() }
    }

    fn said(result: super::Found) -> String {
        match result {
            Ok(found) => found.into_iter().map(|c| c.name).collect::<Vec<_>>().join(","),
            Err(
                Problem::Wrong { message, .. }
                | Problem::Missing { message, .. }
                | Problem::NoMatch { message },
            ) => message,
            Err(Problem::Facts(e)) => e.to_string(),
        }
    }

    #[test]
    fn timers() {
        let go = |text| said(timer(Provider::Interval, &parts(text)));
        assert_eq!(go("s:1"), "interval:s:1");
        assert_eq!(go("hz:99"), "interval:hz:99");
        assert_eq!(go("100ms"), "interval:ms:100");
        assert_eq!(go("5000"), "interval:us:5");
        assert!(go("99").contains("the minimum is 1000 or 1us"));
        assert_eq!(go("m:1"), "m is not an accepted unit of time");
        assert_eq!(go("hz:0"), "interval frequency should be a positive integer");
        assert_eq!(go("hz:x"), "invalid rate of interval probe: invalid integer: x");
        assert_eq!(go("hz"), "interval probe must have a rate");
        assert_eq!(
            go("s:18446744073709551615"),
            "invalid rate of interval probe: 18446744073709551615 is too long a time"
        );
        assert_eq!(go("a:b:c"), "interval probe type requires 1 or 2 arguments, found 3");
    }

    #[test]
    fn counted_events() {
        let go = |text| said(counter(Provider::Software, &parts(text)));
        assert_eq!(go("page-faults:1"), "software:page-faults:1");
        assert_eq!(go("faults:"), "software:page-faults:100");
        assert_eq!(go("cs"), "software:context-switches:1000");
        assert_eq!(go("page-fault:1"), "page-fault is not a software probe");
        assert_eq!(go("page-*:1"), "wildcards are not allowed for software probe type");
        assert!(said(counter(Provider::Hardware, &parts("cycles:1000"))).starts_with("hardware:cycles:1000"));
    }

    #[test]
    fn specials_stand_alone() {
        assert_eq!(said(special(Provider::Begin, &parts(""))), "begin");
        assert_eq!(said(special(Provider::End, &parts("x"))), "end probe type requires 0 arguments, found 1");
    }
}

//! What a scalar map shows before anything was stored in it.

use strix_model::{Aggregate, MapValue, Shape, Value};

use crate::Decoder;

/// What an explicit `print(@x)` shows of a scalar map that nothing was stored in. Histograms show nothing.
#[must_use]
pub fn empty_scalar(value: &MapValue, decoder: &mut Decoder<'_>) -> Option<Aggregate> {
    Some(match *value {
        MapValue::Hist { .. } | MapValue::Lhist { .. } => return None,
        MapValue::Plain(Shape::Str { .. }) => Aggregate::Plain(Value::Str(Vec::new())),
        MapValue::Plain(ref shape) => Aggregate::Plain(decoder.value(&[], shape)),
        MapValue::Count => Aggregate::Unsigned(0),
        MapValue::Sum { signed } | MapValue::Min { signed } | MapValue::Max { signed } => match signed {
            true => Aggregate::Signed(0),
            false => Aggregate::Unsigned(0),
        },
        MapValue::Avg { signed } => Aggregate::Stats { count: 0, total: 0, signed, average_only: true },
        MapValue::Stats { signed } => Aggregate::Stats { count: 0, total: 0, signed, average_only: false },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn empty_scalars_are_zero() {
        let mut decoder = Decoder { names: &mut (), trailer: ".." };
        assert_eq!(empty_scalar(&MapValue::Count, &mut decoder), Some(Aggregate::Unsigned(0)));
        assert_eq!(empty_scalar(&MapValue::Max { signed: true }, &mut decoder), Some(Aggregate::Signed(0)));
        assert_eq!(empty_scalar(&MapValue::Hist { bits: 0 }, &mut decoder), None);
        let text = MapValue::Plain(Shape::Str { cap: 4 });
        assert_eq!(empty_scalar(&text, &mut decoder), Some(Aggregate::Plain(Value::Str(Vec::new()))));
        let number = MapValue::Plain(Shape::Int { size: 8, signed: true });
        assert_eq!(empty_scalar(&number, &mut decoder), Some(Aggregate::Plain(Value::Int(0))));
    }
}

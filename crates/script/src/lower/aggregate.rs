//! Aggregations: updating this CPU's value, and adding the values of all CPUs up.

use strix_codegen::helper;
use strix_codegen::ir::{BinOp, Cond, Operand, Size, Vreg};
use strix_model::{MapIdx, MapValue};

use super::function::Lower;
use super::value::Place;
use crate::builtins::Function;
use crate::hir::{Expr, MapId};
use crate::types::Type;

/// Bytes from a value to its second word: the set flag of min and max, the count of avg and stats.
const SECOND: u32 = 8;

/// Multiplying a number whose bits are all set below its highest one by this leaves the position of that bit in the
/// top six bits, by way of [`LOG2_TABLE`] (the de Bruijn sequence method).
const DE_BRUIJN: u64 = 0x03f7_9d71_b4cb_0a89;

/// Position of the highest bit by the top six bits of the product.
const fn log2_table() -> [u8; 64] {
    let mut table = [0u8; 64];
    let mut bit = 0;
    while bit < 64 {
        let smeared = if bit == 63 { u64::MAX } else { (1u64 << (bit + 1)) - 1 };
        table[(smeared.wrapping_mul(DE_BRUIJN) >> 58) as usize] = bit;
        bit += 1;
    }
    table
}

const LOG2_TABLE: [u8; 64] = log2_table();

impl Lower<'_, '_> {
    /// `@x = count()` and its kin.
    pub(super) fn aggregate(&mut self, map: MapId, key: &[Expr], function: Function, args: &[Expr]) {
        let Type::Aggregate(value) = self.typed.maps[map.0 as usize].value.clone() else { return };
        let operand = match args.first() {
            Some(arg) if function != Function::Count => self.scalar(arg),
            _ => 1.into(),
        };
        let operand = match &value {
            MapValue::Hist { bits } => self.log2_bucket(operand, u32::from(*bits)),
            MapValue::Lhist { min, max, step } => self.linear_bucket(operand, *min, *max, *step),
            _ => operand,
        };
        if self.typed.maps[map.0 as usize].key == Type::Void {
            self.scalar_aggregate(map, &value, operand);
        } else {
            self.with_entry(map, key, |l, place| l.update_aggregate(&value, place, operand));
        }
    }

    fn scalar_aggregate(&mut self, map: MapId, value: &MapValue, operand: Operand) {
        let kernel_map = self.plan.user_map(map).0.map;
        let key = self.zero_key();
        let found = self.lookup_key(kernel_map, key);
        let (there, done) = (self.b().block(), self.b().block());
        self.b().branch(Cond::Ne, found, 0, there, done);
        self.b().switch_to(there);
        let place = Place::new(found);
        self.update_aggregate(value, place, operand);
        self.b().store(place.at(value.size().max(8)).addr(), Size::B8, 1);
        self.b().jump(done);
        self.b().switch_to(done);
    }

    fn update_aggregate(&mut self, value: &MapValue, place: Place, operand: Operand) {
        match *value {
            MapValue::Plain(_) => {}
            MapValue::Count | MapValue::Sum { .. } => self.add_to(place, operand),
            MapValue::Avg { .. } | MapValue::Stats { .. } => {
                self.add_to(place, operand);
                self.add_to(place.at(SECOND), 1.into());
            }
            MapValue::Min { signed } => {
                self.extreme(place, operand, if signed { Cond::Slt } else { Cond::Ult })
            }
            MapValue::Max { signed } => {
                self.extreme(place, operand, if signed { Cond::Sgt } else { Cond::Ugt })
            }
            MapValue::Hist { .. } | MapValue::Lhist { .. } => {
                self.add_to_bucket(value.buckets(), place, operand)
            }
        }
    }

    /// Keeps the new value if it beats the old one, or if there is none.
    fn extreme(&mut self, place: Place, operand: Operand, beats: Cond) {
        let (compare, store, done) = (self.b().block(), self.b().block(), self.b().block());
        let set = self.b().load(place.at(SECOND).addr(), Size::B8, false);
        self.b().branch(Cond::Eq, set, 0, store, compare);
        self.b().switch_to(compare);
        let old = self.b().load(place.addr(), Size::B8, false);
        self.b().branch(beats, operand, old, store, done);
        self.b().switch_to(store);
        self.b().store(place.addr(), Size::B8, operand);
        self.b().store(place.at(SECOND).addr(), Size::B8, 1);
        self.b().jump(done);
        self.b().switch_to(done);
    }

    fn add_to_bucket(&mut self, buckets: u32, place: Place, bucket: Operand) {
        let (inside, done) = (self.b().block(), self.b().block());
        self.b().branch_unlikely(Cond::Uge, bucket, i64::from(buckets), done, inside);
        self.b().switch_to(inside);
        let step = self.b().bin(BinOp::Shl, bucket, 3);
        let base = self.b().bin(BinOp::Add, place.base, step);
        self.add_to(Place { base, ..place }, 1.into());
        self.b().jump(done);
        self.b().switch_to(done);
    }

    /// Bucket of a value in a power-of-two histogram; see [`MapValue::Hist`].
    fn log2_bucket(&mut self, value: Operand, bits: u32) -> Operand {
        let value = self.b().in_reg(value);
        let result = self.b().copy_new(0);
        let small_limit = 1i64 << bits;
        let (not_negative, small, large, done) =
            (self.b().block(), self.b().block(), self.b().block(), self.b().block());
        self.b().branch(Cond::Slt, value, 0, done, not_negative);
        self.b().switch_to(not_negative);
        self.b().branch(Cond::Slt, value, small_limit, small, large);
        self.b().switch_to(small);
        self.b().bin_to(result, BinOp::Add, value, 1);
        self.b().jump(done);
        self.b().switch_to(large);
        let log = self.log2(value);
        if bits == 0 {
            self.b().bin_to(result, BinOp::Add, log, 2);
        } else {
            let shift = self.b().bin(BinOp::Sub, log, i64::from(bits));
            let below = self.b().bin(BinOp::Lshr, value, shift);
            let below = self.b().bin(BinOp::And, below, small_limit - 1);
            let above = self.b().bin(BinOp::Add, shift, 1);
            let above = self.b().bin(BinOp::Shl, above, i64::from(bits));
            let sum = self.b().bin(BinOp::Add, above, below);
            self.b().bin_to(result, BinOp::Add, sum, 1);
        }
        self.b().jump(done);
        self.b().switch_to(done);
        result.into()
    }

    /// Position of the highest set bit of a value that is not zero. No branches: latencies are not predictable.
    fn log2(&mut self, value: Vreg) -> Vreg {
        let mut smeared = value;
        for shift in [1, 2, 4, 8, 16, 32] {
            let shifted = self.b().bin(BinOp::Lshr, smeared, shift);
            smeared = self.b().bin(BinOp::Or, smeared, shifted);
        }
        let product = self.b().bin(BinOp::Mul, smeared, DE_BRUIJN as i64);
        let index = self.b().bin(BinOp::Lshr, product, 58);
        let (map, offset) = self.plan.constant(&LOG2_TABLE);
        let table = self.b().map_value_ptr(map, offset);
        let entry = self.b().bin(BinOp::Add, table, index);
        self.b().load(Place::new(entry).addr(), Size::B1, false)
    }

    /// Bucket of a value in a linear histogram; see [`MapValue::Lhist`].
    fn linear_bucket(&mut self, value: Operand, min: i64, max: i64, step: i64) -> Operand {
        let value = self.b().in_reg(value);
        let result = self.b().copy_new(0);
        let last = (max - min) / step + 1;
        let (not_below, above, inside, done) =
            (self.b().block(), self.b().block(), self.b().block(), self.b().block());
        self.b().branch(Cond::Slt, value, min, done, not_below);
        self.b().switch_to(not_below);
        self.b().branch(Cond::Sge, value, max, above, inside);
        self.b().switch_to(above);
        self.b().copy(result, last);
        self.b().jump(done);
        self.b().switch_to(inside);
        let distance = self.b().bin(BinOp::Sub, value, min);
        let steps = self.b().bin(BinOp::Udiv, distance, step);
        self.b().bin_to(result, BinOp::Add, steps, 1);
        self.b().jump(done);
        self.b().switch_to(done);
        result.into()
    }

    /// An aggregation's value over all CPUs, as the integer it reads as.
    pub(super) fn sum_over_cpus(&mut self, map: MapIdx, key: Place, value: &MapValue) -> Operand {
        let total = self.b().copy_new(0);
        let count = self.b().copy_new(0);
        let cpu = self.b().copy_new(0);
        let cpus = i64::from(self.options.cpus.max(1));
        let (head, body, some, next, done) =
            (self.b().block(), self.b().block(), self.b().block(), self.b().block(), self.b().block());
        self.b().jump(head);
        self.b().switch_to(head);
        self.b().branch(Cond::Uge, cpu, cpus, done, body);
        self.b().switch_to(body);
        let address = self.address(key);
        let map = self.map_operand(map);
        let found = self.b().call(helper::MAP_LOOKUP_PERCPU_ELEM, &[map, address.into(), cpu.into()]);
        self.b().branch(Cond::Eq, found, 0, next, some);
        self.b().switch_to(some);
        self.fold_cpu(value, Place::new(found), total, count);
        self.b().jump(next);
        self.b().switch_to(next);
        self.b().bin_to(cpu, BinOp::Add, cpu, 1);
        self.b().jump(head);
        self.b().switch_to(done);
        match value {
            MapValue::Avg { signed } | MapValue::Stats { signed } => {
                let op = if *signed { BinOp::Sdiv } else { BinOp::Udiv };
                self.b().bin(op, total, count).into()
            }
            _ => total.into(),
        }
    }

    /// Adds one CPU's value to the total.
    fn fold_cpu(&mut self, value: &MapValue, place: Place, total: Vreg, count: Vreg) {
        let one = self.b().load(place.addr(), Size::B8, false);
        match value {
            MapValue::Min { signed } | MapValue::Max { signed } => {
                let beats = match (value, signed) {
                    (MapValue::Min { .. }, true) => Cond::Slt,
                    (MapValue::Min { .. }, false) => Cond::Ult,
                    (_, true) => Cond::Sgt,
                    (_, false) => Cond::Ugt,
                };
                let set = self.b().load(place.at(SECOND).addr(), Size::B8, false);
                let (valid, compare, take, done) =
                    (self.b().block(), self.b().block(), self.b().block(), self.b().block());
                self.b().branch(Cond::Eq, set, 0, done, valid);
                self.b().switch_to(valid);
                self.b().branch(Cond::Eq, count, 0, take, compare);
                self.b().switch_to(compare);
                self.b().branch(beats, one, total, take, done);
                self.b().switch_to(take);
                self.b().copy(total, one);
                self.b().copy(count, 1);
                self.b().jump(done);
                self.b().switch_to(done);
            }
            MapValue::Avg { .. } | MapValue::Stats { .. } => {
                self.b().bin_to(total, BinOp::Add, total, one);
                let n = self.b().load(place.at(SECOND).addr(), Size::B8, false);
                self.b().bin_to(count, BinOp::Add, count, n);
            }
            _ => self.b().bin_to(total, BinOp::Add, total, one),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_gives_the_highest_bit() {
        for bit in 0..64 {
            for value in [1u64 << bit, (1u64 << bit) | (1u64 << (bit / 2))] {
                let mut smeared = value;
                for shift in [1, 2, 4, 8, 16, 32] {
                    smeared |= smeared >> shift;
                }
                let index = (smeared.wrapping_mul(DE_BRUIJN) >> 58) as usize;
                assert_eq!(u32::from(LOG2_TABLE[index]), value.ilog2());
            }
        }
    }
}

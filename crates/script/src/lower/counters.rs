//! The per-probe counters: what ran, what was filtered, and everything that was lost.

use strix_codegen::helper;
use strix_codegen::ir::{AtomicOp, BinOp, Cond, Size};
use strix_model::{COUNTERS, Counter};

use super::function::Lower;
use super::value::Place;

impl Lower<'_, '_> {
    /// Adds one to a counter of this probe.
    pub(super) fn bump(&mut self, counter: Counter) {
        let map = self.plan.counters();
        let key = self.slot("zero", 4);
        self.b().store(key.addr(), Size::B4, 0);
        let map = self.map_operand(map);
        let value = self.b().call(helper::MAP_LOOKUP_ELEM, &[map, key.base.into()]);
        let (found, done) = (self.b().block(), self.b().block());
        self.b().branch(Cond::Ne, value, 0, found, done);
        self.b().switch_to(found);
        let offset = (self.instance.probe * COUNTERS + counter as u32) * 8;
        self.add_to(Place::new(value).at(offset), 1.into());
        self.b().jump(done);
        self.b().switch_to(done);
    }

    /// Adds to a word that only this CPU writes.
    pub(super) fn add_to(&mut self, place: Place, amount: strix_codegen::ir::Operand) {
        if self.preemptible {
            self.b().atomic(AtomicOp::Add, place.addr(), Size::B8, amount);
        } else {
            let old = self.b().load(place.addr(), Size::B8, false);
            let new = self.b().bin(BinOp::Add, old, amount);
            self.b().store(place.addr(), Size::B8, new);
        }
    }

    /// Counts a run, when the plan counts runs.
    pub(super) fn count_run(&mut self, counter: Counter) {
        if self.options.count_runs {
            self.bump(counter);
        }
    }

    /// Counts `counter` if a helper's result is negative.
    pub(super) fn bump_if_negative(&mut self, result: strix_codegen::ir::Vreg, counter: Counter) {
        let (failed, done) = (self.b().block(), self.b().block());
        self.b().branch_unlikely(Cond::Slt, result, 0, failed, done);
        self.b().switch_to(failed);
        self.bump(counter);
        self.b().jump(done);
        self.b().switch_to(done);
    }
}

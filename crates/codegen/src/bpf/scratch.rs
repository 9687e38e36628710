//! Moves slots from the stack to the value of a per-CPU map.
//!
//! A function that needs scratch memory looks its area up where all uses are still ahead, so that a program whose predicate fails
//! never does. Each function of a program has an area of its own in the value, because a callback runs while its caller
//! is under way.
//!
//! Programs that can be preempted by themselves (uprobes) claim one of several levels of their area by a bit of a busy mask
//! at the value's start, and give it back on every way out. A callback claims a level for itself by the same means, which
//! costs it a look-up for each run but needs nothing from its caller.

use strix_model::{MapIdx, Span};

use super::layout::Lifetimes;
use crate::helper;
use crate::ir::flow::{Defs, Flow};
use crate::ir::{
    AtomicOp, BinOp, Block, BlockId, Cond, Function, Inst, Op, Operand, Size, Slot, SlotId, Terminator, Vreg,
};
use crate::{CodegenError, ErrorKind};

/// Runs of a program that can be under way on one CPU when it can be preempted.
const LEVELS: u32 = 4;

/// What the kernel allows a per-CPU value to have (`PCPU_MIN_UNIT_SIZE`).
const MOST: u32 = 32 * 1024;

/// How slots of one function are moved.
pub(super) struct Area {
    /// Distance of each moved slot from the start of the area.
    offsets: Vec<Option<u32>>,
    /// Bytes of one level.
    pub(super) size: u32,
}

/// The map's value: busy masks, then the areas.
#[derive(Clone, Copy, Debug)]
pub(super) struct Value {
    pub(super) map: MapIdx,
    /// Map and byte of the counter of runs given up, for programs that can be preempted.
    pub(super) busy: Option<(MapIdx, u32)>,
    /// Levels of each area; 1 means that none is claimed.
    pub(super) levels: u32,
}

impl Value {
    /// Chooses the number of levels and gives the start of each area and the size of all.
    pub(super) fn new(
        map: MapIdx,
        busy: Option<(MapIdx, u32)>,
        preemptible: bool,
        sizes: &[u32],
        span: Span,
    ) -> Result<(Self, Vec<u32>, u32), CodegenError> {
        let one: u32 = sizes.iter().sum();
        let header = if preemptible { 8 * sizes.len() as u32 } else { 0 };
        let too_large = CodegenError { span, kind: ErrorKind::ScratchTooLarge { size: one, limit: MOST } };
        let fits = |levels: u32| one.checked_mul(levels).is_some_and(|all| all <= MOST - header);
        let mut levels = if preemptible { LEVELS } else { 1 };
        while !fits(levels) && levels > 1 {
            levels /= 2;
        }
        if !fits(levels) {
            return Err(too_large);
        }
        let mut at = header;
        let starts = sizes.iter().map(|size| {
            at += size * levels;
            at - size * levels
        });
        let starts = starts.collect();
        Ok((Self { map, busy, levels }, starts, at))
    }
}

/// Lays out the slots that are moved.
pub(super) fn area(function: &Function, moved: &[SlotId]) -> Area {
    let placement = Lifetimes::new(function).place(function, moved);
    // Ends are aligned, as the stack grows down; so places are counted from the area's end here too.
    let offsets = placement.ends.iter().map(|end| Some(placement.size - (*end)?)).collect();
    Area { offsets, size: placement.size }
}

/// Rewrites a function to find these slots in its area of the map's value.
pub(super) fn run(
    function: &mut Function,
    area: &Area,
    value: Value,
    index: u32,
    start: u32,
    preemptible: bool,
) {
    make_where_used(function, area);
    let Some((block, at)) = entrance(function, area, preemptible) else { return };
    let mut claim =
        Claim { function, value, mask: (8 * index) as i32, span: Span::default(), area: area.size };
    let (base, held) = claim.insert(block, at, preemptible);
    if let Some(held) = held {
        claim.give_back(block, held);
    }
    let offset = |slot: SlotId| area.offsets.get(slot.0 as usize).copied().flatten();
    for inst in function.blocks.iter_mut().flat_map(|block| &mut block.insts) {
        if let Op::SlotAddr { dst, slot } = inst.op
            && let Some(off) = offset(slot)
        {
            let rhs = Operand::Imm(i64::from(start + off));
            inst.op = Op::Bin { dst, op: BinOp::Add, lhs: base.into(), rhs };
        }
    }
}

/// Takes the address of a moved slot right before each use, so that uses alone say where it must be known.
fn make_where_used(function: &mut Function, area: &Area) {
    let defs = Defs::new(function);
    let moved = |reg: Vreg| match defs.single(reg) {
        Some(&Op::SlotAddr { slot, .. }) if area.offsets[slot.0 as usize].is_some() => Some(slot),
        _ => None,
    };
    for index in 0..function.blocks.len() {
        let insts = std::mem::take(&mut function.blocks[index].insts);
        let mut out = Vec::with_capacity(insts.len());
        for mut inst in insts {
            if inst.op.dst().and_then(moved).is_some() {
                continue;
            }
            let span = inst.span;
            let mut fresh = |reg: Vreg| {
                let slot = moved(reg)?;
                function.vregs += 1;
                let dst = Vreg(function.vregs - 1);
                out.push(Inst { op: Op::SlotAddr { dst, slot }, span });
                Some(dst)
            };
            for operand in inst.op.operands_mut() {
                if let Some(dst) = operand.reg().and_then(&mut fresh) {
                    *operand = dst.into();
                }
            }
            for addr in inst.op.addrs_mut() {
                addr.base = fresh(addr.base).unwrap_or(addr.base);
            }
            out.push(inst);
        }
        let mut term = function.blocks[index].term.clone();
        let span = function.blocks[index].term_span;
        for operand in term.operands_mut() {
            if let Some(slot) = operand.reg().and_then(moved) {
                function.vregs += 1;
                let dst = Vreg(function.vregs - 1);
                out.push(Inst { op: Op::SlotAddr { dst, slot }, span });
                *operand = dst.into();
            }
        }
        function.blocks[index].insts = out;
        function.blocks[index].term = term;
    }
}

/// The latest place that every use comes after, that runs once, and where no record of the ring is open: the look-up may end the program. A
/// block and an index into it.
fn entrance(function: &Function, area: &Area, preemptible: bool) -> Option<(BlockId, usize)> {
    let flow = Flow::new(function);
    let is_use =
        |inst: &Inst| matches!(inst.op, Op::SlotAddr { slot, .. } if area.offsets[slot.0 as usize].is_some());
    let users = flow.rpo.iter().copied().filter(|b| function.blocks[b.0 as usize].insts.iter().any(is_use));
    let users: Vec<BlockId> = users.collect();
    let up = |block: BlockId| flow.idom[block.0 as usize].unwrap_or(BlockId(0));
    let first_use = |block: BlockId| {
        let insts = &function.blocks[block.0 as usize].insts;
        insts.iter().position(is_use).unwrap_or(insts.len())
    };
    let records = records(function);
    let mut block = *users.first()?;
    let mut at = first_use(block);
    loop {
        let unfit = !users.iter().all(|&user| flow.dominates(block, user))
            || flow.depth[block.0 as usize] > 0
            || (preemptible && !owns_its_returns(function, &flow, block));
        // A loop around the entry itself leaves no better place.
        if unfit && block != BlockId(0) {
            block = up(block);
            at = first_use(block);
        } else if let Some(record) = records.iter().find(|r| r.is_open(function, &flow, (block, at))) {
            (block, at) = record.reserved;
            at = at.min(first_use(block));
        } else {
            return Some((block, at));
        }
    }
}

/// A record that is reserved in the ring, and where it is given to it.
struct Record {
    reserved: (BlockId, usize),
    submitted: Vec<(BlockId, usize)>,
}

impl Record {
    /// Whether the record is reserved before a place and submitted after it.
    fn is_open(&self, function: &Function, flow: &Flow, place: (BlockId, usize)) -> bool {
        let (block, at) = self.reserved;
        let before = if block == place.0 { at < place.1 } else { flow.dominates(block, place.0) };
        before
            && self.submitted.iter().any(|&(block, at)| match block == place.0 {
                true => at >= place.1,
                false => leads_to(function, place.0, block),
            })
    }
}

fn records(function: &Function) -> Vec<Record> {
    let mut records: Vec<(Vreg, Record)> = Vec::new();
    let calls = |wanted: &'static [u32]| {
        let blocks = (0u32..).zip(&function.blocks);
        blocks.flat_map(move |(index, block)| {
            block.insts.iter().enumerate().filter_map(move |(at, inst)| match &inst.op {
                Op::Call { dst, helper, args, .. } if wanted.contains(helper) => {
                    Some(((BlockId(index), at), *dst, args.first().and_then(|arg| arg.reg())))
                }
                _ => None,
            })
        })
    };
    for (reserved, dst, _) in calls(&[helper::RINGBUF_RESERVE]) {
        records.extend(dst.map(|dst| (dst, Record { reserved, submitted: Vec::new() })));
    }
    for (place, _, record) in calls(&[helper::RINGBUF_SUBMIT, helper::RINGBUF_DISCARD]) {
        let own = records.iter_mut().filter(|(dst, _)| Some(*dst) == record);
        own.for_each(|(_, record)| record.submitted.push(place));
    }
    records.into_iter().map(|(_, record)| record).collect()
}

fn leads_to(function: &Function, from: BlockId, to: BlockId) -> bool {
    let mut seen = vec![false; function.blocks.len()];
    let mut work = function.blocks[from.0 as usize].term.successors();
    while let Some(at) = work.pop() {
        if at == to {
            return true;
        }
        if !std::mem::replace(&mut seen[at.0 as usize], true) {
            work.extend(function.blocks[at.0 as usize].term.successors());
        }
    }
    false
}

/// Whether every return that can be reached from a block is reached only through it.
fn owns_its_returns(function: &Function, flow: &Flow, block: BlockId) -> bool {
    let mut seen = vec![false; function.blocks.len()];
    let mut work = vec![block];
    while let Some(at) = work.pop() {
        if std::mem::replace(&mut seen[at.0 as usize], true) {
            continue;
        }
        let term = &function.blocks[at.0 as usize].term;
        if matches!(term, Terminator::Return(_)) && !flow.dominates(block, at) {
            return false;
        }
        work.extend(term.successors());
    }
    true
}

/// A level that is held: the value's address and the level's bit.
#[derive(Clone, Copy)]
struct Held {
    value: Vreg,
    bit: Vreg,
    /// Block that follows the claim.
    from: BlockId,
}

struct Claim<'a> {
    function: &'a mut Function,
    value: Value,
    /// Where the busy mask is in the value.
    mask: i32,
    span: Span,
    /// Bytes of a level.
    area: u32,
}

impl Claim<'_> {
    fn vreg(&mut self) -> Vreg {
        self.function.vregs += 1;
        Vreg(self.function.vregs - 1)
    }

    fn block(&mut self) -> BlockId {
        self.function.blocks.push(Block {
            insts: Vec::new(),
            term: Terminator::Return(Operand::Imm(0)),
            term_span: self.span,
        });
        BlockId(self.function.blocks.len() as u32 - 1)
    }

    fn push(&mut self, block: BlockId, op: Op) {
        let span = self.span;
        self.function.blocks[block.0 as usize].insts.push(Inst { op, span });
    }

    fn bin(&mut self, block: BlockId, op: BinOp, lhs: Vreg, rhs: impl Into<Operand>) -> Vreg {
        let dst = self.vreg();
        self.push(block, Op::Bin { dst, op, lhs: lhs.into(), rhs: rhs.into() });
        dst
    }

    /// Ends `block` with a look-up of entry 0; what follows goes into the block given, with the address.
    fn look_up(&mut self, block: BlockId, map: MapIdx, key: SlotId, none: BlockId) -> (BlockId, Vreg) {
        let (at, map_ptr, found, next) = (self.vreg(), self.vreg(), self.vreg(), self.block());
        self.push(block, Op::SlotAddr { dst: at, slot: key });
        self.push(block, Op::Store { addr: at.at(0), size: Size::B4, src: Operand::Imm(0) });
        self.push(block, Op::MapPtr { dst: map_ptr, map });
        let args = vec![map_ptr.into(), at.into()];
        self.push(block, Op::Call { dst: Some(found), helper: helper::MAP_LOOKUP_ELEM, args, pure: false });
        self.unless(block, Cond::Eq, found, Operand::Imm(0), none, next);
        (next, found)
    }

    fn unless(&mut self, block: BlockId, cond: Cond, lhs: Vreg, rhs: Operand, then: BlockId, els: BlockId) {
        self.function.blocks[block.0 as usize].term =
            Terminator::Branch { cond, lhs: lhs.into(), rhs, then, els, unlikely: true };
    }

    /// Puts the claim before an instruction and gives the address of the level.
    fn insert(&mut self, block: BlockId, at: usize, preemptible: bool) -> (Vreg, Option<Held>) {
        let rest = self.function.blocks[block.0 as usize].insts.split_off(at);
        let term = self.function.blocks[block.0 as usize].term.clone();
        let term_span = self.function.blocks[block.0 as usize].term_span;
        self.span = rest.first().map_or(term_span, |inst| inst.span);
        self.function.slots.push(Slot { size: 4, align: 4, stack_only: true, name: "scratch key".into() });
        let key = SlotId(self.function.slots.len() as u32 - 1);
        let none = self.block();
        let (mut next, found) = self.look_up(block, self.value.map, key, none);
        let (mut base, mut held) = (found, None);
        if preemptible {
            let busy = self.busy(key, none);
            (next, base, held) = self.claim_level(next, found, busy);
        }
        let next = &mut self.function.blocks[next.0 as usize];
        next.insts.extend(rest);
        (next.term, next.term_span) = (term, term_span);
        (base, held)
    }

    fn claim_level(&mut self, block: BlockId, found: Vreg, busy: BlockId) -> (BlockId, Vreg, Option<Held>) {
        let used = self.vreg();
        self.push(block, Op::Load { dst: used, addr: found.at(self.mask), size: Size::B8, signed: false });
        let unused = self.bin(block, BinOp::Xor, used, -1);
        let free = self.bin(block, BinOp::And, unused, (1 << self.value.levels) - 1);
        let take = self.block();
        self.unless(block, Cond::Eq, free, Operand::Imm(0), busy, take);
        // The lowest free bit. Whoever preempts between the load and the claim may have taken it.
        let negative = self.vreg();
        self.push(take, Op::Neg { dst: negative, src: free.into() });
        let bit = self.bin(take, BinOp::And, free, negative);
        let before = self.vreg();
        let addr = found.at(self.mask);
        let fetch = Some(before);
        self.push(take, Op::Atomic { op: AtomicOp::Or, fetch, addr, size: Size::B8, src: bit.into() });
        let taken = self.block();
        self.unless(take, Cond::Set, before, bit.into(), busy, taken);
        // 1, 2, 4, 8 to 0, 1, 2, 3 without a branch, so that the verifier need not look at each level by itself.
        let half = self.bin(taken, BinOp::Lshr, bit, 1);
        let eighth = self.bin(taken, BinOp::Lshr, bit, 3);
        let level = self.bin(taken, BinOp::Sub, half, eighth);
        let level = self.bin(taken, BinOp::And, level, i64::from(self.value.levels) - 1);
        let distance = self.bin(taken, BinOp::Mul, level, i64::from(self.area));
        let base = self.bin(taken, BinOp::Add, found, distance);
        (taken, base, Some(Held { value: found, bit, from: taken }))
    }

    /// Counts a run that is given up.
    fn busy(&mut self, key: SlotId, none: BlockId) -> BlockId {
        let Some((map, off)) = self.value.busy else { return none };
        let block = self.block();
        let (next, found) = self.look_up(block, map, key, none);
        let addr = found.at(off as i32);
        self.push(
            next,
            Op::Atomic { op: AtomicOp::Add, fetch: None, addr, size: Size::B8, src: Operand::Imm(1) },
        );
        block
    }

    /// Gives the level back on each way out.
    fn give_back(&mut self, claimed: BlockId, held: Held) {
        let flow = Flow::new(self.function);
        debug_assert!(flow.dominates(claimed, held.from));
        for index in 0..self.function.blocks.len() {
            let block = BlockId(index as u32);
            let returns = matches!(self.function.blocks[index].term, Terminator::Return(_));
            if returns && flow.dominates(held.from, block) {
                self.span = self.function.blocks[index].term_span;
                let others = self.bin(block, BinOp::Xor, held.bit, -1);
                let addr = held.value.at(self.mask);
                let op = AtomicOp::And;
                self.push(block, Op::Atomic { op, fetch: None, addr, size: Size::B8, src: others.into() });
            }
        }
    }
}

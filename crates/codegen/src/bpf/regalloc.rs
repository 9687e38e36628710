//! Gives every virtual register a machine register, or a place on the stack.
//!
//! Copies are joined where their ranges allow it, then groups of joined registers choose a machine register in the order of
//! their worth, first one they are copied from or to. Ranges have holes, and machine registers that calls and arguments take are ranges
//! like others. What finds no register is first parted again, then made anew where it is used if it is a constant, else
//! spilled; then all starts over.

use std::collections::{BTreeMap, HashMap, HashSet};

use super::live::{Ranges, ranges};
use super::mir::{Base, MFunction, MInst, MOp, Reg, Role, Src};
use super::spill;
use crate::ir::{Cond, Size};

/// Registers that calls leave alone are the last choice, and r0 to r2, which arguments and results want, come late.
const CHOICE: [u32; 10] = [3, 4, 5, 0, 2, 1, 6, 7, 8, 9];

/// What it counts that a register's bounds are checked, in reads.
const BOUND: f32 = 4.0;

/// An allocation that does not come to an end is a mistake here; it is reported rather than looped on.
const ROUNDS: u32 = 200;

/// No allocation was found.
#[derive(Debug)]
pub(super) struct Stuck;

pub(super) fn allocate(function: &mut MFunction) -> Result<(), Stuck> {
    let mut state = State { parted: function.apart.iter().copied().collect(), ..State::default() };
    for _ in 0..ROUNDS {
        let round = Round::new(function, &state);
        match round.assign(function, &state) {
            Outcome::Done(assigned) => {
                rewrite(function, &assigned);
                spill::share_places(function);
                return Ok(());
            }
            Outcome::Part(groups) => state.parted.extend(groups),
            Outcome::Spill(regs) => spill_all(function, &regs, &mut state),
        }
    }
    Err(Stuck)
}

/// What is kept between rounds.
#[derive(Default)]
struct State {
    /// Registers that are no longer joined with others.
    parted: HashSet<Reg>,
    /// Registers that spilling made; they cannot be spilled again.
    fixed: HashSet<Reg>,
}

enum Outcome {
    Done(HashMap<Reg, Reg>),
    Part(Vec<Reg>),
    Spill(Vec<Reg>),
}

struct Group {
    members: Vec<Reg>,
    ranges: Ranges,
    /// How much its reads and writes count.
    worth: f32,
    /// Machine registers it is copied from or to.
    hints: BTreeMap<u32, f32>,
    constant: bool,
    fixed: bool,
}

impl Group {
    /// The cost of not having a register, for the room it takes.
    fn priority(&self) -> f32 {
        if self.fixed {
            return f32::INFINITY;
        }
        let worth = if self.constant { self.worth * 0.3 } else { self.worth };
        worth / (self.ranges.size() as f32 + 4.0)
    }
}

struct Round {
    groups: Vec<Group>,
    /// What machine registers are taken for by name.
    machine: Vec<Ranges>,
    /// The context's register, if it has to survive calls.
    context: Option<Reg>,
}

/// A copy between virtual registers.
struct Join {
    to: Reg,
    from: Reg,
    weight: f32,
}

impl Round {
    fn new(function: &MFunction, state: &State) -> Self {
        let ranges = ranges(function);
        let count = function.regs as usize;
        let mut worth = vec![0f32; count];
        let mut hints: Vec<BTreeMap<u32, f32>> = vec![BTreeMap::new(); count];
        let mut joins = Vec::new();
        let mut writes = vec![0u32; count];
        let mut constant = vec![false; count];
        for block in &function.blocks {
            for inst in &block.insts {
                inst.op.for_each_reg(|reg, role| {
                    worth[reg.index()] += block.weight;
                    if role != Role::Use {
                        writes[reg.index()] += 1;
                        constant[reg.index()] = inst.op.is_constant();
                    }
                });
                // Older kernels forget what a comparison says of a spilled number.
                if let MOp::Branch { cond, lhs, .. } = inst.op
                    && !matches!(cond, Cond::Eq | Cond::Ne)
                {
                    worth[lhs.index()] += block.weight * BOUND;
                }
                if let MOp::Mov { dst, src: Src::Reg(src) } = inst.op {
                    match (dst.is_machine(), src.is_machine()) {
                        (false, false) => joins.push(Join { to: dst, from: src, weight: block.weight }),
                        (true, false) => *hints[src.index()].entry(dst.0).or_default() += block.weight,
                        (false, true) => *hints[dst.index()].entry(src.0).or_default() += block.weight,
                        (true, true) => {}
                    }
                }
            }
        }
        joins.sort_by(|a, b| b.weight.total_cmp(&a.weight));
        let mut sets = Sets { up: (0..count as u32).collect(), ranges };
        for join in joins {
            if !state.parted.contains(&join.to) && !state.parted.contains(&join.from) {
                sets.join(join.to, join.from);
            }
        }
        let context = first_param(function).map(|reg| sets.find(reg));
        let mut groups: HashMap<Reg, Group> = HashMap::new();
        for index in Reg::virt(0).0..function.regs {
            let reg = Reg(index);
            let root = sets.find(reg);
            if sets.ranges[root.index()].0.is_empty() {
                continue;
            }
            let group = groups.entry(root).or_insert_with(|| Group {
                members: Vec::new(),
                ranges: sets.ranges[root.index()].clone(),
                worth: 0.0,
                hints: BTreeMap::new(),
                constant: true,
                fixed: false,
            });
            group.members.push(reg);
            group.worth += worth[index as usize];
            group.constant &= writes[index as usize] == 1 && constant[index as usize];
            group.fixed |= state.fixed.contains(&reg);
            for (&hint, &weight) in &hints[index as usize] {
                *group.hints.entry(hint).or_default() += weight;
            }
        }
        let machine = sets.ranges[..Reg::virt(0).index()].to_vec();
        let context = context.filter(|root| {
            groups.get(root).is_some_and(|g| (0..6).all(|reg| machine[reg].overlaps(&g.ranges)))
        });
        let mut groups: Vec<(Reg, Group)> = groups.into_iter().collect();
        groups.sort_by(|(a, x), (b, y)| y.priority().total_cmp(&x.priority()).then(a.cmp(b)));
        Self { groups: groups.into_iter().map(|(_, group)| group).collect(), machine, context }
    }

    fn assign(self, function: &MFunction, state: &State) -> Outcome {
        let mut taken: Vec<Taken> = self.machine.iter().map(Taken::new).collect();
        let mut assigned = HashMap::new();
        let (mut part, mut spilled) = (Vec::new(), Vec::new());
        for group in &self.groups {
            let is_context = self.context.is_some_and(|reg| group.members.contains(&reg));
            let mut wanted: Vec<(u32, f32)> = group.hints.iter().map(|(&r, &w)| (r, w)).collect();
            wanted.sort_by(|a, b| b.1.total_cmp(&a.1));
            let r6_last = self.context.is_some() && !is_context;
            let rest = CHOICE.iter().copied().filter(|&reg| !(r6_last && reg == 6));
            let choice = wanted.iter().map(|(reg, _)| *reg).chain(rest).chain(r6_last.then_some(6));
            match choice.into_iter().find(|&reg| taken[reg as usize].is_free(&group.ranges)) {
                Some(reg) => {
                    taken[reg as usize].take(&group.ranges);
                    group.members.iter().for_each(|&member| {
                        assigned.insert(member, Reg(reg));
                    });
                }
                None if group.members.len() > 1 => part.extend(&group.members),
                None => spilled.extend(&group.members),
            }
        }
        debug_assert!(spilled.iter().all(|reg| !state.fixed.contains(reg)), "{function:?}");
        match (part.is_empty(), spilled.is_empty()) {
            (true, true) => Outcome::Done(assigned),
            (false, _) => Outcome::Part(part),
            (true, false) => Outcome::Spill(spilled),
        }
    }
}

/// The virtual register that the context or first argument is kept in.
fn first_param(function: &MFunction) -> Option<Reg> {
    if let Some(&reg) = function.apart.last() {
        return Some(reg);
    }
    match function.blocks.first()?.insts.first()?.op {
        MOp::Mov { dst, src: Src::Reg(src) } if src == Reg::arg(0) && !dst.is_machine() => Some(dst),
        _ => None,
    }
}

/// Joined registers.
struct Sets {
    up: Vec<u32>,
    /// Ranges of each set, at its root.
    ranges: Vec<Ranges>,
}

impl Sets {
    fn find(&mut self, reg: Reg) -> Reg {
        let mut at = reg.0;
        while self.up[at as usize] != at {
            self.up[at as usize] = self.up[self.up[at as usize] as usize];
            at = self.up[at as usize];
        }
        Reg(at)
    }

    fn join(&mut self, a: Reg, b: Reg) {
        let (a, b) = (self.find(a), self.find(b));
        if a == b || self.ranges[a.index()].overlaps(&self.ranges[b.index()]) {
            return;
        }
        let from = std::mem::take(&mut self.ranges[b.index()]);
        self.ranges[a.index()].merge(&from);
        self.up[b.index()] = a.0;
    }
}

/// What a machine register is taken for, searchable by position.
struct Taken(BTreeMap<u32, u32>);

impl Taken {
    fn new(ranges: &Ranges) -> Self {
        Self(ranges.0.iter().copied().collect())
    }

    fn is_free(&self, ranges: &Ranges) -> bool {
        ranges.0.iter().all(|&(start, end)| {
            // The last range that starts before this one ends.
            self.0.range(..end).next_back().is_none_or(|(_, &taken_end)| taken_end <= start)
        })
    }

    fn take(&mut self, ranges: &Ranges) {
        self.0.extend(ranges.0.iter().copied());
    }
}

fn rewrite(function: &mut MFunction, assigned: &HashMap<Reg, Reg>) {
    for block in &mut function.blocks {
        for inst in &mut block.insts {
            inst.op.for_each_reg_mut(|reg, _| {
                if let Some(&machine) = assigned.get(reg) {
                    *reg = machine;
                }
            });
        }
        block.insts.retain(|inst| !matches!(inst.op, MOp::Mov { dst, src: Src::Reg(src) } if dst == src));
    }
}

/// Rewrites the code so that these registers are in memory, or made anew.
fn spill_all(function: &mut MFunction, regs: &[Reg], state: &mut State) {
    let mut constants: HashMap<Reg, Option<MOp>> = HashMap::new();
    let spilled: HashSet<Reg> = regs.iter().copied().collect();
    for inst in function.blocks.iter().flat_map(|block| &block.insts) {
        inst.op.for_each_reg(|reg, role| {
            if role != Role::Use && spilled.contains(&reg) {
                let op = inst.op.is_constant().then(|| inst.op.clone());
                constants.entry(reg).and_modify(|known| *known = None).or_insert(op);
            }
        });
    }
    let mut homes: HashMap<Reg, Home> = HashMap::new();
    for &reg in regs {
        let home = match constants.remove(&reg).flatten() {
            Some(op) => Home::Constant(op),
            None => {
                function.spills += 1;
                Home::Place(function.spills - 1)
            }
        };
        homes.insert(reg, home);
    }
    for index in 0..function.blocks.len() {
        let insts = std::mem::take(&mut function.blocks[index].insts);
        let mut out = Vec::with_capacity(insts.len() * 2);
        for inst in insts {
            spill_inst(function, inst, &homes, state, &mut out);
        }
        function.blocks[index].insts = out;
    }
}

/// Where a register without a machine register lives.
enum Home {
    Constant(MOp),
    Place(u32),
}

impl Home {
    /// Brings the value into a register.
    fn fetch(&self, dst: Reg) -> MOp {
        match self {
            Self::Constant(op) => {
                let mut op = op.clone();
                op.for_each_reg_mut(|reg, _| *reg = dst);
                op
            }
            Self::Place(place) => MOp::Load { dst, base: Base::Spill(*place), off: 0, size: Size::B8 },
        }
    }

    /// Puts the value away.
    fn keep(&self, src: Reg) -> Option<MOp> {
        match self {
            Self::Constant(_) => None,
            Self::Place(place) => {
                Some(MOp::Store { base: Base::Spill(*place), off: 0, size: Size::B8, src: Src::Reg(src) })
            }
        }
    }
}

fn spill_inst(
    function: &mut MFunction,
    mut inst: MInst,
    homes: &HashMap<Reg, Home>,
    state: &mut State,
    out: &mut Vec<MInst>,
) {
    let span = inst.span;
    let mut push = |op: Option<MOp>| out.extend(op.map(|op| MInst { op, span }));
    if let MOp::Mov { dst, src: Src::Reg(src) } = inst.op {
        match (homes.get(&dst), homes.get(&src)) {
            (None, Some(home)) => return push(Some(home.fetch(dst))),
            (Some(home), None) => return push(home.keep(src)),
            _ => {}
        }
    }
    let mut temps: Vec<(Reg, Reg)> = Vec::new();
    let (mut before, mut after) = (Vec::new(), Vec::new());
    inst.op.for_each_reg_mut(|reg, role| {
        let Some(home) = homes.get(reg) else { return };
        let known = temps.iter().find(|(old, _)| old == reg).map(|(_, temp)| *temp);
        let temp = known.unwrap_or_else(|| {
            let temp = function.new_reg();
            state.fixed.insert(temp);
            temps.push((*reg, temp));
            temp
        });
        if role != Role::Def && known.is_none() {
            before.push(home.fetch(temp));
        }
        if role != Role::Use {
            after.extend(home.keep(temp));
        }
        *reg = temp;
    });
    let dropped = inst.op.is_constant() && !temps.is_empty() && after.is_empty();
    before.into_iter().for_each(|op| push(Some(op)));
    push((!dropped).then_some(inst.op));
    after.into_iter().for_each(|op| push(Some(op)));
}

//! A handful of BPF instructions, and programs made of them.

use strix_model::{Insn, MapIdx, MapRef, MapRefKind};

/// Code under construction.
#[derive(Default)]
pub struct Asm {
    pub insns: Vec<Insn>,
    pub map_refs: Vec<MapRef>,
    /// Jumps whose target is the end.
    to_exit: Vec<usize>,
}

/// Maps of every plan here.
pub const RING: MapIdx = MapIdx(0);
pub const CONTROL: MapIdx = MapIdx(1);
pub const COUNTERS: MapIdx = MapIdx(2);
pub const COUNT: MapIdx = MapIdx(3);

impl Asm {
    pub fn op(mut self, code: u8, dst: u8, src: u8, off: i16, imm: i32) -> Self {
        self.insns.push(Insn { code, regs: dst | src << 4, off, imm });
        self
    }

    fn map(mut self, dst: u8, map: MapIdx, kind: MapRefKind) -> Self {
        self.map_refs.push(MapRef { insn: self.insns.len() as u32, map, kind });
        self.op(0x18, dst, 0, 0, 0).op(0, 0, 0, 0, 0)
    }

    /// `if reg != imm, end`.
    fn end_unless(mut self, reg: u8, imm: i32) -> Self {
        self.to_exit.push(self.insns.len());
        self.op(0x55, reg, 0, 0, imm)
    }

    /// `if reg == imm, end`.
    fn end_if(mut self, reg: u8, imm: i32) -> Self {
        self.to_exit.push(self.insns.len());
        self.op(0x15, reg, 0, 0, imm)
    }

    /// Goes on in this process only. Keeps r6 to r9.
    pub fn only(self, pid: u32) -> Self {
        self.op(0x85, 0, 0, 0, 14).op(0x77, 0, 0, 0, 32).end_unless(0, pid as i32)
    }

    /// Goes on if the raw `sys_enter` in r1 is of this call. Keeps the context in r6.
    pub fn only_syscall(self, number: i32) -> Self {
        self.op(0xbf, 6, 1, 0, 0).op(0x79, 1, 6, 8, 0).end_unless(1, number)
    }

    /// `@count++`: a per-CPU number with its flag.
    pub fn count(self) -> Self {
        self.entry(COUNT).op(0x79, 1, 0, 0, 0).op(0x07, 1, 0, 0, 1).op(0x7b, 0, 1, 0, 0).op(0x7a, 0, 0, 8, 1)
    }

    /// `@count = cookie`.
    pub fn cookie(self) -> Self {
        self.op(0xbf, 1, 6, 0, 0)
            .op(0x85, 0, 0, 0, 174)
            .op(0xbf, 7, 0, 0, 0)
            .entry(COUNT)
            .op(0x7b, 0, 7, 0, 0)
            .op(0x7a, 0, 0, 8, 1)
    }

    /// r0 = the only value of an array map.
    fn entry(self, map: MapIdx) -> Self {
        self.op(0x62, 10, 0, -4, 0)
            .op(0xbf, 2, 10, 0, 0)
            .op(0x07, 2, 0, 0, -4)
            .map(1, map, MapRefKind::Map)
            .op(0x85, 0, 0, 0, 1)
            .end_if(0, 0)
    }

    /// Sends `{ 0, number }`, waking whoever sleeps.
    pub fn send_number(self, number: i32) -> Self {
        self.map(1, RING, MapRefKind::Map)
            .op(0xb7, 2, 0, 0, 16)
            .op(0xb7, 3, 0, 0, 0)
            .op(0x85, 0, 0, 0, 131)
            .end_if(0, 0)
            .op(0x7a, 0, 0, 0, 0)
            .op(0x7a, 0, 0, 8, number)
            .op(0xbf, 1, 0, 0, 0)
            .op(0xb7, 2, 0, 0, 0)
            .op(0x85, 0, 0, 0, 132)
    }

    /// Sends `{ schema, ktime }`, or counts a dropped record of probe 0.
    pub fn send(self, schema: i32) -> Self {
        let sent = self
            .map(1, RING, MapRefKind::Map)
            .op(0xb7, 2, 0, 0, 16)
            .op(0xb7, 3, 0, 0, 0)
            .op(0x85, 0, 0, 0, 131)
            .op(0xbf, 7, 0, 0, 0)
            // if r7 != 0, skip the 11 slots that count a drop
            .op(0x55, 7, 0, 11, 0);
        sent.entry(COUNTERS)
            .op(0x79, 1, 0, 16, 0)
            .op(0x07, 1, 0, 0, 1)
            .op(0x7b, 0, 1, 16, 0)
            .end_always()
            .op(0x7a, 7, 0, 0, schema)
            .op(0x85, 0, 0, 0, 5)
            .op(0x7b, 7, 0, 8, 0)
            .map(1, CONTROL, MapRefKind::Value { offset: 0 })
            .op(0x79, 3, 1, 0, 0)
            // flags = asleep ? BPF_RB_FORCE_WAKEUP : BPF_RB_NO_WAKEUP
            .op(0xb7, 2, 0, 0, 2)
            .op(0x55, 3, 0, 1, 0)
            .op(0xb7, 2, 0, 0, 1)
            .op(0xbf, 1, 7, 0, 0)
            .op(0x85, 0, 0, 0, 132)
    }

    fn end_always(mut self) -> Self {
        self.to_exit.push(self.insns.len());
        self.op(0x05, 0, 0, 0, 0)
    }

    /// Ends the program.
    pub fn end(mut self) -> Self {
        let exit = self.insns.len();
        for at in std::mem::take(&mut self.to_exit) {
            self.insns[at].off = (exit - at - 1) as i16;
        }
        self.op(0xb7, 0, 0, 0, 0).op(0x95, 0, 0, 0, 0)
    }
}

//! The plan's maps, record schemas and constants, made on demand while programs are lowered.

use strix_facts::KernelFacts;
use strix_model::{
    Action, AttachPoint, COUNTERS, EnumDef, EventSchema, MapIdx, MapKind, MapRole, MapSpec, Period,
    STACK_STORE_KEY_SIZE, Shape, Span, UserMap,
};

use super::shape::{self, EnumTable};
use crate::hir::{MapId, Typed};
use crate::types::Type;

/// Stacks that a session can tell apart.
const MAX_STACKS: u32 = 16_384;
/// A ring of this many bytes a CPU, within the borders below, unless configured.
const RING_BYTES_PER_CPU: u64 = 1 << 20;
const RING_MIN: u64 = 4 << 20;
const RING_MAX: u64 = 16 << 20;
/// Enough where records come from begin, end and timers only: the whole ring counts as memory of the process.
const RING_FOR_TIMERS: u64 = 256 << 10;
/// Above this estimate a keyed map allocates its entries when they are used.
const PREALLOC_LIMIT: u64 = 8 << 20;

/// The plan's parts that lowering makes; see [`strix_model::Plan`].
#[derive(Clone, Debug)]
pub struct PlanParts {
    /// Maps with their roles. Scratch maps are not among them: their size is known after code generation.
    pub maps: Vec<(MapSpec, MapRole)>,
    /// The script's maps, by name.
    pub user_maps: Vec<UserMap>,
    /// Record schemas.
    pub events: Vec<EventSchema>,
    /// Enums that shapes name.
    pub enums: Vec<EnumDef>,
}

/// Makes [`PlanParts`].
pub(super) struct PlanBuilder<'a> {
    typed: &'a Typed,
    cpus: u64,
    maps: Vec<(MapSpec, MapRole)>,
    user_maps: Vec<UserMap>,
    /// By [`MapId`]: index into `user_maps`.
    user_index: Vec<u32>,
    /// By [`MapId`]: some probe deletes from it.
    deletes: Vec<bool>,
    events: Vec<EventSchema>,
    pub(super) enums: EnumTable<'a>,
    rodata: Vec<u8>,
    /// Where each constant of the rodata starts.
    constants: Vec<(Vec<u8>, u32)>,
    /// The largest stack any probe takes, in frames.
    stack_limit: u32,
}

impl<'a> PlanBuilder<'a> {
    pub(super) fn new(typed: &'a Typed, facts: &'a KernelFacts, cpus: u32) -> Self {
        let mut builder = Self {
            typed,
            cpus: u64::from(cpus.max(1)),
            maps: Vec::new(),
            user_maps: Vec::new(),
            user_index: vec![0; typed.hir.maps.len()],
            deletes: deleted_maps(typed),
            events: Vec::new(),
            enums: EnumTable::new(facts),
            rodata: Vec::new(),
            constants: Vec::new(),
            stack_limit: largest_stack(typed),
        };
        let mut order: Vec<usize> = (0..typed.hir.maps.len()).collect();
        order.sort_by(|a, b| typed.hir.maps[*a].name.cmp(&typed.hir.maps[*b].name));
        for id in order {
            builder.user_index[id] = builder.user_maps.len() as u32;
            builder.add_user_map(MapId(id as u32));
        }
        builder
    }

    fn add_user_map(&mut self, id: MapId) {
        let def = &self.typed.hir.maps[id.0 as usize];
        let ty = &self.typed.maps[id.0 as usize];
        let key = shape::shape_of(&self.typed.hir.types, &mut self.enums, &ty.key);
        let value = shape::map_value_of(&self.typed.hir.types, &mut self.enums, &ty.value);
        let aggregate = matches!(ty.value, Type::Aggregate(_));
        let scalar = key == Shape::Unit;
        let kind = match (&def.declared, scalar, aggregate) {
            (Some((kind, _)), _, _) => *kind,
            (None, true, true) => MapKind::PercpuArray,
            (None, true, false) => MapKind::Array,
            (None, false, true) => MapKind::PercpuHash,
            (None, false, false) => MapKind::Hash,
        };
        let entries = match (&def.declared, scalar) {
            (Some((_, entries)), _) => *entries,
            (None, true) => 1,
            (None, false) => self.typed.hir.config.max_map_keys,
        };
        let value_size = value.size().max(8) + if scalar { 8 } else { 0 };
        let per_entry =
            u64::from(value_size) * if kind.is_percpu() { self.cpus } else { 1 } + u64::from(key.size());
        let spec = MapSpec {
            name: kernel_name(&def.name),
            kind,
            key_size: if scalar { 4 } else { key.size() },
            value_size,
            max_entries: entries,
            no_prealloc: !scalar
                && matches!(kind, MapKind::Hash | MapKind::PercpuHash)
                && per_entry * u64::from(entries) > PREALLOC_LIMIT,
            mmapable: false,
            init: Vec::new(),
            read_only: false,
        };
        let map = self.push(spec, MapRole::User);
        self.user_maps.push(UserMap { name: def.name.clone(), map, key, value, span: def.span });
    }

    fn push(&mut self, spec: MapSpec, role: MapRole) -> MapIdx {
        self.maps.push((spec, role));
        MapIdx(self.maps.len() as u32 - 1)
    }

    fn once(&mut self, role: MapRole, spec: impl FnOnce(&Self) -> MapSpec) -> MapIdx {
        match self.maps.iter().position(|(_, r)| *r == role) {
            Some(index) => MapIdx(index as u32),
            None => {
                let spec = spec(self);
                self.push(spec, role)
            }
        }
    }

    /// The script's map, as user space knows it.
    pub(super) fn user_map(&self, id: MapId) -> (&UserMap, u32) {
        let index = self.user_index[id.0 as usize];
        (&self.user_maps[index as usize], index)
    }

    /// Whether entries of the map come and go, so that a store seldom finds its key there.
    pub(super) fn has_deletes(&self, id: MapId) -> bool {
        self.deletes[id.0 as usize]
    }

    /// The ring.
    pub(super) fn ring(&mut self) -> MapIdx {
        self.control();
        self.once(MapRole::Ring, |b| {
            let pages = u64::from(b.typed.hir.config.ring_pages);
            let bytes = if pages > 0 {
                (pages * 4096).next_power_of_two().clamp(4096, 1 << 30)
            } else if b.only_timers_send() {
                RING_FOR_TIMERS
            } else {
                (RING_BYTES_PER_CPU * b.cpus).next_power_of_two().clamp(RING_MIN, RING_MAX)
            };
            MapSpec { max_entries: bytes as u32, ..internal("strix_ring", MapKind::Ringbuf, 0, 0) }
        })
    }

    /// Whether nothing but begin, end and interval probes can send records.
    fn only_timers_send(&self) -> bool {
        self.typed.hir.instances.iter().flat_map(|i| &i.sites).all(|site| {
            matches!(
                site.point,
                AttachPoint::Begin | AttachPoint::End | AttachPoint::Interval(Period::Nanos(1_000_000..))
            )
        })
    }

    /// The reader's asleep flag.
    pub(super) fn control(&mut self) -> MapIdx {
        self.once(MapRole::Control, |_| MapSpec {
            mmapable: true,
            ..internal("strix_control", MapKind::Array, 4, 8)
        })
    }

    /// The counters.
    pub(super) fn counters(&mut self) -> MapIdx {
        self.once(MapRole::Counters, |b| {
            let size = b.typed.hir.probes.len() as u32 * COUNTERS * 8;
            internal("strix_counters", MapKind::PercpuArray, 4, size)
        })
    }

    /// The stack store.
    pub(super) fn stacks(&mut self) -> MapIdx {
        self.once(MapRole::Stacks, |b| MapSpec {
            max_entries: MAX_STACKS,
            no_prealloc: true,
            ..internal("strix_stacks", MapKind::Hash, STACK_STORE_KEY_SIZE, b.stack_bytes())
        })
    }

    /// Bytes of a value of the stack store.
    pub(super) fn stack_bytes(&self) -> u32 {
        8 + self.stack_limit * 8
    }

    /// A constant in read-only memory: the map and the offset of a copy of `bytes`, aligned to 8.
    pub(super) fn constant(&mut self, bytes: &[u8]) -> (MapIdx, u32) {
        let map = self.once(MapRole::Rodata, |_| MapSpec {
            read_only: true,
            ..internal("strix_rodata", MapKind::Array, 4, 0)
        });
        if let Some((_, offset)) = self.constants.iter().find(|(b, _)| b == bytes) {
            return (map, *offset);
        }
        let offset = self.rodata.len().next_multiple_of(8);
        self.rodata.resize(offset, 0);
        self.rodata.extend_from_slice(bytes);
        self.constants.push((bytes.to_vec(), offset as u32));
        (map, offset as u32)
    }

    /// Adds a schema and gives its number.
    pub(super) fn event(&mut self, action: Action, size: u32, span: Span, probe: u32) -> u32 {
        self.events.push(EventSchema { action, size, span, probe });
        self.events.len() as u32 - 1
    }

    pub(super) fn finish(mut self) -> PlanParts {
        if let Some((spec, _)) = self.maps.iter_mut().find(|(_, role)| *role == MapRole::Rodata) {
            self.rodata.resize(self.rodata.len().next_multiple_of(8), 0);
            spec.value_size = self.rodata.len() as u32;
            spec.init = self.rodata;
        }
        PlanParts {
            maps: self.maps,
            user_maps: self.user_maps,
            events: self.events,
            enums: self.enums.finish(),
        }
    }
}

fn internal(name: &str, kind: MapKind, key_size: u32, value_size: u32) -> MapSpec {
    MapSpec {
        name: name.into(),
        kind,
        key_size,
        value_size,
        max_entries: 1,
        no_prealloc: false,
        mmapable: false,
        init: Vec::new(),
        read_only: false,
    }
}

/// `@x` → `AT_x`, cut to what the kernel takes.
fn kernel_name(name: &str) -> String {
    let mut kernel = String::from("AT_");
    kernel.extend(name.chars().skip(1).filter(char::is_ascii).take(12));
    kernel
}

fn deleted_maps(typed: &Typed) -> Vec<bool> {
    let mut deletes = vec![false; typed.hir.maps.len()];
    for instance in &typed.hir.instances {
        super::function::walk(instance, &mut |_| {}, &mut |expr| {
            if let Some(map) = super::maps::deleted_map(expr) {
                deletes[map.0 as usize] = true;
            }
        });
    }
    deletes
}

fn largest_stack(typed: &Typed) -> u32 {
    fn limit(ty: &Type) -> u32 {
        match ty {
            Type::KernelStack { limit, .. } | Type::UserStack { limit, .. } => u32::from(*limit),
            Type::Tuple(items) => items.iter().map(limit).max().unwrap_or(0),
            _ => 0,
        }
    }
    typed.exprs.iter().map(limit).max().unwrap_or(0).max(1)
}

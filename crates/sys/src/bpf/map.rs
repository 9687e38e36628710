//! Maps: creation and access by bytes.

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};

use aya_obj::generated::{self as uapi, bpf_cmd, bpf_map_type};
use strix_model::{MapKind, MapSpec};

use super::{abi, address, address_mut, call, call_for_fd, failed, object_name};
use crate::{Entries, Map, Result, SysError};

fn type_of(kind: MapKind) -> bpf_map_type {
    match kind {
        MapKind::Hash => bpf_map_type::BPF_MAP_TYPE_HASH,
        MapKind::PercpuHash => bpf_map_type::BPF_MAP_TYPE_PERCPU_HASH,
        MapKind::LruHash => bpf_map_type::BPF_MAP_TYPE_LRU_HASH,
        MapKind::LruPercpuHash => bpf_map_type::BPF_MAP_TYPE_LRU_PERCPU_HASH,
        MapKind::Array => bpf_map_type::BPF_MAP_TYPE_ARRAY,
        MapKind::PercpuArray => bpf_map_type::BPF_MAP_TYPE_PERCPU_ARRAY,
        MapKind::Ringbuf => bpf_map_type::BPF_MAP_TYPE_RINGBUF,
    }
}

pub(crate) fn map_create(spec: &MapSpec, possible_cpus: u32) -> Result<Map> {
    const OP: &str = "bpf(BPF_MAP_CREATE)";
    let mut attr = abi::MapCreate {
        map_type: type_of(spec.kind) as u32,
        key_size: spec.key_size,
        value_size: spec.value_size,
        max_entries: spec.max_entries,
        map_name: object_name(&spec.name),
        ..Default::default()
    };
    for (wanted, flag) in [
        (spec.no_prealloc, uapi::BPF_F_NO_PREALLOC),
        (spec.mmapable, uapi::BPF_F_MMAPABLE),
        (spec.read_only, uapi::BPF_F_RDONLY_PROG),
    ] {
        attr.map_flags |= if wanted { flag } else { 0 };
    }
    // SAFETY: the attributes of BPF_MAP_CREATE hold no addresses, and its result is a descriptor.
    let fd = unsafe { call_for_fd(bpf_cmd::BPF_MAP_CREATE, &mut attr) }.map_err(failed(OP, &spec.name))?;
    let map = Map::new(fd, spec.clone(), possible_cpus);
    if !spec.init.is_empty() {
        let mut value = spec.init.clone();
        value.resize(map.value_bytes(), 0);
        map_update(&map, &0u32.to_ne_bytes(), &value)?;
    }
    if spec.read_only {
        let mut attr = abi::MapElem { map_fd: raw(map.as_fd()), ..Default::default() };
        // SAFETY: BPF_MAP_FREEZE reads nothing but the descriptor.
        unsafe { call(bpf_cmd::BPF_MAP_FREEZE, &mut attr) }
            .map_err(failed("bpf(BPF_MAP_FREEZE)", &spec.name))?;
    }
    Ok(map)
}

pub(crate) fn map_lookup(map: &Map, key: &[u8]) -> Result<Option<Vec<u8>>> {
    const OP: &str = "bpf(BPF_MAP_LOOKUP_ELEM)";
    check(OP, map, key, None)?;
    let mut value = vec![0; map.value_bytes()];
    let mut attr = abi::MapElem {
        map_fd: raw(map.as_fd()),
        key: address(key),
        value: address_mut(&mut value),
        ..Default::default()
    };
    // SAFETY: `key` has the map's key size (checked) and `value` the size of a whole value of this map.
    match unsafe { call(bpf_cmd::BPF_MAP_LOOKUP_ELEM, &mut attr) } {
        Ok(_) => Ok(Some(value)),
        Err(error) if error.raw_os_error() == Some(libc::ENOENT) => Ok(None),
        Err(error) => Err(SysError::new(OP, &map.spec().name, error)),
    }
}

pub(crate) fn map_update(map: &Map, key: &[u8], value: &[u8]) -> Result<()> {
    const OP: &str = "bpf(BPF_MAP_UPDATE_ELEM)";
    check(OP, map, key, Some(value))?;
    let mut attr = abi::MapElem {
        map_fd: raw(map.as_fd()),
        key: address(key),
        value: address(value),
        ..Default::default()
    };
    // SAFETY: both have the sizes of the map's key and whole value (checked), and are only read.
    unsafe { call(bpf_cmd::BPF_MAP_UPDATE_ELEM, &mut attr) }.map_err(failed(OP, &map.spec().name))?;
    Ok(())
}

pub(crate) fn map_delete(map: &Map, key: &[u8]) -> Result<bool> {
    const OP: &str = "bpf(BPF_MAP_DELETE_ELEM)";
    check(OP, map, key, None)?;
    let mut attr = abi::MapElem { map_fd: raw(map.as_fd()), key: address(key), ..Default::default() };
    // SAFETY: `key` has the map's key size (checked) and is only read.
    match unsafe { call(bpf_cmd::BPF_MAP_DELETE_ELEM, &mut attr) } {
        Ok(_) => Ok(true),
        Err(error) if error.raw_os_error() == Some(libc::ENOENT) => Ok(false),
        Err(error) => Err(SysError::new(OP, &map.spec().name, error)),
    }
}

pub(crate) fn map_entries(map: &Map) -> Result<Entries> {
    match map.spec().kind {
        MapKind::Ringbuf => Ok(Entries::of(map)),
        MapKind::Array | MapKind::PercpuArray => by_index(map),
        _ => match by_batches(map) {
            // Unknown command or map type: kernels before 5.6, or a type without batches.
            Err(error) if error.kind() == crate::Kind::Unsupported => by_next_key(map),
            other => other,
        },
    }
}

fn by_index(map: &Map) -> Result<Entries> {
    let mut entries = Entries::of(map);
    for index in 0..map.spec().max_entries {
        let key = index.to_ne_bytes();
        if let Some(value) = map_lookup(map, &key)? {
            entries.push(&key, &value);
        }
    }
    Ok(entries)
}

/// Most bytes of values that one batch asks for.
const BATCH_BYTES: usize = 4 << 20;

fn by_batches(map: &Map) -> Result<Entries> {
    const OP: &str = "bpf(BPF_MAP_LOOKUP_BATCH)";
    let mut entries = Entries::of(map);
    let entry_bytes = entries.key_size + entries.value_size;
    let mut room = (BATCH_BYTES / entry_bytes.max(1)).clamp(16, map.spec().max_entries.max(16) as usize);
    // The position in the map: a bucket number for hashes.
    let mut position = [0u64; 8];
    let mut started = false;
    let mut keys = Vec::new();
    let mut values = Vec::new();
    loop {
        keys.resize(room * entries.key_size, 0);
        values.resize(room * entries.value_size, 0);
        let mut next = [0u64; 8];
        let mut attr = abi::MapBatch {
            in_batch: if started { address(&position) } else { 0 },
            out_batch: address_mut(&mut next),
            keys: address_mut(&mut keys),
            values: address_mut(&mut values),
            count: room as u32,
            map_fd: raw(map.as_fd()),
            ..Default::default()
        };
        // SAFETY: there is room for `count` keys and whole values, and a position is at most a key (hashes: 4 bytes).
        let result = unsafe { call(bpf_cmd::BPF_MAP_LOOKUP_BATCH, &mut attr) };
        let errno = result.as_ref().err().and_then(io::Error::raw_os_error);
        match errno {
            // A bucket holds more than we have room for; nothing was skipped.
            Some(libc::ENOSPC) if room < map.spec().max_entries.max(1 << 16) as usize => {
                room *= 2;
                continue;
            }
            None | Some(libc::ENOENT) => {}
            _ => {
                let error = result.err().unwrap_or_else(|| io::Error::from_raw_os_error(libc::EINVAL));
                return Err(SysError::new(OP, &map.spec().name, error));
            }
        }
        let count = (attr.count as usize).min(room);
        entries.keys.extend_from_slice(&keys[..count * entries.key_size]);
        entries.values.extend_from_slice(&values[..count * entries.value_size]);
        if errno == Some(libc::ENOENT) {
            return Ok(entries);
        }
        position = next;
        started = true;
    }
}

fn by_next_key(map: &Map) -> Result<Entries> {
    const OP: &str = "bpf(BPF_MAP_GET_NEXT_KEY)";
    let mut entries = Entries::of(map);
    let mut seen = std::collections::HashSet::new();
    let mut key: Option<Vec<u8>> = None;
    // The bound holds when keys vanish under us, which makes the kernel start over.
    for _ in 0..u64::from(map.spec().max_entries) * 2 {
        let mut next = vec![0; entries.key_size];
        let mut attr = abi::MapElem {
            map_fd: raw(map.as_fd()),
            key: key.as_deref().map_or(0, address),
            value: address_mut(&mut next),
            ..Default::default()
        };
        // SAFETY: both keys have the map's key size.
        match unsafe { call(bpf_cmd::BPF_MAP_GET_NEXT_KEY, &mut attr) } {
            Ok(_) => {}
            Err(error) if error.raw_os_error() == Some(libc::ENOENT) => break,
            Err(error) => return Err(SysError::new(OP, &map.spec().name, error)),
        }
        if seen.insert(next.clone())
            && let Some(value) = map_lookup(map, &next)?
        {
            entries.push(&next, &value);
        }
        key = Some(next);
    }
    Ok(entries)
}

/// The kernel reads as many bytes as the map says, so slices must have exactly these sizes.
fn check(op: &'static str, map: &Map, key: &[u8], value: Option<&[u8]>) -> Result<()> {
    let fits =
        key.len() == map.spec().key_size as usize && value.is_none_or(|v| v.len() == map.value_bytes());
    if fits {
        return Ok(());
    }
    let error = io::Error::new(io::ErrorKind::InvalidInput, "key or value has another size than the map's");
    Err(SysError::new(op, &map.spec().name, error))
}

fn raw(fd: BorrowedFd<'_>) -> u32 {
    fd.as_raw_fd() as u32
}

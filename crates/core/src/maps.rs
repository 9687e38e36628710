//! Access to the script's maps and to stored stacks while a session lives.

use strix_model::{MapRole, Plan, Shape, UserMap};
use strix_sys::{Kernel, Map};

use crate::Error;
use crate::reduce::{MapCell, reduce, word};

/// An entry of a user map: the key's bytes as the map's shape has them (none for a scalar map), and the value.
#[derive(Clone, Debug, PartialEq)]
pub struct MapEntry {
    /// Key.
    pub key: Vec<u8>,
    /// Value.
    pub value: MapCell,
}

/// The maps of a session.
#[derive(Clone, Copy)]
pub struct MapReader<'a> {
    pub(crate) kernel: &'a dyn Kernel,
    pub(crate) plan: &'a Plan,
    pub(crate) maps: &'a [Map],
}

/// Index of a scalar map's only entry.
const ONLY: [u8; 4] = [0; 4];

impl MapReader<'_> {
    /// Every entry of a user map (index into [`Plan::user_maps`]), in no order. Scalar maps have one entry once something was stored.
    ///
    /// # Errors
    /// When the kernel does not give it.
    pub fn read_map(&self, user_map: u32) -> Result<Vec<MapEntry>, Error> {
        let (user, map) = self.find(user_map)?;
        if is_scalar(user) {
            return Ok(self
                .entry(user_map, &[])?
                .map(|value| MapEntry { key: Vec::new(), value })
                .into_iter()
                .collect());
        }
        let entries = self.kernel.map_entries(map).map_err(Error::Read)?;
        let stride = stride(map);
        let read = |(key, value): (&[u8], &[u8])| {
            Some(MapEntry { key: key.to_vec(), value: reduce(&user.value, value, stride, false)? })
        };
        Ok(entries.iter().filter_map(read).collect())
    }

    /// One entry of a user map; the key is empty for scalar maps.
    ///
    /// # Errors
    /// When the kernel does not give it.
    pub fn entry(&self, user_map: u32, key: &[u8]) -> Result<Option<MapCell>, Error> {
        let (user, map) = self.find(user_map)?;
        let scalar = is_scalar(user);
        let value = self.kernel.map_lookup(map, if scalar { &ONLY } else { key }).map_err(Error::Read)?;
        Ok(value.and_then(|bytes| reduce(&user.value, &bytes, stride(map), scalar)))
    }

    /// A stored stack by its id, leaf first.
    ///
    /// # Errors
    /// When the kernel does not give it.
    pub fn stack(&self, id: u64) -> Result<Option<Vec<u64>>, Error> {
        let Some(map) = self.plan.map_with_role(MapRole::Stacks).and_then(|i| self.maps.get(i.0 as usize))
        else {
            return Ok(None);
        };
        let value = self.kernel.map_lookup(map, &id.to_ne_bytes()).map_err(Error::Read)?;
        Ok(value.map(|bytes| {
            let frames = word(&bytes, 0).unwrap_or(0) as usize;
            bytes.get(8..).unwrap_or(&[]).chunks_exact(8).take(frames).filter_map(|b| word(b, 0)).collect()
        }))
    }

    /// Removes every entry (`clear`).
    ///
    /// # Errors
    /// When the kernel does not let us.
    pub fn clear(&self, user_map: u32) -> Result<(), Error> {
        let (user, map) = self.find(user_map)?;
        if is_scalar(user) {
            let zeroes = vec![0; map.value_bytes()];
            return self.kernel.map_update(map, &ONLY, &zeroes).map_err(Error::Read);
        }
        for (key, _) in self.kernel.map_entries(map).map_err(Error::Read)?.iter() {
            self.kernel.map_delete(map, key).map_err(Error::Read)?;
        }
        Ok(())
    }

    /// Sets every value to zero and keeps the keys (`zero`).
    ///
    /// # Errors
    /// When the kernel does not let us.
    pub fn zero(&self, user_map: u32) -> Result<(), Error> {
        let (user, map) = self.find(user_map)?;
        let mut zeroes = vec![0; map.value_bytes()];
        if is_scalar(user) {
            // What was set stays set.
            let size = user.value.size() as usize;
            let now = self.kernel.map_lookup(map, &ONLY).map_err(Error::Read)?.unwrap_or_default();
            for (to, from) in zeroes.chunks_exact_mut(stride(map)).zip(now.chunks_exact(stride(map))) {
                if let (Some(to), Some(from)) = (to.get_mut(size..size + 8), from.get(size..size + 8)) {
                    to.copy_from_slice(from);
                }
            }
            return self.kernel.map_update(map, &ONLY, &zeroes).map_err(Error::Read);
        }
        for (key, _) in self.kernel.map_entries(map).map_err(Error::Read)?.iter() {
            self.kernel.map_update(map, key, &zeroes).map_err(Error::Read)?;
        }
        Ok(())
    }

    fn find(&self, user_map: u32) -> Result<(&UserMap, &Map), Error> {
        let user = self.plan.user_maps.get(user_map as usize);
        let found = user.and_then(|user| Some((user, self.maps.get(user.map.0 as usize)?)));
        found.ok_or_else(|| Error::Plan(format!("there is no map {user_map}")))
    }
}

fn is_scalar(user: &UserMap) -> bool {
    user.key == Shape::Unit
}

/// Bytes from one CPU's value to the next; a map that is not per CPU has one "CPU".
fn stride(map: &Map) -> usize {
    if map.spec().kind.is_percpu() { map.cpu_stride() } else { map.value_bytes() }.max(1)
}

#![no_main]
//! Any bytes as BTF, and every question about every type they hold.

use std::sync::Arc;

use libfuzzer_sys::fuzz_target;
use strix_facts::{Btf, BtfType, TypeId};

fuzz_target!(|bytes: &[u8]| {
    let Ok(btf) = Btf::parse(bytes.to_vec(), None) else { return };
    ask(&btf);
    // The same bytes as a module on top of themselves.
    if let Ok(split) = Btf::parse(bytes.to_vec(), Some(Arc::new(btf))) {
        ask(&split);
    }
});

fn ask(btf: &Btf) {
    for id in btf.own_ids().take(200).chain([TypeId::VOID, TypeId(u32::MAX)]) {
        let _ = (btf.size_of(id), btf.resolve(id), btf.type_name(id), btf.prototype(id));
        let name = btf.name(id);
        let _ = (btf.member(id, "x"), btf.find_enumerator(name), btf.kind(id).map(|k| btf.find(k, name)));
        match btf.get(id) {
            Some(BtfType::Struct { members, .. } | BtfType::Union { members, .. }) => drop(members.count()),
            Some(BtfType::Enum { values, .. }) => drop(values.count()),
            Some(BtfType::FuncProto { params, .. }) => drop(params.count()),
            _ => {}
        }
    }
}

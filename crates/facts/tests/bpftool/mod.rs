//! Every type of a BTF, as we decode it, against what `bpftool btf dump` says. Skipped by name where there is no bpftool.

use std::fmt::Write;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::{env, fs};

use strix_facts::{Btf, BtfType, KernelFacts, TypeId};

fn dump(path: &Path, base: Option<&Path>) -> Option<String> {
    let mut command = Command::new("bpftool");
    if let Some(base) = base {
        command.arg("-B").arg(base);
    }
    let output = command.args(["btf", "dump", "file"]).arg(path).output().ok()?;
    output.status.success().then(|| String::from_utf8_lossy(&output.stdout).into_owned())
}

/// One type in bpftool's words. What we do not decode is left out: see [`comparable`].
fn describe(btf: &Btf, id: TypeId) -> String {
    let mut out = String::new();
    let ty = btf.get(id).unwrap_or_else(|| panic!("{id:?} does not decode"));
    let name = match ty.name() {
        "" => "(anon)",
        name => name,
    };
    let to = |kind: &str, to: TypeId| format!("{kind} '{name}' type_id={}", to.0);
    let text = match ty {
        BtfType::Int { size, bits, .. } => format!("INT '{name}' size={size} nr_bits={bits}"),
        BtfType::Ptr(t) => to("PTR", t),
        BtfType::Const(t) => to("CONST", t),
        BtfType::Volatile(t) => to("VOLATILE", t),
        BtfType::Restrict(t) => to("RESTRICT", t),
        BtfType::Typedef { to: t, .. } => to("TYPEDEF", t),
        BtfType::Func { proto, .. } => to("FUNC", proto),
        BtfType::Var { ty, .. } => to("VAR", ty),
        BtfType::TypeTag { tag, to } => format!("TYPE_TAG '{tag}' type_id={}", to.0),
        BtfType::DeclTag { tag, to, component } => {
            format!("DECL_TAG '{tag}' type_id={} component_idx={component}", to.0)
        }
        BtfType::Array { element, index, len } => {
            format!("ARRAY '{name}' type_id={} index_type_id={} nr_elems={len}", element.0, index.0)
        }
        BtfType::Float { size, .. } => format!("FLOAT '{name}' size={size}"),
        BtfType::Datasec { size, .. } => format!("DATASEC '{name}' size={size}"),
        BtfType::Fwd { is_union, .. } => {
            format!("FWD '{name}' fwd_kind={}", if is_union { "union" } else { "struct" })
        }
        BtfType::Struct { size, .. } => format!("STRUCT '{name}' size={size}"),
        BtfType::Union { size, .. } => format!("UNION '{name}' size={size}"),
        BtfType::Enum { size, .. } => format!("ENUM '{name}' size={size}"),
        BtfType::FuncProto { ret, .. } => format!("FUNC_PROTO '{name}' ret_type_id={}", ret.0),
        other => panic!("{other:?}"),
    };
    let _ = writeln!(out, "[{}] {text}", id.0);
    let anon = |name: &str| if name.is_empty() { "(anon)".to_owned() } else { name.to_owned() };
    match btf.get(id) {
        Some(BtfType::Struct { members, .. } | BtfType::Union { members, .. }) => {
            for m in members {
                let _ = write!(out, "'{}' type_id={} bits_offset={}", anon(m.name), m.ty.0, m.bit_offset);
                let _ = match m.bitfield_bits {
                    0 => writeln!(out),
                    bits => writeln!(out, " bitfield_size={bits}"),
                };
            }
        }
        Some(BtfType::Enum { values, size, signed, .. }) => {
            for (name, value) in values {
                // bpftool prints 32 bits without a sign where the enum is not marked as signed.
                let _ = match (size, signed) {
                    (..=4, _) => writeln!(out, "'{name}' val={}", value as u32),
                    (_, true) => writeln!(out, "'{name}' val={value}"),
                    (_, false) => writeln!(out, "'{name}' val={}", value as u64),
                };
            }
        }
        Some(BtfType::FuncProto { params, .. }) => {
            for p in params {
                let _ = writeln!(out, "'{}' type_id={}", anon(p.name), p.ty.0);
            }
        }
        _ => {}
    }
    out
}

/// bpftool's text without what we do not decode, and with one spelling for equal things.
fn comparable(dump: &str) -> String {
    let mut out = String::with_capacity(dump.len());
    for line in dump.lines() {
        let line = line.trim();
        // Variables of a section.
        if line.starts_with("type_id=") || line.is_empty() {
            continue;
        }
        let line = line.replace("] ENUM64 ", "] ENUM ").replace(", linkage=", " linkage=");
        let mut first = true;
        for word in line.split(' ') {
            let dropped = ["encoding=", "bits_offset=0", "vlen=", "linkage="];
            let is_member = line.starts_with('\'');
            if dropped.iter().any(|d| word.starts_with(d)) && !(is_member && word.starts_with("bits_offset"))
            {
                continue;
            }
            if !first {
                out.push(' ');
            }
            first = false;
            // 32-bit values without a sign, see `describe`.
            match word
                .strip_prefix("val=-")
                .and_then(|n| n.strip_suffix("ULL").unwrap_or(n).parse::<i64>().ok())
            {
                Some(n) if n <= 1 << 31 => {
                    let _ = write!(out, "val={}", (-n) as u32);
                }
                _ => out.push_str(word.strip_suffix("ULL").or(word.strip_suffix("LL")).unwrap_or(word)),
            }
        }
        out.push('\n');
    }
    out
}

fn check(path: &Path, base: Option<&Path>) {
    let theirs = comparable(&dump(path, base).expect("bpftool reads it"));
    let read = |path: &Path, base| Btf::parse(fs::read(path).expect("readable"), base).expect("parses");
    let btf = read(path, base.map(|base| Arc::new(read(base, None))));
    let mut theirs = theirs.lines();
    for id in btf.own_ids() {
        for ours in describe(&btf, id).lines() {
            assert_eq!(Some(ours), theirs.next(), "type {} of {}", id.0, path.display());
        }
    }
    assert_eq!(theirs.next(), None, "bpftool knows more types of {}", path.display());
}

#[test]
fn every_type_as_bpftool_has_it() {
    let frozen =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/facts/6.18-x86_64/sys/kernel/btf/vmlinux");
    if dump(&frozen, None).is_none() {
        assert_ne!(env::var("STRIX_LIVE").as_deref(), Ok("require"), "bpftool is not installed");
        eprintln!("skipped every_type_as_bpftool_has_it: bpftool is not installed");
        return;
    }
    check(&frozen, None);
    let live = Path::new("/sys/kernel/btf");
    let kernel = live.join("vmlinux");
    if !kernel.exists() {
        eprintln!("skipped the running kernel's BTF in every_type_as_bpftool_has_it: there is none");
        return;
    }
    check(&kernel, None);
    for module in KernelFacts::live().btf_modules().iter().take(3) {
        check(&live.join(module), Some(&kernel));
    }
}

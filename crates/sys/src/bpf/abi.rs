//! The parts of `union bpf_attr` that are used, one struct a command, fields named as in linux/bpf.h.
//!
//! The kernel takes any size of attributes and reads what is not given as zero, so a struct ends after the last field that is
//! needed. Layouts are checked against the generated union below.

use aya_obj::generated::{self as uapi, bpf_attr};

/// Attributes of a bpf(2) command.
///
/// # Safety
/// The type must be laid out as the kernel has it, without padding that could be uninitialised.
pub(super) unsafe trait Attr {}

macro_rules! attrs {
    ($($(#[$doc:meta])* $name:ident { $($field:ident: $type:ty,)* })*) => {
        $(
            $(#[$doc])*
            #[repr(C)]
            #[derive(Clone, Copy, Debug, Default)]
            pub(super) struct $name { $(pub(super) $field: $type,)* }

            const _: () = assert!(size_of::<$name>() == 0 $(+ size_of::<$type>())*, "padding");
            const _: () = assert!(size_of::<$name>() <= size_of::<bpf_attr>() + 16, "larger than the kernel's");

            // SAFETY: `repr(C)`, and the assertion above shows that there is no padding.
            unsafe impl Attr for $name {}
        )*
    };
}

attrs! {
    /// `BPF_MAP_CREATE`.
    MapCreate {
        map_type: u32, key_size: u32, value_size: u32, max_entries: u32, map_flags: u32, inner_map_fd: u32,
        numa_node: u32, map_name: [u8; 16],
    }
    /// `BPF_MAP_*_ELEM`, `BPF_MAP_GET_NEXT_KEY`, `BPF_MAP_FREEZE`; `value` is `next_key` for the third.
    MapElem { map_fd: u32, pad: u32, key: u64, value: u64, flags: u64, }
    /// `BPF_MAP_LOOKUP_BATCH`.
    MapBatch {
        in_batch: u64, out_batch: u64, keys: u64, values: u64, count: u32, map_fd: u32, elem_flags: u64, flags: u64,
    }
    /// `BPF_PROG_LOAD`.
    ProgLoad {
        prog_type: u32, insn_cnt: u32, insns: u64, license: u64, log_level: u32, log_size: u32, log_buf: u64,
        kern_version: u32, prog_flags: u32, prog_name: [u8; 16], prog_ifindex: u32, expected_attach_type: u32,
        prog_btf_fd: u32, func_info_rec_size: u32, func_info: u64, func_info_cnt: u32, line_info_rec_size: u32,
        line_info: u64, line_info_cnt: u32, attach_btf_id: u32, attach_btf_obj_fd: u32, core_relo_cnt: u32,
    }
    /// `BPF_PROG_TEST_RUN`.
    ProgRun {
        prog_fd: u32, retval: u32, data_size_in: u32, data_size_out: u32, data_in: u64, data_out: u64, repeat: u32,
        duration: u32, ctx_size_in: u32, ctx_size_out: u32, ctx_in: u64, ctx_out: u64, flags: u32, cpu: u32,
    }
    /// `BPF_BTF_LOAD`.
    BtfLoad {
        btf: u64, btf_log_buf: u64, btf_size: u32, btf_log_size: u32, btf_log_level: u32, pad: u32,
    }
    /// `BPF_*_GET_NEXT_ID` and `BPF_*_GET_FD_BY_ID`.
    GetId { id: u32, next_id: u32, open_flags: u32, }
    /// `BPF_OBJ_GET_INFO_BY_FD`; the kernel writes at most `info_len` bytes to `info`.
    GetInfo { bpf_fd: u32, info_len: u32, info: u64, }
    /// `BPF_RAW_TRACEPOINT_OPEN`; the cookie came with v6.10.
    RawTracepointOpen { name: u64, prog_fd: u32, pad: u32, cookie: u64, }
    /// `BPF_ENABLE_STATS`.
    EnableStats { stats_type: u32, }
    /// `BPF_LINK_CREATE` on a perf event.
    LinkPerf { prog_fd: u32, target_fd: u32, attach_type: u32, flags: u32, bpf_cookie: u64, }
    /// `BPF_LINK_CREATE` of a tracing program.
    LinkTracing {
        prog_fd: u32, target_fd: u32, attach_type: u32, flags: u32, target_btf_id: u32, pad: u32, cookie: u64,
    }
    /// `BPF_LINK_CREATE` on many kernel functions.
    LinkKprobeMulti {
        prog_fd: u32, target_fd: u32, attach_type: u32, flags: u32, multi_flags: u32, cnt: u32, syms: u64, addrs: u64,
        cookies: u64,
    }
    /// `BPF_LINK_CREATE` on many user instructions.
    LinkUprobeMulti {
        prog_fd: u32, target_fd: u32, attach_type: u32, flags: u32, path: u64, offsets: u64, ref_ctr_offsets: u64,
        cookies: u64, cnt: u32, multi_flags: u32, pid: u32, pad: u32,
    }
}

attrs! {
    /// `struct bpf_link_info`; what follows the ids depends on the type.
    LinkInfoRaw { link_type: u32, id: u32, prog_id: u32, pad: u32, rest: [u64; 10], }
    /// The start of `struct bpf_map_info`.
    MapInfoRaw {
        map_type: u32, id: u32, key_size: u32, value_size: u32, max_entries: u32, map_flags: u32, name: [u8; 16],
    }
    /// The start of `struct bpf_btf_info`.
    BtfInfoRaw { btf: u64, btf_size: u32, id: u32, name: u64, name_len: u32, kernel_btf: u32, }
}

macro_rules! same_offsets {
    ($($ours:ident.$our:ident == $theirs:ident.$their:ident;)*) => {
        $(const _: () = assert!(
            std::mem::offset_of!($ours, $our) == std::mem::offset_of!(uapi::$theirs, $their),
            concat!(stringify!($ours), ".", stringify!($our))
        );)*
    };
}

same_offsets! {
    MapCreate.map_name == bpf_attr__bindgen_ty_1.map_name;
    MapElem.flags == bpf_attr__bindgen_ty_2.flags;
    MapBatch.flags == bpf_attr__bindgen_ty_3.flags;
    ProgLoad.prog_btf_fd == bpf_attr__bindgen_ty_4.prog_btf_fd;
    ProgLoad.line_info == bpf_attr__bindgen_ty_4.line_info;
    ProgLoad.attach_btf_id == bpf_attr__bindgen_ty_4.attach_btf_id;
    ProgRun.cpu == bpf_attr__bindgen_ty_7.cpu;
    BtfLoad.btf_log_level == bpf_attr__bindgen_ty_12.btf_log_level;
    GetInfo.info == bpf_attr__bindgen_ty_9.info;
    LinkInfoRaw.prog_id == bpf_link_info.prog_id;
    LinkInfoRaw.rest == bpf_link_info.__bindgen_anon_1;
    MapInfoRaw.name == bpf_map_info.name;
    BtfInfoRaw.kernel_btf == bpf_btf_info.kernel_btf;
    RawTracepointOpen.cookie == bpf_attr__bindgen_ty_11.cookie;
    RawTracepointOpen.prog_fd == bpf_attr__bindgen_ty_11.prog_fd;
}

/// `struct bpf_func_info`.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct FuncInfo {
    pub(super) insn_off: u32,
    pub(super) type_id: u32,
}

/// `struct bpf_line_info`.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct LineInfo {
    pub(super) insn_off: u32,
    pub(super) file_name_off: u32,
    pub(super) line_off: u32,
    pub(super) line_col: u32,
}

//! What is true of this kernel, and of the user binaries that scripts name.
//!
//! [`KernelFacts`] answers from a root directory: `/` for the running kernel, a fixture for tests. It is cheap
//! to make, reads nothing that nobody asks for, and keeps what it read. It makes no BPF system call and loads
//! nothing: what a kernel can do is concluded from its type information, its configuration and sysfs, never
//! from its version number.
//!
//! All bytes here come from outside. A file that is cut short or made up gives an error or less knowledge; it
//! never gives a panic or an endless loop.

pub mod btf;
mod cgroup;
mod elf;
mod error;
mod features;
mod glob;
mod kallsyms;
mod kconfig;
mod kernel;
mod ldcache;
mod nearest;
mod paths;
mod syscalls;
mod tracefs;
mod tracepoint;

pub use btf::{Btf, BtfKind, BtfType, FuncParam, FuncProto, Member, MemberRef, TypeId};
pub use elf::{Binary, FunctionSymbol, functions_in};
pub use error::FactsError;
pub use features::{FeatureInfo, Features};
pub use glob::Glob;
pub use kernel::{Arch, KernelFacts, KernelFunction, TracepointName};
pub use ldcache::{LdCache, LdCacheEntry};
pub use nearest::nearest;
pub use tracepoint::{FieldKind, TracepointField, TracepointFormat};

//! Sets of small numbers, for data-flow analyses.

/// A set of numbers below a bound.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct BitSet {
    words: Vec<u64>,
}

impl BitSet {
    /// The empty set of numbers below `bound`.
    pub(crate) fn new(bound: usize) -> Self {
        Self { words: vec![0; bound.div_ceil(64)] }
    }

    pub(crate) fn contains(&self, item: usize) -> bool {
        self.words[item / 64] & (1 << (item % 64)) != 0
    }

    pub(crate) fn insert(&mut self, item: usize) {
        self.words[item / 64] |= 1 << (item % 64);
    }

    pub(crate) fn remove(&mut self, item: usize) {
        self.words[item / 64] &= !(1 << (item % 64));
    }

    pub(crate) fn clear(&mut self) {
        self.words.fill(0);
    }

    /// Adds all of `other`; whether anything was new.
    pub(crate) fn union(&mut self, other: &Self) -> bool {
        self.update(other, |a, b| a | b)
    }

    /// Keeps what is in `other` too; whether anything went.
    pub(crate) fn intersect(&mut self, other: &Self) -> bool {
        self.update(other, |a, b| a & b)
    }

    /// Takes away what is in `other`.
    pub(crate) fn subtract(&mut self, other: &Self) {
        self.update(other, |a, b| a & !b);
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = usize> + '_ {
        self.words.iter().enumerate().flat_map(|(index, &word)| {
            std::iter::successors((word != 0).then_some(word), |w| Some(w & (w - 1)).filter(|w| *w != 0))
                .map(move |w| index * 64 + w.trailing_zeros() as usize)
        })
    }

    fn update(&mut self, other: &Self, f: impl Fn(u64, u64) -> u64) -> bool {
        let mut changed = false;
        for (word, &with) in self.words.iter_mut().zip(&other.words) {
            let new = f(*word, with);
            changed |= new != *word;
            *word = new;
        }
        changed
    }
}

/// Numbers for those registers that occur in more than one block: few of many, so that sets for each block stay small.
#[derive(Clone, Debug)]
pub(crate) struct Shared {
    /// The block a register was seen in first.
    home: Vec<Option<usize>>,
    number: Vec<Option<usize>>,
    items: Vec<usize>,
}

impl Shared {
    /// For registers below `bound`, before any was seen.
    pub(crate) fn new(bound: usize) -> Self {
        Self { home: vec![None; bound], number: vec![None; bound], items: Vec::new() }
    }

    /// Notes that a register occurs in a block.
    pub(crate) fn see(&mut self, item: usize, block: usize) {
        let home = *self.home[item].get_or_insert(block);
        if home != block && self.number[item].is_none() {
            self.number[item] = Some(self.items.len());
            self.items.push(item);
        }
    }

    /// The number of a register that occurs in several blocks.
    pub(crate) fn number(&self, item: usize) -> Option<usize> {
        self.number[item]
    }

    /// The empty set of shared registers.
    pub(crate) fn set(&self) -> BitSet {
        BitSet::new(self.items.len())
    }

    /// The registers in a set of numbers.
    pub(crate) fn items<'a>(&'a self, set: &'a BitSet) -> impl Iterator<Item = usize> + 'a {
        set.iter().map(|number| self.items[number])
    }
}

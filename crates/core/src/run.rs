//! The event loop: from the last probe attached to the last record read.

use std::io;
use std::ops::ControlFlow;
use std::os::fd::OwnedFd;
use std::process::ExitStatus;
use std::task::Poll;
use std::time::{Duration, Instant};

use strix_model::{Action, AttachPoint, MapRole};
use strix_sys::{Pidfd, Readable, Ring, SharedWord, end_at_second, is_ignored};
use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::pace::{Look, Pace, Wait};
use crate::reduce::word;
use crate::{Error, EventSink, MapReader, Session};

/// Records read between two looks at signals and timers.
const BATCH: usize = 8192;
/// How long a program may take from asking whether we are asleep to handing in its record.
const DOZE: Duration = Duration::from_millis(10);
/// How long to wait at the end for a record that is still being written.
const LAST_WRITER: Duration = Duration::from_millis(100);

/// Why a session ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EndReason {
    /// The script called `exit`.
    Exit,
    /// A signal asked for it; its number.
    Signal(i32),
    /// The time was up.
    Duration,
    /// The command ended.
    ChildExit,
    /// The process that was watched ended.
    TargetExit,
    /// Nobody reads our output any more.
    OutputClosed,
    /// Nothing was attached that could fire.
    NothingAttached,
}

/// How a session ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// Why.
    pub reason: EndReason,
    /// The code given to `exit`, 0 otherwise.
    pub exit_code: i64,
    /// How the command ended, if it has.
    pub child: Option<ExitStatus>,
}

impl Session {
    /// Lets the command go and hands records to the sink until something ends the session. Then everything is detached, what the
    /// ring still holds is handed over, and the end programs run. Maps, losses and costs can be read afterwards.
    ///
    /// # Errors
    /// When the command cannot be run, the kernel cannot be read, or the sink fails for another reason than a closed pipe.
    pub fn run(&mut self, sink: &mut dyn EventSink) -> Result<Outcome, Error> {
        let runtime =
            tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(Error::Wait)?;
        let mut reader = Reader::new(self)?;
        let reason = runtime.block_on(self.watch(&mut reader, sink));
        // Whatever happened, nothing fires from here on.
        self.detach();
        let reason = match reason {
            Ok(EndReason::OutputClosed) => EndReason::OutputClosed,
            Ok(reason) => self.finish(&mut reader, sink, reason)?,
            Err(error) => return Err(error),
        };
        let child = match &mut self.options.child {
            Some(child) => child.status().map_err(Error::Command)?,
            None => None,
        };
        Ok(Outcome { reason, exit_code: reader.exit_code.unwrap_or(0), child })
    }

    /// Reads until something ends the session.
    async fn watch(&mut self, reader: &mut Reader, sink: &mut dyn EventSink) -> Result<EndReason, Error> {
        let mut stops = Stops::new(self)?;
        self.held = None;
        if let Some(child) = &mut self.options.child {
            child.release().map_err(Error::Command)?;
        }
        let waker = reader.waker.take().map(Readable::new).transpose().map_err(Error::Wait)?;
        let mut pace = Pace::default();
        let mut last = Instant::now();
        loop {
            let fill = reader.fill();
            let read = match reader.read(&self.maps(), sink) {
                Err(error) => return ended_by(error),
                Ok(read) => read,
            };
            if reader.exit_code.is_some() {
                return Ok(EndReason::Exit);
            }
            if !self.is_waiting() && self.options.child.is_none() {
                return Ok(EndReason::NothingAttached);
            }
            let look = Look { records: read.records, more: read.more, fill, since: last.elapsed() };
            last = Instant::now();
            let wait = pace.after(look);
            if wait != Wait::Not
                && let Err(error) = sink.flush()
            {
                return ended_by(error);
            }
            if let Some(reason) = reader.wait(wait, waker.as_ref(), &mut stops).await? {
                return Ok(reason);
            }
        }
    }

    /// Hands over what is left, runs the end programs and hands over what they wrote.
    fn finish(
        &self,
        reader: &mut Reader,
        sink: &mut dyn EventSink,
        reason: EndReason,
    ) -> Result<EndReason, Error> {
        // After `exit` the script wants to hear no more, except from its end probes.
        reader.deaf = reason == EndReason::Exit;
        let rest = reader.read_all(&self.maps(), sink);
        reader.deaf = false;
        if let Err(error) = rest {
            return ended_by(error);
        }
        self.run_by_hand(&AttachPoint::End)?;
        match reader.read_all(&self.maps(), sink).and_then(|()| sink.flush()) {
            Ok(()) => Ok(reason),
            Err(error) => ended_by(error),
        }
    }
}

/// A sink that fails because its reader went away ends the session in good order.
fn ended_by(error: io::Error) -> Result<EndReason, Error> {
    if error.kind() == io::ErrorKind::BrokenPipe {
        Ok(EndReason::OutputClosed)
    } else {
        Err(Error::Output(error))
    }
}

/// The ring, and what its records ask of the session.
struct Reader {
    ring: Option<Ring>,
    asleep: Option<SharedWord>,
    waker: Option<OwnedFd>,
    /// For each schema, what the session does itself.
    own: Vec<Own>,
    exit_code: Option<i64>,
    /// Records are thrown away.
    deaf: bool,
}

/// Actions that are not the sink's.
#[derive(Clone, Copy)]
enum Own {
    No,
    Clear(u32),
    Zero(u32),
    Exit,
}

#[derive(Default)]
struct Read {
    records: usize,
    more: bool,
}

impl Reader {
    fn new(session: &Session) -> Result<Self, Error> {
        let map =
            |role| session.plan.map_with_role(role).and_then(|index| session.maps.get(index.0 as usize));
        let ring = map(MapRole::Ring);
        let own = |action: &Action| match *action {
            Action::Clear { map } => Own::Clear(map),
            Action::Zero { map } => Own::Zero(map),
            Action::Exit => Own::Exit,
            _ => Own::No,
        };
        let asleep = map(MapRole::Control).map(SharedWord::map).transpose().map_err(Error::Read)?;
        if let Some(word) = &asleep {
            word.store(1);
        }
        Ok(Self {
            ring: ring.map(Ring::map).transpose().map_err(Error::Read)?,
            asleep,
            waker: ring.map(|map| session.kernel.ring_waker(map)).transpose().map_err(Error::Read)?,
            own: session.plan.events.iter().map(|event| own(&event.action)).collect(),
            exit_code: None,
            deaf: false,
        })
    }

    fn fill(&self) -> u8 {
        self.ring
            .as_ref()
            .map_or(0, |ring| (ring.pending().saturating_mul(100) / ring.capacity().max(1)).min(100) as u8)
    }

    /// Reads a batch.
    fn read(&mut self, maps: &MapReader<'_>, sink: &mut dyn EventSink) -> io::Result<Read> {
        let Some(ring) = &mut self.ring else { return Ok(Read::default()) };
        let mut failure = None;
        let (own, exit_code, deaf) = (&self.own, &mut self.exit_code, self.deaf);
        let drained = ring.drain(BATCH, |record| {
            if deaf {
                return ControlFlow::Continue(());
            }
            match handle(record, own, exit_code, maps, sink) {
                Ok(flow) => flow,
                Err(error) => {
                    failure = Some(error);
                    ControlFlow::Break(())
                }
            }
        });
        if drained.corrupt {
            sink.problem(&Error::Plan(
                "the ring held a record of an impossible length; what was in it is lost".into(),
            ));
        }
        failure.map_or(Ok(Read { records: drained.records, more: drained.more }), Err)
    }

    /// Reads until nothing is left. The programs are detached, so what is left is at most a full ring.
    fn read_all(&mut self, maps: &MapReader<'_>, sink: &mut dyn EventSink) -> io::Result<()> {
        let mut stuck_since: Option<Instant> = None;
        loop {
            let read = self.read(maps, sink)?;
            if !read.more {
                return Ok(());
            }
            if read.records > 0 {
                stuck_since = None;
                continue;
            }
            if stuck_since.get_or_insert_with(Instant::now).elapsed() > LAST_WRITER {
                return Ok(());
            }
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    /// Waits as the pace says; `Some` ends the session.
    async fn wait(
        &self,
        wait: Wait,
        waker: Option<&Readable>,
        stops: &mut Stops,
    ) -> Result<Option<EndReason>, Error> {
        let asleep = wait == Wait::Asleep;
        let told = self.asleep.as_ref().is_none_or(|word| (word.load() != 0) == asleep);
        if !told && let Some(word) = &self.asleep {
            word.store(u64::from(asleep));
        }
        let pause = match wait {
            Wait::Not => Some(Duration::ZERO),
            Wait::Awake(pause) => Some(pause),
            // A program may have looked at the flag just before we set it: look once more before we rely on being woken.
            Wait::Asleep => (!told).then_some(DOZE),
        };
        // Without the flag, programs decide by themselves whom to wake: always be ready for it.
        let wakes = asleep || self.asleep.is_none() && wait != Wait::Not;
        tokio::select! {
            biased;
            reason = stops.next() => Ok(Some(reason)),
            () = sleep(pause) => Ok(None),
            woken = woken(waker), if wakes => woken.map(|()| None),
        }
    }
}

/// Does with one record what is the session's to do, or hands it over.
fn handle(
    record: &[u8],
    own: &[Own],
    exit_code: &mut Option<i64>,
    maps: &MapReader<'_>,
    sink: &mut dyn EventSink,
) -> io::Result<ControlFlow<()>> {
    let Some(schema) = word(record, 0).map(|header| header as u32) else {
        return Ok(ControlFlow::Continue(()));
    };
    let done = match own.get(schema as usize) {
        None => return Ok(ControlFlow::Continue(())),
        Some(Own::No) => return sink.record(schema, record, maps).map(ControlFlow::Continue),
        Some(Own::Exit) => {
            *exit_code = Some(word(record, 8).unwrap_or(0) as i64);
            return Ok(ControlFlow::Break(()));
        }
        Some(&Own::Clear(map)) => maps.clear(map),
        Some(&Own::Zero(map)) => maps.zero(map),
    };
    if let Err(error) = done {
        sink.problem(&error);
    }
    Ok(ControlFlow::Continue(()))
}

async fn sleep(pause: Option<Duration>) {
    match pause {
        // Lets signals and timers be seen between two batches.
        Some(Duration::ZERO) => tokio::task::yield_now().await,
        Some(pause) => tokio::time::sleep(pause).await,
        None => std::future::pending().await,
    }
}

async fn woken(waker: Option<&Readable>) -> Result<(), Error> {
    let Some(waker) = waker else { return std::future::pending().await };
    // The ring is read right after this, so readiness is taken as used up.
    waker.readable().await.map_err(Error::Wait)
}

/// What ends a session from outside.
struct Stops {
    signals: Vec<(i32, Signal)>,
    deadline: Option<tokio::time::Instant>,
    child: Option<Readable>,
    target: Option<Readable>,
}

impl Stops {
    fn new(session: &Session) -> Result<Self, Error> {
        let mut kinds = vec![SignalKind::interrupt(), SignalKind::terminate()];
        // A session started by `nohup` is to outlive its terminal.
        if !is_ignored(SignalKind::hangup().as_raw_value()) {
            kinds.push(SignalKind::hangup());
        }
        let numbers: Vec<i32> = kinds.iter().map(SignalKind::as_raw_value).collect();
        let signals = kinds.into_iter().map(|kind| Ok((kind.as_raw_value(), signal(kind)?)));
        let signals = signals.collect::<io::Result<_>>().map_err(Error::Wait)?;
        // The first asks us to finish; another one ends us at once, wherever we are stuck.
        end_at_second(&numbers).map_err(Error::Wait)?;
        let watched = |pid: Option<u32>| -> Result<Option<Readable>, Error> {
            let Some(pid) = pid else { return Ok(None) };
            let pidfd = Pidfd::open(pid).map_err(Error::Watch)?;
            Readable::new(pidfd.into()).map(Some).map_err(Error::Wait)
        };
        let options = &session.options;
        Ok(Self {
            signals,
            deadline: options.duration.map(|duration| tokio::time::Instant::now() + duration),
            child: watched(options.child.as_ref().map(|child| child.pid()))?,
            target: watched(if options.child.is_some() { None } else { options.pid })?,
        })
    }

    /// Waits for the first of them.
    async fn next(&mut self) -> EndReason {
        tokio::select! {
            biased;
            number = any_signal(&mut self.signals) => EndReason::Signal(number),
            () = ended(self.child.as_ref()) => EndReason::ChildExit,
            () = ended(self.target.as_ref()) => EndReason::TargetExit,
            () = until(self.deadline) => EndReason::Duration,
        }
    }
}

/// The number of the next signal.
async fn any_signal(signals: &mut [(i32, Signal)]) -> i32 {
    std::future::poll_fn(|context| {
        let arrived = signals.iter_mut().find_map(|(number, signal)| match signal.poll_recv(context) {
            Poll::Ready(_) => Some(*number),
            Poll::Pending => None,
        });
        arrived.map_or(Poll::Pending, Poll::Ready)
    })
    .await
}

async fn ended(process: Option<&Readable>) {
    match process {
        Some(process) if process.readable().await.is_ok() => {}
        _ => std::future::pending().await,
    }
}

async fn until(deadline: Option<tokio::time::Instant>) {
    match deadline {
        Some(deadline) => tokio::time::sleep_until(deadline).await,
        None => std::future::pending().await,
    }
}

//! What user code logs, for the engine.
//!
//! While a bundle runs, its thread's events go to the engine as well as to whoever listens in this process.

use std::{
    cell::RefCell,
    fmt::{Debug, Write},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use purlin_sdk::{PipelineError, Timestamp};
use tokio::sync::mpsc;
use tokio_stream::{StreamExt, wrappers::ReceiverStream};
use tracing::{
    Dispatch, Event, Level, Metadata, Subscriber,
    field::{Field, Visit},
    level_filters::LevelFilter,
    span,
    subscriber::Interest,
};

use super::{
    channel::{MAX_MESSAGE, WorkerId, connect},
    residuals::to_proto,
};
use crate::proto::fn_execution::{
    LogEntry, beam_fn_logging_client::BeamFnLoggingClient, log_entry, log_entry::severity::Enum as Severity,
};

/// Entries that may wait to be sent; what comes when there are more is counted and dropped, so that nobody's work waits
/// for a log.
const WAITING: usize = 4096;

/// How long the last entries may take.
const PATIENCE: Duration = Duration::from_millis(500);

/// Entries sent in one message.
const AT_ONCE: usize = 256;

thread_local! {
    static INSTRUCTION: RefCell<String> = const { RefCell::new(String::new()) };
}

/// Sends entries to the engine.
pub(super) struct Log {
    entries: mpsc::Sender<LogEntry>,
    dropped: AtomicU64,
}

impl Log {
    /// Sends to `url`; gives what sends, and what runs until all senders are gone.
    ///
    /// # Errors
    /// When nobody answers there.
    pub(super) async fn connect(url: &str, worker: &WorkerId) -> Result<(Log, LogTask), PipelineError> {
        let channel = connect("logging", url, worker).await?;
        let client = BeamFnLoggingClient::new(channel).max_decoding_message_size(MAX_MESSAGE);
        let (entries, mut waiting) = mpsc::channel(WAITING);
        let (lists, sent) = mpsc::channel(1);
        let gather = tokio::spawn(async move {
            let mut log_entries = Vec::new();
            while waiting.recv_many(&mut log_entries, AT_ONCE).await > 0 {
                let list = log_entry::List { log_entries: std::mem::take(&mut log_entries) };
                if lists.send(list).await.is_err() {
                    break;
                }
            }
        });
        let send = tokio::spawn(async move {
            let mut client = client;
            if let Ok(answers) = client.logging(ReceiverStream::new(sent)).await {
                // The engine says nothing here, but the stream lives as long as this is read.
                let mut answers = answers.into_inner();
                while let Some(Ok(_)) = answers.next().await {}
            }
        });
        Ok((Log { entries, dropped: AtomicU64::new(0) }, LogTask { gather, send }))
    }

    /// Sends one entry.
    pub(super) fn send(&self, severity: Severity, instruction: &str, message: String, location: String) {
        let dropped = self.dropped.swap(0, Ordering::Relaxed);
        let message = match dropped {
            0 => message,
            n => format!("{message} ({n} entries before this one were dropped)"),
        };
        let entry = LogEntry {
            severity: severity.into(),
            timestamp: Some(to_proto(Timestamp::now())),
            message,
            instruction_id: instruction.to_owned(),
            log_location: location,
            thread: std::thread::current().name().unwrap_or_default().to_owned(),
            ..LogEntry::default()
        };
        if self.entries.try_send(entry).is_err() {
            self.dropped.fetch_add(dropped + 1, Ordering::Relaxed);
        }
    }
}

/// The stream of entries.
pub(super) struct LogTask {
    gather: tokio::task::JoinHandle<()>,
    send: tokio::task::JoinHandle<()>,
}

impl LogTask {
    /// Ends the stream, when the last [`Log`] is gone and what waited was handed over.
    pub(super) async fn close(self) {
        // A bundle that does not come back may keep a sender, and an engine its side of the stream: neither is waited for.
        let stop = self.send.abort_handle();
        let handed_over = tokio::time::timeout(PATIENCE, self.gather).await.is_ok();
        if !handed_over || tokio::time::timeout(PATIENCE, self.send).await.is_err() {
            stop.abort();
        }
    }
}

/// Runs `work` with events of this thread going to `log` too, as those of `instruction`.
pub(super) fn logged<R>(log: Option<&Dispatch>, instruction: &str, work: impl FnOnce() -> R) -> R {
    let Some(log) = log else { return work() };
    INSTRUCTION.with_borrow_mut(|current| instruction.clone_into(current));
    let done = tracing::dispatcher::with_default(log, work);
    INSTRUCTION.with_borrow_mut(String::clear);
    done
}

/// A subscriber that hands everything on to the one before, and events of some weight to the engine.
pub(super) struct Tee {
    log: Arc<Log>,
    inner: Dispatch,
    most: LevelFilter,
}

impl Tee {
    /// In front of what this thread has.
    pub(super) fn dispatch(log: Arc<Log>) -> Dispatch {
        let inner = tracing::dispatcher::get_default(Dispatch::clone);
        Dispatch::new(Tee { log, inner, most: LevelFilter::current().max(LevelFilter::INFO) })
    }

    fn wants(metadata: &Metadata<'_>) -> bool {
        metadata.is_event() && *metadata.level() <= Level::INFO
    }
}

impl Subscriber for Tee {
    fn register_callsite(&self, _metadata: &'static Metadata<'static>) -> Interest {
        // What the one before thinks may change, and it is asked each time.
        Interest::sometimes()
    }

    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        Tee::wants(metadata) || self.inner.enabled(metadata)
    }

    fn max_level_hint(&self) -> Option<LevelFilter> {
        Some(self.most)
    }

    fn new_span(&self, span: &span::Attributes<'_>) -> span::Id {
        self.inner.new_span(span)
    }

    fn record(&self, span: &span::Id, values: &span::Record<'_>) {
        self.inner.record(span, values);
    }

    fn record_follows_from(&self, span: &span::Id, follows: &span::Id) {
        self.inner.record_follows_from(span, follows);
    }

    fn event(&self, event: &Event<'_>) {
        let metadata = event.metadata();
        if self.inner.enabled(metadata) {
            self.inner.event(event);
        }
        if !Tee::wants(metadata) {
            return;
        }
        let severity = match *metadata.level() {
            Level::ERROR => Severity::Error,
            Level::WARN => Severity::Warn,
            _ => Severity::Info,
        };
        let mut text = Text::default();
        event.record(&mut text);
        let location = match (metadata.file(), metadata.line()) {
            (Some(file), Some(line)) => format!("{file}:{line}"),
            _ => metadata.target().to_owned(),
        };
        let instruction = INSTRUCTION.with_borrow(String::clone);
        self.log.send(severity, &instruction, text.0, location);
    }

    fn enter(&self, span: &span::Id) {
        self.inner.enter(span);
    }

    fn exit(&self, span: &span::Id) {
        self.inner.exit(span);
    }

    fn clone_span(&self, id: &span::Id) -> span::Id {
        self.inner.clone_span(id)
    }

    fn try_close(&self, id: span::Id) -> bool {
        self.inner.try_close(id)
    }
}

/// An event's message, and its other fields behind it.
#[derive(Default)]
struct Text(String);

impl Visit for Text {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        // Writing to a string does not fail.
        let _ = match field.name() {
            "message" => {
                let rest = std::mem::take(&mut self.0);
                write!(self.0, "{value:?}{rest}")
            }
            name => write!(self.0, " {name}={value:?}"),
        };
    }
}

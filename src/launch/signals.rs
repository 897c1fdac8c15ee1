//! SIGINT cancels, SIGTERM drains, SIGUSR1 asks why there is no output.

use purlin_sdk::{PipelineError, RunHandle};

/// Begins to listen, before the run starts: what comes until then is kept for it.
pub(super) fn prepare() -> Result<(), PipelineError> {
    #[cfg(unix)]
    unix::prepare().map_err(|e| PipelineError::runner(format!("signals cannot be listened to: {e}")))?;
    Ok(())
}

/// From now on signals are for `run`.
pub(super) fn tell(run: RunHandle) {
    #[cfg(unix)]
    unix::tell(run);
    #[cfg(not(unix))]
    let _ = run;
}

/// The run could not be started.
pub(super) fn not_started() {
    #[cfg(unix)]
    unix::not_started();
}

/// From now on signals do again what they do to any process, unless another run is under way.
pub(super) fn forget() {
    #[cfg(unix)]
    unix::forget();
}

#[cfg(unix)]
mod unix {
    use std::{
        io,
        sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, atomic::AtomicBool},
        thread,
    };

    use purlin_sdk::RunHandle;
    use signal_hook::{
        consts::{SIGINT, SIGTERM, SIGUSR1, SIGXFSZ},
        iterator::Signals,
        low_level::emulate_default_handler,
    };

    use super::super::report;

    /// Runs under way, and whether they were interrupted already.
    struct Runs {
        under_way: Vec<RunHandle>,
        interrupted: bool,
        /// How many runs are being started.
        starting: usize,
        /// What came meanwhile: it is for them.
        early: Vec<i32>,
    }

    static RUNS: Mutex<Runs> =
        Mutex::new(Runs { under_way: Vec::new(), interrupted: false, starting: 0, early: Vec::new() });

    fn runs() -> MutexGuard<'static, Runs> {
        RUNS.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn prepare() -> io::Result<()> {
        // Handlers cannot be taken back, so there is one listener for the life of the process.
        static LISTENER: OnceLock<Result<(), String>> = OnceLock::new();
        LISTENER.get_or_init(|| listen().map_err(|e| e.to_string())).clone().map_err(io::Error::other)?;
        runs().starting += 1;
        Ok(())
    }

    fn listen() -> io::Result<()> {
        // A flag that nobody reads: with a handler in place the write that went too far returns EFBIG.
        signal_hook::flag::register(SIGXFSZ, Arc::new(AtomicBool::new(false)))?;
        let mut signals = Signals::new([SIGINT, SIGTERM, SIGUSR1])?;
        thread::Builder::new()
            .name("purlin-signals".into())
            .spawn(move || signals.forever().for_each(on_signal))
            .map(drop)
    }

    fn on_signal(signal: i32) {
        let mut runs = runs();
        runs.under_way.retain(|run| !run.state().is_terminal());
        if runs.under_way.is_empty() && runs.starting > 0 && !runs.early.contains(&signal) {
            runs.early.push(signal);
            return;
        }
        if signal == SIGUSR1 && !runs.under_way.is_empty() {
            runs.under_way.iter().for_each(|run| report::note(&run.stall_report().to_string()));
            return;
        }
        let interrupt = signal == SIGINT;
        if runs.under_way.is_empty() || (interrupt && runs.interrupted) {
            // Ends the process. Were it not possible, nothing could be done about it here.
            let _ = emulate_default_handler(signal);
            return;
        }
        if interrupt {
            runs.interrupted = true;
            report::note("cancelling; interrupt again to end at once");
        } else {
            report::note("draining");
        }
        for run in &runs.under_way {
            if interrupt { run.cancel() } else { run.drain() }
        }
    }

    pub(super) fn tell(run: RunHandle) {
        let early = {
            let mut runs = runs();
            runs.interrupted = false;
            runs.under_way.push(run);
            runs.starting -= 1;
            std::mem::take(&mut runs.early)
        };
        early.into_iter().for_each(on_signal);
    }

    pub(super) fn not_started() {
        let early = {
            let mut runs = runs();
            runs.starting -= 1;
            std::mem::take(&mut runs.early)
        };
        early.into_iter().for_each(on_signal);
    }

    pub(super) fn forget() {
        runs().under_way.retain(|run| !run.state().is_terminal());
    }
}

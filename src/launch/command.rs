//! The command line.

use std::{collections::HashSet, ffi::OsString, process::ExitCode};

use clap::{
    ArgAction, Args, Command, FromArgMatches,
    builder::Resettable,
    error::{ContextKind, ContextValue, ErrorKind},
};

use super::{RunOptions, report};

/// A command line that was understood.
pub(super) struct Parsed<O> {
    pub(super) pipeline: O,
    pub(super) run: RunOptions,
}

/// Reads the command line. What is wrong with it, or the help, is printed here; then there is the exit code.
pub(super) fn parse<O: Args>(args: impl IntoIterator<Item = OsString>) -> Result<Parsed<O>, ExitCode> {
    // Clap panics on these, but only in debug builds; in others the first one is taken for both.
    if let Some(taken) = taken_names::<O>() {
        report::failure(&taken);
        return Err(report::FAILED);
    }
    let mut command = command::<O>();
    read(&mut command, args).map_err(|e| {
        let error = with_options_there_are(e, &command);
        // Help goes to stdout. When nobody reads it, there is nobody to tell.
        let _ = error.print();
        ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(2))
    })
}

/// Reads a command line that another process was called with. What is wrong with it is an error.
#[cfg(feature = "portable")]
pub(super) fn parse_again<O: Args>(args: impl IntoIterator<Item = OsString>) -> Result<Parsed<O>, String> {
    read(&mut command::<O>(), args).map_err(|e| e.render().to_string())
}

fn command<O: Args>() -> Command {
    // Usage and help show the name by which the program was called, and not this one.
    let command = O::augment_args(Command::new("pipeline").next_help_heading("Pipeline options"));
    // The program is about what the pipeline is about.
    let (about, long_about) = (command.get_about().cloned(), command.get_long_about().cloned());
    RunOptions::augment_args(command).about(Resettable::from(about)).long_about(Resettable::from(long_about))
}

fn read<O: Args>(
    command: &mut Command,
    args: impl IntoIterator<Item = OsString>,
) -> Result<Parsed<O>, clap::Error> {
    let mut matches = command.try_get_matches_from_mut(args)?;
    let run = RunOptions::from_arg_matches_mut(&mut matches).map_err(|e| e.format(command))?;
    if let Some(conflict) = run.conflict() {
        return Err(command.error(ErrorKind::ArgumentConflict, conflict));
    }
    let pipeline = O::from_arg_matches_mut(&mut matches).map_err(|e| e.format(command))?;
    Ok(Parsed { pipeline, run })
}

/// Says which options there are where one was given that there is not.
fn with_options_there_are(mut error: clap::Error, command: &Command) -> clap::Error {
    if error.kind() != ErrorKind::UnknownArgument {
        return error;
    }
    let names: Vec<String> =
        command.get_arguments().filter_map(|a| Some(format!("--{}", a.get_long()?))).collect();
    let mut tips = match error.get(ContextKind::Suggested) {
        Some(ContextValue::StyledStrs(tips)) => tips.clone(),
        _ => Vec::new(),
    };
    tips.push(format!("there are the options {}", names.join(", ")).into());
    error.insert(ContextKind::Suggested, ContextValue::StyledStrs(tips));
    error
}

/// What to do about options of the pipeline's that are called like options of the run.
fn taken_names<O: Args>() -> Option<String> {
    let mut ours: HashSet<String> =
        names(&RunOptions::augment_args(Command::new("run"))).map(|(name, _)| name).collect();
    ours.extend(["--help".to_owned(), "-h".to_owned()]);
    let theirs = O::augment_args(Command::new("pipeline"));
    let taken: Vec<String> = names(&theirs)
        .filter(|(name, is_help)| ours.contains(name) && !is_help)
        .map(|(name, _)| format!("`{name}`"))
        .collect();
    if taken.is_empty() {
        return None;
    }
    Some(format!(
        "the pipeline's options have names that options of every run have: {}. Give the field another name, or the \
         option by `#[arg(long = \"...\")]`",
        taken.join(", ")
    ))
}

/// The names of all options as they are written, with whether they are the help itself.
fn names(command: &Command) -> impl Iterator<Item = (String, bool)> {
    command.get_arguments().flat_map(|arg| {
        let is_help =
            matches!(arg.get_action(), ArgAction::Help | ArgAction::HelpShort | ArgAction::HelpLong);
        let long = arg.get_long().into_iter().map(str::to_owned);
        let aliases = arg.get_all_aliases().unwrap_or_default().into_iter().map(str::to_owned);
        let shorts = arg.get_short().into_iter().chain(arg.get_all_short_aliases().unwrap_or_default());
        let long = long.chain(aliases).map(|name| format!("--{name}"));
        long.chain(shorts.map(|c| format!("-{c}"))).map(move |name| (name, is_help)).collect::<Vec<_>>()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Args, Clone)]
    struct Fine {
        #[arg(long = "other")]
        seed: Option<u64>,
        #[arg(short = 'r')]
        runner: bool,
    }

    #[derive(Args, Clone)]
    struct Taken {
        #[arg(long)]
        seed: Option<u64>,
        #[arg(long, alias = "runner")]
        input: Option<String>,
        #[arg(short = 'h')]
        high: bool,
    }

    #[test]
    fn options_of_the_pipeline_and_of_the_run_are_read_together() {
        let args = ["program", "--other=1", "--seed=2", "-r", "--runner=direct"];
        let parsed = parse::<Fine>(args.map(Into::into)).ok().unwrap();
        assert_eq!((parsed.pipeline.seed, parsed.pipeline.runner), (Some(1), true));
        assert_eq!(parsed.run.kind(), super::super::RunnerKind::Direct);
    }

    #[test]
    fn names_of_the_run_s_options_cannot_be_the_pipeline_s() {
        assert_eq!(taken_names::<Fine>(), None);
        let told = taken_names::<Taken>().unwrap();
        assert!(["`--seed`", "`--runner`", "`-h`", "#[arg(long"].iter().all(|s| told.contains(s)), "{told}");
        assert!(!told.contains("--input"), "{told}");
        assert_eq!(parse::<Taken>(["program".into()]).err(), Some(report::FAILED));
    }

    /// What clap itself checks in debug builds.
    #[test]
    fn the_command_is_sound() {
        command::<Fine>().debug_assert();
    }
}

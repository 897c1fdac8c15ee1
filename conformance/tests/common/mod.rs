//! Turns cases into tests.

/// Runs each case on every runner.
macro_rules! cases {
    ($topic:ident: $($case:ident),+ $(,)?) => {
        $(
            #[test]
            fn $case() {
                purlin_conformance::cases::support::on_every_runner(purlin_conformance::cases::$topic::$case);
            }
        )+
    };
}

pub(crate) use cases;

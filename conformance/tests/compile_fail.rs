//! What must not compile, and what the compiler says then: with our own words on what to do, where there is something.
//!
//! The messages are those of the stable compiler; `TRYBUILD=overwrite` writes them anew for another one.

#[test]
fn what_must_not_compile_does_not_and_says_what_to_do() {
    trybuild::TestCases::new().compile_fail("tests/compile_fail/*.rs");
}

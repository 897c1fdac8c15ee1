//! What must not compile, and what the compiler says then.

#[test]
fn what_must_not_compile_does_not_and_says_what_to_do() {
    trybuild::TestCases::new().compile_fail("tests/compile_fail/*.rs");
}

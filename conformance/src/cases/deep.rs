//! Very large pipelines, built, run and dropped on small stacks.

use purlin_sdk::{Emitter, PCollection, ParDo, Pipeline, ProcessContext, Result, Runner, Tag};

use super::support::collect;

/// The stack of a thread where nobody asked for more, as the standard library has it.
pub const SMALL_STACK: usize = 2 << 20;

/// Runs `work` on a thread with a stack of `bytes`.
///
/// # Panics
/// When `work` does.
pub fn on_a_stack_of(bytes: usize, work: impl FnOnce() + Send) {
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().stack_size(bytes).spawn_scoped(scope, work);
        thread.expect("a thread can be started").join().expect("it did not panic");
    });
}

/// How deep is deep.
const DEEP: usize = 10_000;

/// Ten thousand maps in a row.
pub fn b152_many_maps_in_a_row(r: &dyn Runner) {
    let numbers = collect(r, |p| {
        (0..DEEP).fold(p.create("Values", 0..3_i64), |pc, i| pc.map(&format!("M{i}"), |x| x + 1))
    });
    assert_eq!(numbers, [0, 1, 2].map(|x| x + DEEP as i64));
    // Also as data.
    let p = Pipeline::new();
    let _ = (0..DEEP).fold(p.create("Values", 0..3_i64), |pc, i| pc.map(&format!("M{i}"), |x| x + 1));
    let graph = p.build().expect("the pipeline is right");
    assert!(graph.spec().transforms.len() > DEEP);
    assert_eq!(graph.spec().fingerprint(), graph.spec().fingerprint());
}

/// Ten thousand composites, each in the one before. The program that builds them recurses itself, in frames that are
/// large without optimisation, so it needs a stack to match.
pub fn b152_deeply_nested_composites(r: &dyn Runner) {
    fn nest(pc: &PCollection<i64>, depth: usize) -> PCollection<i64> {
        if depth == 0 {
            return pc.map("M", |x| x + 1);
        }
        pc.composite("C", |pc| nest(&pc, depth - 1))
    }
    assert_eq!(collect(r, |p| nest(&p.create("Values", [1_i64]), DEEP)), [2]);
}

/// A chain of ten thousand flattens, each with a collection more.
pub fn b152_a_chain_of_flattens(r: &dyn Runner) {
    let numbers = collect(r, |p| {
        let one = p.create("Values", [1_i64]);
        let none = p.create("Nothing", Vec::<i64>::new());
        (0..DEEP).fold(one, |pc, i| p.flatten(&format!("F{i}"), [pc, none.clone()]))
    });
    assert_eq!(numbers, [1]);
}

/// A flatten of a thousand collections, each from a source of its own.
pub fn b152_a_flatten_of_many(r: &dyn Runner) {
    let numbers = collect(r, |p: &Pipeline| {
        let parts: Vec<_> = (0..1000_i64).map(|i| p.create(&format!("C{i}"), [i])).collect();
        p.flatten("All", parts)
    });
    assert_eq!(numbers, (0..1000).collect::<Vec<_>>());
}

/// Two hundred consumers of one collection, put together again; and two hundred side by side outputs.
pub fn b152_a_wide_fan_out(r: &dyn Runner) {
    let numbers = collect(r, |p| {
        let one = p.create("Values", [0_i64, 1]);
        let branches: Vec<_> = (0..200_i64).map(|i| one.map(&format!("B{i}"), move |x| 2 * i + x)).collect();
        p.flatten("All", branches)
    });
    assert_eq!(numbers, (0..400).collect::<Vec<_>>());
    const OTHER: Tag<i64> = Tag::new("other");
    let numbers = collect(r, |p| {
        let mut pc = p.create("Values", [0_i64]);
        let mut others = Vec::new();
        for i in 0..200 {
            let both = |x: i64, _: &ProcessContext<'_>, out: &mut Emitter<'_, i64>| -> Result {
                out.emit_to(OTHER, x);
                out.emit(x + 1);
                Ok(())
            };
            let parts = pc.par_do_with(&format!("P{i}"), ParDo::from_fn(both).tag(OTHER));
            others.push(parts.tagged(OTHER));
            pc = parts.main();
        }
        p.flatten("All", others)
    });
    assert_eq!(numbers, (0..200).collect::<Vec<_>>());
}

//! Where a combination of nothing is refused, and whether the advice can be followed.

use purlin_sdk::{
    BuildErrors, Duration, PCollection, PTransform, Pipeline, testing::TestStream, window::FixedWindows,
};
use purlin_transforms::{ApproximateQuantiles, Count, Latest, Max, Mean, Min, Sample, Sum, ToList, Top};

fn in_tens(p: &Pipeline, bounded: bool) -> PCollection<i64> {
    let tens = FixedWindows::of(Duration::from_secs(10));
    if bounded {
        p.create("Numbers", [1_i64, 2]).window_into("Tens", tens)
    } else {
        p.apply("Numbers", TestStream::new().element(1_i64)).window_into("Tens", tens)
    }
}

fn build<X: PTransform<PCollection<i64>>>(bounded: bool, transform: X) -> Result<(), BuildErrors> {
    let p = Pipeline::new();
    in_tens(&p, bounded).apply("All", transform);
    p.build().map(|_| ())
}

macro_rules! b138 {
    ($($name:ident: $transform:expr;)+) => {$(
        #[test]
        fn $name() {
            for bounded in [true, false] {
                let error = build(bounded, $transform).unwrap_err();
                assert_eq!(error.iter().count(), 1, "{error}");
                let error = error.to_string();
                assert!(error.contains("`All`") && error.contains(".without_defaults()"), "{error}");
                build(bounded, $transform.without_defaults()).unwrap();
            }
            let p = Pipeline::new();
            p.create("Numbers", [1_i64]).apply("All", $transform);
            p.build().unwrap();
        }
    )+};
}

b138! {
    b138_count: Count::globally();
    b138_sum: Sum::globally();
    b138_mean: Mean::globally();
    b138_max: Max::globally();
    b138_min_by_key: Min::globally().by_key(|n: &i64| -n);
    b138_top: Top::largest(3);
    b138_top_of: Top::of(3, |a: &i64, b| b.cmp(a));
    b138_latest: Latest::globally();
    b138_to_list: ToList::globally();
    b138_quantiles: ApproximateQuantiles::globally(3);
    b138_quantiles_by: ApproximateQuantiles::globally(3).by(|a: &i64, b| b.cmp(a)).with_epsilon(0.1);
    b138_sample: Sample::fixed_size_globally(3);
}

#[test]
fn what_has_no_default_needs_no_word_about_it() {
    for bounded in [true, false] {
        build(bounded, Count::per_element()).unwrap();
        build(bounded, Sample::any(3)).unwrap();
        build(bounded, purlin_transforms::Distinct).unwrap();
    }
}

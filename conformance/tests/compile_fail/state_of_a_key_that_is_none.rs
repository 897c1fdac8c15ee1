use purlin_sdk::{Emitter, KeyedDoFn, ProcessContext, Result};

#[derive(Clone)]
struct Count;

impl KeyedDoFn for Count {
    type Key = String;
    type Value = i64;
    type Output = u64;
    type State = u64;
    fn process(
        &mut self,
        _: &String,
        _: i64,
        n: &mut u64,
        _: &ProcessContext<'_>,
        out: &mut Emitter<'_, u64>,
    ) -> Result {
        *n += 1;
        out.emit(*n);
        Ok(())
    }
}

fn main() {}

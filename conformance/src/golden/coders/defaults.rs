//! The coders that types have by default, where a case describes one of them.

use purlin_sdk::{
    Element,
    coder::{CoderSpec, default_coder},
};

use super::{Example, values};
use crate::golden::datum::Datum;

/// Types whose default coder is one of Beam's, and the coders of which cases know.
trait Natural: Element {
    fn read(value: &Datum) -> Result<Self, String>;
    fn show(self) -> Datum;
}

impl Natural for bool {
    fn read(value: &Datum) -> Result<bool, String> {
        value.to_bool()
    }
    fn show(self) -> Datum {
        Datum::Bool(self)
    }
}

impl Natural for i64 {
    fn read(value: &Datum) -> Result<i64, String> {
        value.to_int()
    }
    fn show(self) -> Datum {
        Datum::Int(self)
    }
}

impl Natural for f64 {
    fn read(value: &Datum) -> Result<f64, String> {
        values::read_float(value)
    }
    fn show(self) -> Datum {
        Datum::float(self)
    }
}

impl Natural for String {
    fn read(value: &Datum) -> Result<String, String> {
        value.to_text().map(str::to_owned)
    }
    fn show(self) -> Datum {
        Datum::Text(self)
    }
}

impl Natural for Vec<u8> {
    fn read(value: &Datum) -> Result<Vec<u8>, String> {
        Ok(value.to_text()?.as_bytes().to_vec())
    }
    fn show(self) -> Datum {
        values::show_bytes(self)
    }
}

impl<T: Natural> Natural for Vec<T> {
    fn read(value: &Datum) -> Result<Vec<T>, String> {
        value.to_list()?.iter().map(T::read).collect()
    }
    fn show(self) -> Datum {
        Datum::List(self.into_iter().map(T::show).collect())
    }
}

impl<T: Natural> Natural for Option<T> {
    fn read(value: &Datum) -> Result<Option<T>, String> {
        if *value == Datum::Null { Ok(None) } else { T::read(value).map(Some) }
    }
    fn show(self) -> Datum {
        self.map_or(Datum::Null, T::show)
    }
}

impl<K: Natural, V: Natural> Natural for (K, V) {
    fn read(value: &Datum) -> Result<(K, V), String> {
        Ok((K::read(value.need("key")?)?, V::read(value.need("value")?)?))
    }
    fn show(self) -> Datum {
        Datum::map([("key", self.0.show()), ("value", self.1.show())])
    }
}

/// Checks the default coder of the type that `spec` is the coder of, where it is one of those below: what a pipeline
/// uses is the same on the wire as what is made of parts.
pub(super) fn check(spec: &CoderSpec, example: &Example<'_>) -> Result<(), String> {
    macro_rules! try_all {
        ($($leaf:ty),*) => {
            $(
                try_type::<$leaf>(spec, example)?;
                try_type::<Vec<$leaf>>(spec, example)?;
                try_type::<Option<$leaf>>(spec, example)?;
                try_type::<(String, $leaf)>(spec, example)?;
                try_type::<(Vec<u8>, $leaf)>(spec, example)?;
                try_type::<(i64, $leaf)>(spec, example)?;
            )*
        };
    }
    try_all!(bool, i64, f64, String, Vec<u8>, Vec<i64>, (String, i64));
    Ok(())
}

fn try_type<T: Natural>(spec: &CoderSpec, example: &Example<'_>) -> Result<(), String> {
    let coder = default_coder::<T>().map_err(|e| e.to_string())?;
    if coder.spec() != *spec {
        return Ok(());
    }
    let failed = |e: String| format!("the default coder of `{}`: {e}", std::any::type_name::<T>());
    example.check(&super::build::natural(coder, T::read, T::show)).map_err(failed)
}

//! Named DoFns: their configuration goes into the pipeline's JSON.
//!
//! A DoFn of a concrete type that implements [`NamedFn`] is written out with its fields when the pipeline's graph is
//! serialised, and comes back from it. Closures and generic DoFns are code without a name: they are found again by the
//! transform's path, in the pipeline that the same program builds.
//!
//! ```
//! use purlin_sdk::{DoFn, Emitter, Pipeline, ProcessContext, Result, named};
//! use serde::{Deserialize, Serialize};
//!
//! #[derive(Clone, Serialize, Deserialize)]
//! struct Scale { by: i64 }
//!
//! impl DoFn for Scale {
//!     type Input = i64;
//!     type Output = i64;
//!     fn process(&mut self, x: i64, _: &ProcessContext<'_>, out: &mut Emitter<'_, i64>) -> Result {
//!         out.emit(x * self.by);
//!         Ok(())
//!     }
//! }
//! named::register!(Scale);
//!
//! let p = Pipeline::new();
//! p.create("Numbers", [1]).par_do("Scale", Scale { by: 3 });
//! let json = serde_json::to_string(&p.build().unwrap().spec()).unwrap();
//! assert!(json.contains(r#"{"Scale":{"by":3}}"#), "{json}");
//! ```

use std::any::{Any, TypeId};

#[doc(hidden)]
pub use inventory;
#[doc(hidden)]
pub use typetag;

/// A DoFn with a name and a configuration. Implemented by [`register!`].
#[typetag::serde]
pub trait NamedFn: Any {
    /// The DoFn as what it is.
    fn as_any(&self) -> &dyn Any;
}

/// How a registered type is found again by its `TypeId`. Made by [`register!`].
#[doc(hidden)]
pub struct Registration {
    pub type_id: fn() -> TypeId,
    pub to_json: fn(&dyn Any) -> Option<serde_json::Value>,
}

inventory::collect!(Registration);

impl std::fmt::Debug for Registration {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Registration")
    }
}

#[doc(hidden)]
pub fn to_json<D: NamedFn + Clone>(dofn: &dyn Any) -> Option<serde_json::Value> {
    let named: Box<dyn NamedFn> = Box::new(dofn.downcast_ref::<D>()?.clone());
    serde_json::to_value(&named).ok()
}

/// The configuration of a registered DoFn, with its name; nothing for others.
pub(crate) fn payload_of<D: 'static>(dofn: &D) -> serde_json::Value {
    inventory::iter::<Registration>
        .into_iter()
        .find(|r| (r.type_id)() == TypeId::of::<D>())
        .and_then(|r| (r.to_json)(dofn))
        .unwrap_or(serde_json::Value::Null)
}

/// The DoFn whose configuration `payload` is, when it is registered as a `D`.
///
/// # Errors
/// When the payload names no registered type, another one, or has other fields.
pub fn from_payload<D: NamedFn + Clone>(payload: &serde_json::Value) -> crate::Result<D> {
    let named: Box<dyn NamedFn> = serde_json::from_value(payload.clone())?;
    named.as_any().downcast_ref::<D>().cloned().ok_or_else(|| {
        crate::DoFnError::msg(format!("this is the configuration of no `{}`", std::any::type_name::<D>()))
    })
}

/// Registers DoFns of concrete types, each with serde's traits, under the name of the type.
#[macro_export]
#[doc(hidden)]
macro_rules! __register_named {
    ($($T:ident),+ $(,)?) => {$(
        const _: () = {
            use $crate::named::typetag;
            #[typetag::serde]
            impl $crate::named::NamedFn for $T {
                fn as_any(&self) -> &dyn ::std::any::Any {
                    self
                }
            }
            $crate::named::inventory::submit! {
                $crate::named::Registration {
                    type_id: ::std::any::TypeId::of::<$T>,
                    to_json: $crate::named::to_json::<$T>,
                }
            }
        };
    )+};
}

#[doc(inline)]
pub use crate::__register_named as register;

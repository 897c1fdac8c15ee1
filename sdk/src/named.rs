//! Named DoFns and CombineFns: their configuration goes into the pipeline's JSON.
//!
//! A DoFn, splittable DoFn or CombineFn of a concrete type that implements [`NamedFn`] is written out with its fields
//! when the pipeline's graph is serialised, and comes back from it by [`Graph::restore`](crate::graph::Graph::restore).
//! Closures and generic DoFns are code without a name: they are found again by the transform's path, in the pipeline
//! that the same program builds. So is a CombineFn in `Combine::grouped_values`, which is a map.
//!
//! The name is that of the type alone, without its module: of two registered types of one name, neither comes back.
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

/// A DoFn or CombineFn with a name and a configuration. Implemented by [`register!`].
#[typetag::serde]
pub trait NamedFn: Any {
    /// The function as what it is.
    fn as_any(&self) -> &dyn Any;
}

/// How a registered type is found again by its `TypeId`. Made by [`register!`].
#[doc(hidden)]
pub struct Registration {
    pub type_id: fn() -> TypeId,
    pub to_json: fn(&dyn Any) -> crate::Result<serde_json::Value>,
    pub from_json: fn(&serde_json::Value) -> crate::Result<Box<dyn Any>>,
}

inventory::collect!(Registration);

impl std::fmt::Debug for Registration {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Registration")
    }
}

#[doc(hidden)]
pub fn to_json<D: NamedFn + Clone>(function: &dyn Any) -> crate::Result<serde_json::Value> {
    let Some(function) = function.downcast_ref::<D>() else { return Ok(serde_json::Value::Null) };
    let named: Box<dyn NamedFn> = Box::new(function.clone());
    Ok(serde_json::to_value(&named)?)
}

#[doc(hidden)]
pub fn from_json<D: NamedFn + Clone>(payload: &serde_json::Value) -> crate::Result<Box<dyn Any>> {
    Ok(Box::new(from_payload::<D>(payload)?))
}

fn registration_of<D: 'static>() -> Option<&'static Registration> {
    inventory::iter::<Registration>.into_iter().find(|r| (r.type_id)() == TypeId::of::<D>())
}

/// The configuration of a registered function, with its name; nothing for others.
///
/// # Errors
/// When it cannot be written as JSON.
pub(crate) fn payload_of<D: 'static>(function: &D) -> crate::Result<serde_json::Value> {
    registration_of::<D>().map_or(Ok(serde_json::Value::Null), |r| (r.to_json)(function))
}

/// The function whose configuration `payload` is; nothing when `D` is not registered.
///
/// # Errors
/// See [`from_payload`].
pub(crate) fn restored<D: 'static>(payload: &serde_json::Value) -> crate::Result<Option<D>> {
    let Some(registration) = registration_of::<D>() else { return Ok(None) };
    Ok((registration.from_json)(payload)?.downcast::<D>().ok().map(|d| *d))
}

/// The function whose configuration `payload` is, when it is registered as a `D`.
///
/// # Errors
/// When the payload names no registered type, another one, or has other fields.
pub fn from_payload<D: NamedFn + Clone>(payload: &serde_json::Value) -> crate::Result<D> {
    let named: Box<dyn NamedFn> = serde_json::from_value(payload.clone())?;
    named.as_any().downcast_ref::<D>().cloned().ok_or_else(|| {
        crate::DoFnError::msg(format!("this is the configuration of no `{}`", std::any::type_name::<D>()))
    })
}

/// Registers DoFns and CombineFns of concrete types, each with serde's traits, under the name of the type.
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
                    from_json: $crate::named::from_json::<$T>,
                }
            }
        };
    )+};
}

#[doc(inline)]
pub use crate::__register_named as register;

//! Beam's messages and services. The only place that names the crate they come from, so that it can be another one.

pub(crate) use beam_model_rs::v1::org::apache::beam::model::{
    fn_execution::v1 as fn_execution, job_management::v1 as job_management, pipeline::v1 as pipeline,
};

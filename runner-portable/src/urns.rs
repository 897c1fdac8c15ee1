//! Beam's names for what travels. They are options of enum values in Beam's protocol files, which the generated code
//! does not keep.
//!
//! Source: `beam_runner_api.proto`, `beam_fn_api.proto`, `metrics.proto` of Beam 2.77.
#![allow(dead_code)]

/// Our own functions, whose payload is a [`FnPayload`](crate::payload::FnPayload).
pub(crate) const DOFN: &str = "purlin:dofn:v1";

/// The values of a key that an engine grouped, combined: a part of a combine per key.
pub(crate) const COMBINE_GROUPED: &str = "purlin:combine_grouped:v1";
/// Values combined before they are grouped: a part of a combine that has a result for nothing.
pub(crate) const COMBINE_PRECOMBINE: &str = "purlin:combine_precombine:v1";
/// The accumulator of nothing: a part of such a combine.
pub(crate) const COMBINE_DEFAULT: &str = "purlin:combine_default:v1";
/// Grouped accumulators merged and extracted: a part of such a combine.
pub(crate) const COMBINE_ACCUMULATORS: &str = "purlin:combine_accumulators:v1";
/// The value of a side input, made of all elements of the window.
pub(crate) const VIEW: &str = "purlin:view:v1";
/// The window of a side input that an element looks at.
pub(crate) const WINDOW_MAPPING: &str = "purlin:window_mapping:v1";

pub(crate) mod transform {
    pub(crate) const PARDO: &str = "beam:transform:pardo:v1";
    pub(crate) const FLATTEN: &str = "beam:transform:flatten:v1";
    pub(crate) const GROUP_BY_KEY: &str = "beam:transform:group_by_key:v1";
    pub(crate) const IMPULSE: &str = "beam:transform:impulse:v1";
    pub(crate) const WINDOW_INTO: &str = "beam:transform:window_into:v1";
    pub(crate) const TEST_STREAM: &str = "beam:transform:teststream:v1";
    pub(crate) const MAP_WINDOWS: &str = "beam:transform:map_windows:v1";
    pub(crate) const MERGE_WINDOWS: &str = "beam:transform:merge_windows:v1";
    pub(crate) const TO_STRING: &str = "beam:transform:to_string:v1";
    pub(crate) const COMBINE_PER_KEY: &str = "beam:transform:combine_per_key:v1";
    pub(crate) const COMBINE_GLOBALLY: &str = "beam:transform:combine_globally:v1";
    pub(crate) const COMBINE_PRECOMBINE: &str = "beam:transform:combine_per_key_precombine:v1";
    pub(crate) const COMBINE_MERGE: &str = "beam:transform:combine_per_key_merge_accumulators:v1";
    pub(crate) const COMBINE_EXTRACT: &str = "beam:transform:combine_per_key_extract_outputs:v1";
    pub(crate) const COMBINE_CONVERT: &str = "beam:transform:combine_per_key_convert_to_accumulators:v1";
    pub(crate) const COMBINE_GROUPED: &str = "beam:transform:combine_grouped_values:v1";
    pub(crate) const RESHUFFLE: &str = "beam:transform:reshuffle:v1";
    pub(crate) const REDISTRIBUTE_BY_KEY: &str = "beam:transform:redistribute_by_key:v1";
    pub(crate) const REDISTRIBUTE_ARBITRARILY: &str = "beam:transform:redistribute_arbitrarily:v1";
    pub(crate) const SDF_PAIR: &str = "beam:transform:sdf_pair_with_restriction:v1";
    pub(crate) const SDF_SPLIT_AND_SIZE: &str = "beam:transform:sdf_split_and_size_restrictions:v1";
    /// Singular "element": Beam's own spelling.
    pub(crate) const SDF_PROCESS: &str = "beam:transform:sdf_process_sized_element_and_restrictions:v1";
    pub(crate) const SDF_TRUNCATE: &str = "beam:transform:sdf_truncate_sized_restrictions:v1";
    pub(crate) const SOURCE: &str = "beam:runner:source:v1";
    pub(crate) const SINK: &str = "beam:runner:sink:v1";
}

pub(crate) mod window_fn {
    pub(crate) const GLOBAL: &str = "beam:window_fn:global_windows:v1";
    pub(crate) const FIXED: &str = "beam:window_fn:fixed_windows:v1";
    pub(crate) const SLIDING: &str = "beam:window_fn:sliding_windows:v1";
    pub(crate) const SESSIONS: &str = "beam:window_fn:session_windows:v1";
    /// A window function of the user's.
    pub(crate) const OWN: &str = "purlin:window_fn:v1";
}

pub(crate) mod state {
    pub(crate) const BAG: &str = "beam:user_state:bag:v1";
    pub(crate) const MULTIMAP: &str = "beam:user_state:multimap:v1";
    pub(crate) const ORDERED_LIST: &str = "beam:user_state:ordered_list:v1";
}

pub(crate) mod side_input {
    pub(crate) const ITERABLE: &str = "beam:side_input:iterable:v1";
    pub(crate) const MULTIMAP: &str = "beam:side_input:multimap:v1";
}

pub(crate) mod environment {
    pub(crate) const DOCKER: &str = "beam:env:docker:v1";
    pub(crate) const PROCESS: &str = "beam:env:process:v1";
    pub(crate) const EXTERNAL: &str = "beam:env:external:v1";
    pub(crate) const DEFAULT: &str = "beam:env:default:v1";
    pub(crate) const ANYOF: &str = "beam:env:anyof:v1";
    /// Of Beam's Python job service alone: a shell command.
    pub(crate) const SUBPROCESS: &str = "beam:env:harness_subprocess_python:v1";
}

pub(crate) mod artifact {
    pub(crate) const FILE: &str = "beam:artifact:type:file:v1";
    pub(crate) const EMBEDDED: &str = "beam:artifact:type:embedded:v1";
    pub(crate) const STAGING_TO: &str = "beam:artifact:role:staging_to:v1";
}

pub(crate) mod requirement {
    pub(crate) const STATEFUL: &str = "beam:requirement:pardo:stateful:v1";
    pub(crate) const FINALIZATION: &str = "beam:requirement:pardo:finalization:v1";
    pub(crate) const STABLE_INPUT: &str = "beam:requirement:pardo:stable_input:v1";
    pub(crate) const TIME_SORTED_INPUT: &str = "beam:requirement:pardo:time_sorted_input:v1";
    pub(crate) const SPLITTABLE: &str = "beam:requirement:pardo:splittable_dofn:v1";
    pub(crate) const ON_WINDOW_EXPIRATION: &str = "beam:requirement:pardo:on_window_expiration:v1";
}

pub(crate) mod protocol {
    pub(crate) const PROGRESS: &str = "beam:protocol:progress_reporting:v1";
    pub(crate) const WORKER_STATUS: &str = "beam:protocol:worker_status:v1";
    pub(crate) const MULTI_CORE: &str = "beam:protocol:multi_core_bundle_processing:v1";
    pub(crate) const SHORT_IDS: &str = "beam:protocol:monitoring_info_short_ids:v1";
    pub(crate) const SDK_BASE: &str = "beam:version:sdk_base:purlin:v1";
}

pub(crate) mod metric {
    pub(crate) const USER_SUM: &str = "beam:metric:user:sum_int64:v1";
    pub(crate) const USER_DISTRIBUTION: &str = "beam:metric:user:distribution_int64:v1";
    pub(crate) const USER_LATEST: &str = "beam:metric:user:latest_int64:v1";
    pub(crate) const USER_STRINGS: &str = "beam:metric:user:set_string:v1";
    pub(crate) const USER_TRIE: &str = "beam:metric:user:bounded_trie:v1";
    pub(crate) const ELEMENT_COUNT: &str = "beam:metric:element_count:v1";
    pub(crate) const READ_INDEX: &str = "beam:metric:data_channel:read_index:v1";
    pub(crate) const PROGRESS_REMAINING: &str = "beam:metric:ptransform_progress:remaining:v1";
    pub(crate) const PROGRESS_COMPLETED: &str = "beam:metric:ptransform_progress:completed:v1";
}

pub(crate) mod metric_type {
    pub(crate) const SUM: &str = "beam:metrics:sum_int64:v1";
    pub(crate) const DISTRIBUTION: &str = "beam:metrics:distribution_int64:v1";
    pub(crate) const LATEST: &str = "beam:metrics:latest_int64:v1";
    pub(crate) const PROGRESS: &str = "beam:metrics:progress:v1";
    pub(crate) const STRINGS: &str = "beam:metrics:set_string:v1";
    pub(crate) const TRIE: &str = "beam:metrics:bounded_trie:v1";
}

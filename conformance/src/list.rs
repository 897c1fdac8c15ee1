//! The list of all cases.

/// Calls the macro `$then` with all cases: topics, which are modules of [`cases`](crate::cases), each with its
/// functions, and in brackets what a case [needs](crate::table::Needs).
///
/// A macro that makes a test of each case, as this project does it:
///
/// ```
/// macro_rules! tests {
///     ($($topic:ident { $($case:ident $([$($need:tt)*])?),+ $(,)? })+) => {
///         $(mod $topic { $(
///             #[test]
///             fn $case() {
///                 purlin_conformance::table::check_here(stringify!($topic), stringify!($case));
///             }
///         )+ })+
///     };
/// }
/// purlin_conformance::conformance_cases!(tests);
/// ```
// The example is about tests.
#[allow(clippy::test_attr_in_doctest)]
#[macro_export]
macro_rules! conformance_cases {
    ($then:ident) => {
        $then! {
            async_dofn {
                concurrency_is_bounded,
                order,
                elements_keep_what_they_have,
                everything_else,
                what_goes_wrong,
                cancelled_while_it_waits,
                tokio_timers,
                closures,
            }
            basics {
                par_do,
                par_do_of_nothing,
                par_do_with_tagged_outputs,
                output_with_timestamps,
                many_outputs_at_once,
                timestamp_skew,
                create,
                metrics,
                pipeline_options,
                b202_a_test_stream_without_an_end,
                impossible_test_streams,
                a_test_stream_runs_to_quiescence,
                the_first_element_is_late,
                several_test_streams,
                chained_tagged_outputs,
            }
            batches {
                batches_of_a_size,
                batches_in_windows,
                a_longest_duration_in_windows,
                a_longest_duration_in_the_global_window,
                batches_of_a_byte_size,
                batches_of_sharded_keys,
                b089_a_batch_is_not_late,
                b090_missing_and_empty_keys,
                late_data_are_batched,
                a_late_value_does_not_make_others_late,
                a_timestamp_after_the_window,
                batches_that_cannot_be,
                b147_a_hot_key_is_batched,
                remainders_are_on_time,
            }
            fanout {
                parts_are_as_many_as_asked_for,
                a_hot_key_is_in_several_bundles [threads: 2],
                b207_a_fanout_of_nothing,
                late_and_closed_elements_are_counted,
                timestamps_are_the_same,
                nothing_is_combined_to_the_default,
                sessions_across_parts,
            }
            value_kinds {
                elements_are_inserted,
                kinds_go_along,
                kinds_in_keyed_and_async_dofns,
                kinds_beside_other_elements,
            }
            wait {
                in_the_same_windows,
                in_different_windows,
                a_signal_in_sliding_windows,
                in_the_global_window,
                windows_without_a_signal,
                released_when_the_signal_s_window_is_closed,
                all_of_several_signals,
                empty_signals,
                released_elements_are_as_they_were,
                an_element_that_waits_holds_the_watermark,
                signals_that_cannot_be_waited_for,
            }
            duplicates {
                b086_repeats_out_of_order,
                repeats_in_event_time,
                repeats_in_processing_time,
                repeats_within_ten_minutes,
                repeats_in_different_windows,
                repeats_of_keys_and_representatives,
                repeats_that_cannot_be_told,
                distinct_under_a_trigger,
                distinct_in_windows,
                aggregations_under_a_trigger,
            }
            watch {
                a_single_poll_of_several_elements,
                many_polls,
                many_polls_with_a_key,
                a_poll_with_many_outputs,
                outputs_come_in_the_order_of_time,
                the_watermark_follows_the_polls,
                the_interval_is_kept,
                a_watermark_at_the_end_is_complete,
                a_drain_ends_polling,
                a_poll_that_fails,
            }
            bundles {
                b114_late_data_are_dropped_by_groupings_only,
                b115_a_window_decides_what_is_late,
                b115_the_boundary_of_lateness,
                b120_bundles_do_not_matter,
            }
            coders {
                a_type_that_leaves_something_out,
                another_coder_for_such_a_type,
            }
            combine {
                several_at_once,
                b137_a_global_combine_in_several_windows,
                b138_defaults_in_windows_are_refused,
                b139_global_combines_of_nothing,
                combines_of_something,
                b140_a_fanout_changes_no_result,
                b142_windows_share_no_accumulator,
                b147_a_hot_key_is_linear,
                group_by_key,
                b090_empty_keys,
                large_keys,
                co_group_by_key,
                co_group_by_key_in_windows,
                b155_grouped_values_can_be_walked_again,
                combining_in_windows,
                the_earliest_timestamp_holds_the_watermark,
            }
            combine_context {
                a_side_input_while_combining,
                the_side_window_follows_the_main_one,
                defaults_in_windows,
            }
            costs {
                b177_the_cost_of_an_element_is_flat,
                b144_floats_by_their_bits,
                b204_reads_bounded_by_time_end,
                b204_a_poll_that_blocks,
            }
            custom_windows {
                merging_custom_windows,
                merging_windows_that_do_not_merge,
                custom_window_types,
                a_reshuffle_after_custom_windows,
                window_sums,
                merges_that_cannot_be,
                times_and_side_windows_that_cannot_be,
            }
            errors {
                b148_a_name_given_twice,
                a_name_with_a_slash_in_it,
                b149_an_undeclared_tag,
                b150_errors_name_the_transform,
                b150_closures_that_panic,
                b150_combine_fns_that_panic,
                b150_a_side_input_that_cannot_be_read,
                b150_sources_that_fail,
                b150_window_fns_that_fail,
                b156_a_grouping_that_never_fires,
                all_build_errors_at_once,
            }
            expiration {
                once_for_each_key_and_window,
                at_the_end_of_the_global_window,
                b076_lateness_in_the_global_window,
                expiration_holds_the_watermark,
                the_order_of_the_last_things,
                a_periodic_flush_ends_with_the_input,
                mistakes_in_on_window_expiration,
                on_window_expiration_must_be_declared,
                timestamp_skew_at_expiration,
            }
            failure {
                b170_a_panic_ends_the_run,
                b171_without_retries_nothing_is_seen_of_a_failed_bundle,
                b171_a_bundle_counts_once_however_often_it_is_tried [retries: 2],
                retries_end [retries: 2],
                retries_wait_longer_each_time [retries: 3],
                only_retryable_errors_are_tried_again [retries: 2],
                a_retried_restriction_counts_once [retries: 20],
                b170_a_panic_in_a_split_ends_the_run [threads: 2],
            }
            faults {
                a_drop_that_panics,
                a_drop_in_a_closure_that_panics,
                marks_may_use_the_handle,
                a_mark_that_panics,
                a_side_window_that_panics,
                what_the_engine_calls_that_panics [retries: 2],
            }
            finalizers {
                b173_a_finalizer_that_fails_loses_no_data,
                b173_a_finalizer_is_called_up_to_its_expiry,
                finalizers_of_three_thousand_bundles,
                b173_finalizers_run_for_committed_bundles_only [retries: 2],
                finalizers_of_keyed_dofns,
                finalizers_with_side_inputs,
            }
            flatten {
                b050_silent_branches_hold_no_elements_back,
                b051_the_same_collection_several_times,
                b053_a_collection_with_several_consumers,
                b053_another_coder_does_not_leak,
                b054_a_flatten_of_nothing,
                b055_incompatible_windows,
                b205_bounded_and_unbounded_together,
            }
            go_triggers {
                trigger_default,
                trigger_always,
                trigger_element_count,
                trigger_repeat,
                trigger_after_processing_time,
                trigger_after_end_of_window,
                trigger_after_all,
                trigger_after_each,
                trigger_after_any,
                trigger_after_synchronized_processing_time,
                trigger_never,
                trigger_or_finally,
                panes_in_a_dofn,
            }
            handle {
                b179_wait_with_a_timeout_then_cancel,
                cancel_is_final,
                many_wait_for_one_run,
            }
            lifecycle {
                call_sequence,
                call_sequence_of_keyed_dofns,
                b167_teardown_of_keyed_dofns_after_a_failure,
                b167_teardown_after_a_failure,
                b168_a_failing_teardown,
                finish_bundle_says_timestamp_and_window,
                b168_one_of_eight_setups_fails [threads: 8],
            }
            metrics {
                metrics_of_bundles,
                metrics_of_timers,
                attempted_and_committed [retries: 2],
                elements_are_counted,
                string_sets_and_tries [retries: 2],
            }
            no_trace {
                plain_windows [retries: 4],
                plain_windows_with_lateness [retries: 4],
                sessions [retries: 4],
                triggered_windows_that_discard [retries: 4],
                triggered_windows_that_accumulate [retries: 4],
                a_trigger_that_ends [retries: 4],
                state_and_timers [retries: 4],
                time_sorted_input [retries: 4],
                triggered_side_inputs [retries: 4],
                restrictions [retries: 4],
            }
            options {
                b207_every_windowing_option_has_an_effect,
            }
            panes {
                combining_accumulating_processing_time,
                a_fanout_with_accumulating_panes,
                b140_a_fanout_changes_no_pane,
                co_group_by_key_in_panes,
                b101_lateness_near_the_end_of_time,
            }
            pending_timers {
                a_timer_that_sets_itself_goes_on_after_the_end,
                pending_timers_fire_in_order,
                pending_timers_all_fire,
                the_last_timers_of_a_window,
                b031_every_callback_of_a_bundle_is_called,
            }
            scripts {
                streams_of_one_script_share_its_order,
                marks_come_at_rest,
                a_bounded_test_stream,
                impossible_scripts,
            }
            sessions {
                b122_sessions_merge_per_key,
                b098_the_timestamp_of_merged_windows,
                b124_the_order_of_inputs_does_not_matter,
                b126_a_late_event_joins_no_session,
                b127_merged_windows_do_not_merge_again,
                touching_sessions_stay_apart,
            }
            sides {
                b129_an_empty_side_window,
                b129_an_empty_side_window_is_ready_at_once,
                b130_elements_wait_for_their_own_side_window,
                b132_a_slow_side_input_of_sessions,
                b134_a_side_input_of_the_same_source,
                b136_side_inputs_that_cannot_be,
                side_inputs_of_side_inputs,
                several_side_inputs_in_one_dofn,
                a_list_keeps_its_order,
                broken_views_are_errors,
                views_that_are_not_read,
                b142_several_windows_several_side_inputs,
                main_windows_map_to_side_windows,
                a_combine_as_windowed_side_input,
                b115_a_late_element_with_a_side_input,
            }
            alignment {
                a_fast_source_waits_for_a_slow_one,
                partitions_wait_for_each_other,
                b045_no_limit_when_all_are_idle,
                b047_without_a_watermark_it_does_not_count,
                the_alignment_of_a_strategy,
            }
            strategies {
                b056_an_element_at_the_watermark_is_on_time,
                b057_ticks_before_the_first_element,
                b059_the_clock_is_not_the_watermark,
                b061_a_tick_emits_what_is_new,
                the_greatest_time_less_a_delay,
                a_negative_delay,
                the_least_of_the_partitions,
                partitions_and_collections_that_are_idle,
                punctuated_generators,
                a_watermark_under_control,
                one_watermark_of_several,
                the_watermark_behind_a_grouping,
                late_rows_as_dead_letters,
            }
            idleness {
                b034_all_inputs_idle,
                b037_readers_without_partitions,
                b038_a_quiet_partition,
                b039_finished_is_not_idle,
                b042_a_steady_source_is_never_idle,
                b048_partitions_are_known_before_they_are_read,
                idle_to_the_end,
            }
            sources {
                b001_an_empty_poll_does_not_pin_the_watermark,
                b002_a_resume_waits_as_long_as_it_says,
                b004_an_endless_source_feeds_what_is_downstream,
                b005_windows_of_an_endless_source_close,
                b007_a_monotonic_estimator_takes_what_is_out_of_order,
                b008_a_manual_watermark_refuses_to_go_back,
                b010_checkpoints_keep_elements_on_time,
                b014_polling_leaves_nothing_behind,
                b015_a_poll_does_not_make_its_own_elements_late,
            }
            splittable {
                b012_a_checkpoint_before_the_first_claim_does_no_harm,
                b021_empty_restrictions_are_done,
                b026_resumes_with_the_residual,
                b028_outputs_stay_in_the_window,
                b030_drain_ends_unbounded_work,
                b030_drain_finishes_bounded_work,
                b030_drain_keeps_what_truncation_keeps,
                pair_with_index,
                pair_with_index_windowed,
                output_after_checkpoint,
                side_input_across_checkpoints,
                tagged_output,
                undone_work_fails,
                a_counter_across_checkpoints,
                finalizers_run_between_checkpoints,
                an_endless_restriction_is_checkpointed,
                b033_a_split_does_not_swallow_a_failure,
                one_restriction_runs_in_parallel [threads: 2],
                elements_run_in_parallel_after_a_reshuffle [threads: 2],
            }
            splittable_windows {
                windowed_side_inputs_across_checkpoints,
                late_data_go_through,
                life_cycle,
            }
            state {
                value_state,
                value_state_drops_duplicates,
                state_is_per_window,
                state_of_one_name_in_two_transforms,
                values_of_a_key,
                bags,
                sets,
                maps,
                b079_sequences_on_a_map,
                multimaps,
                ordered_lists,
                combining_state,
                combining_state_with_a_parameter,
                b081_a_large_set,
                b083_a_key_is_in_one_bundle_at_a_time,
                b084_elements_of_a_bundle_keep_their_order,
                b086_duplicates_by_event_time,
                b090_keys_of_nothing,
                time_sorted_input,
                time_sorted_input_with_late_data,
                time_sorted_input_with_allowed_lateness,
                b088_sorted_input_that_is_late_but_allowed,
                time_sorted_input_with_timers,
                timers_between_sorted_elements_with_lateness,
                late_elements,
                state_with_side_inputs_and_tagged_outputs,
                state_that_cannot_be,
                state_in_sessions_that_were_grouped,
                a_keyed_dofn_without_state,
                the_graph_declares_state,
                a_failed_bundle_leaves_no_trace_in_state [retries: 4],
            }
            streams {
                values_of_all_kinds,
                processing_time_trigger,
                a_buffer_flushed_by_count_or_timer,
            }
            timers {
                event_time_timer_bounded,
                timers_behind_a_grouping,
                event_time_timer_unbounded,
                b078_a_timer_fires_when_the_watermark_has_passed_it,
                b063_no_timer_fires_early,
                b065_setting_again_replaces,
                b066_a_callback_changes_timers_that_are_due,
                b068_state_is_there_when_timers_fire,
                b069_state_lives_until_its_window_expires,
                b070_a_timer_holds_the_watermark_at_its_output_timestamp,
                a_timer_upstream_holds_timers_downstream,
                b072_impossible_times_are_errors_where_they_are_set,
                b073_a_timer_that_sets_itself_ends,
                a_timer_in_the_past_emits_nothing_late,
                b074_a_timer_in_the_past_fires_at_once_and_once,
                b089_a_batch_that_waits_holds_the_watermark,
                aligned_timers,
                timers_fire_in_the_windows_of_the_element,
                a_timer_at_the_end_of_its_window,
                a_timer_within_the_allowed_lateness,
                a_timer_in_a_loop,
                one_timer_for_each_of_many_keys,
                a_timer_s_timestamp_is_its_output_timestamp,
                a_timer_without_an_output_timestamp,
                timestamp_skew_in_timers,
                processing_time_timers,
                timers_fire_in_the_order_of_their_times,
                two_timers_that_set_each_other,
                a_timer_that_is_set_to_now_follows_the_watermark,
                cleared_timers,
                timer_families,
                key_and_options_in_timers,
                a_timer_without_a_callback_is_an_error,
                timers_in_the_global_window_behind_others,
            }
            triggered_sides {
                the_latest_singleton,
                lists_grow,
                several_elements_are_no_singleton,
                a_sum_so_far_as_singleton,
                a_slowly_changing_map,
                a_key_twice_in_a_firing_is_no_map,
                a_list_that_is_replaced,
                windows_are_ready_at_their_first_pane,
                late_data_reach_late_readers,
                a_side_input_that_is_never_ready_is_refused,
                b136_a_stateful_dofn_waits_for_its_side_input,
            }
            triggers {
                b105_the_rest_comes_out_at_expiry,
                b106_triggers_that_lose_data_are_refused,
                options_are_checked_at_build,
                a_trigger_that_never_fires_is_refused,
                b109_early_panes_do_not_wait,
                b110_empty_panes,
                b112_processing_time_counts_from_the_first_element,
                b117_a_growing_session_fires_early,
                b118_a_count_goes_through_a_merge,
                b121_late_data_are_counted_and_can_be_had,
                late_data_accumulate,
                discarding_leaves_the_late_to_the_last_pane,
                a_first_element_that_is_late,
                early_panes_of_a_window,
                never,
                a_trigger_that_stops_in_a_window_without_an_end_is_refused,
                a_count_is_looked_at_once_a_bundle,
                composites,
                data_for_a_closed_window_are_counted,
                processing_time_is_synchronized_downstream,
                late_elements_do_not_pull_the_timestamp_back,
                lateness_of_sliding_windows,
                a_default_under_triggers,
            }
            views {
                a_combine_as_map,
                a_default_of_nothing,
                lists_in_views,
                views_by_window,
                singletons_by_window,
            }
            windows {
                b091_negative_timestamps_and_offsets,
                elements_behind_the_watermark_do_not_move_timestamps,
                b092_an_element_in_no_window_is_counted,
                b094_precise_far_from_the_origin,
                b095_overlapping_windows_fire_at_their_ends,
                b096_grouped_twice_in_the_same_window,
                b100_timestamps_at_the_ends_of_time,
                b100_grouped_again_after_a_window_past_the_global_end,
                b100_past_the_end_of_time,
                b103_output_at_the_end_of_a_bundle_has_a_window,
                a_bundle_holds_the_watermark,
                b104_a_reshuffle_is_transparent,
                a_reshuffle_keeps_early_and_late_panes,
                new_timestamps_leave_elements_in_their_windows,
                a_reshuffle_keeps_the_windowing,
                grouping_in_overlapping_windows,
                a_group_has_the_timestamp_that_was_asked_for,
                options_alone_do_not_assign_windows,
                windows_are_preserved,
                elements_almost_at_the_end_of_time,
                windows_that_cannot_be,
            }
        }
    };
}

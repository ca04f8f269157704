"""The promises of the README and the docs, each with the tests that show it: `path::test`, from tests/.

They are in the words that stand there, without links and emphasis.
"""

_EDITS = "serving/test_edits_served.py"
_DOORS, _GUARD = "request/test_doors.py", "request/test_guard.py"
_REFUSAL, _HEADERS = "request/test_refusal.py", "request/test_headers.py"
_DECIDE, _WITHOUT, _SERVER = "request/test_decide.py", "request/test_without_redis.py", "faults/test_one_server.py"
_README = "project/test_readme.py"

PROMISES: dict[str, tuple[str, ...]] = {
    "which should say State: This process counts on Redis.": (f"{_README}::test_the_five_minutes_end_with_a_429",),
    "they are answered 200 200 200 200 200 429": (f"{_README}::test_the_five_minutes_end_with_a_429",),
    "click Save and enforce: three more pass.": (
        f"{_README}::test_a_rule_of_the_admin_takes_over",
        f"{_DOORS}::test_a_row_takes_the_place_of_the_rate_in_code_once_it_is_enforced_or_off",
    ),
    "counts inside one process": (f"{_DOORS}::test_one_process_can_count_for_itself_without_redis",),
    "Behind a proxy every client has the proxy's address until you name it in TRUSTED_PROXIES.": (
        "identity/test_address.py::test_behind_a_trusted_proxy_the_right_most_untrusted_address_is_the_client",
        "identity/test_address.py::test_a_peer_that_is_no_proxy_is_not_believed",
    ),
    "An edited rule acts within a second, in every process and without a restart": (
        f"{_EDITS}::test_an_edit_in_the_admin_is_obeyed_by_all_workers",
        f"{_EDITS}::test_an_edit_is_obeyed_by_workers_of_every_kind",
    ),
    "keeps what was counted": (
        "limiter/test_limiter.py::test_a_raised_limit_keeps_what_was_counted",
        f"{_DOORS}::test_a_row_that_takes_over_from_code_keeps_the_counts",
    ),
    "QuerySet.update(), bulk_create(), raw SQL, another program | half a minute": (
        f"{_EDITS}::test_an_edit_that_nothing_tells_of_is_obeyed_after_the_next_reading",
    ),
    "It admits at most the limit in any period, in a few hundred bytes": (
        "limiter/test_conformance.py::test_no_window_ever_holds_more_than_its_limit",
        "limiter/test_worst_cases.py::test_the_stated_worst_case_is_reached_and_never_exceeded",
        "request/test_concurrency.py::test_eight_processes_at_a_limit_of_fifty_admit_fifty",
        "limiter/test_footprint.py::test_buckets_take_at_most_400_bytes_whatever_the_traffic",
    ),
    "A refused request uses up nothing.": (
        f"{_DOORS}::test_every_rule_that_matches_applies_and_a_refused_request_costs_nothing",
        "limiter/test_limiter.py::test_a_refused_request_costs_nothing_in_any_window",
    ),
    "The middleware and each decorator or throttle decide their rules in one call each.": (
        f"{_GUARD}::test_is_given_back_in_one_call_and_the_refusal_stays_known",
    ),
    "A new one starts in shadow: it counts, and never refuses.": (
        "admin/rules/test_rule_admin.py::test_a_new_rule_is_in_shadow_until_somebody_says_otherwise",
        f"{_DOORS}::test_shadow_rules_refuse_nobody_and_send_no_headers",
        "report/test_sentence.py::test_what_a_rule_in_shadow_would_refuse_is_named_when_it_is_much",
    ),
    "Limits come from your own tables, too": (
        "rules/test_limits_from.py::test_each_client_has_the_limits_that_the_function_returns",
        "sites/test_by_plan.py::test_each_customer_gets_exactly_its_rate_in_a_thousand_histories",
    ),
    "Code of the site is told once when a client has used 75, 90 and 100 % of a quota": (
        "request/test_quotas.py::test_each_threshold_is_told_when_it_is_reached",
        "limiter/test_alignment.py::test_a_month_begins_at_the_first_moment_of_its_day",
    ),
    "for each in ratewindow.usage(request)": (
        "operations/test_usage.py::test_usage_is_what_the_next_answers_headers_say",
        "operations/test_usage.py::test_a_user_of_both_has_each_ones_counts",
    ),
    "Blocks and exemptions of addresses, networks, users and groups end by themselves.": (
        "overrides/test_conditions.py::test_one_row_is_for_all_whom_it_describes",
        "overrides/test_lookup.py::test_a_request_finds_networks_users_groups_and_other_identities",
        "overrides/test_doors.py::test_it_refuses_whatever_is_asked_for_even_where_no_rule_is_met",
        "overrides/test_doors.py::test_who_is_let_pass_meets_no_rule_and_sees_no_headers",
        "overrides/test_held.py::test_it_begins_and_ends_by_the_clock_without_reading_anew",
    ),
    "chooses between a page, plain text (the default) and application/problem+json": (
        f"{_REFUSAL}::test_a_client_gets_what_it_prefers",
        f"{_REFUSAL}::test_every_form_says_when_to_come_back_and_is_not_stored",
        "serving/test_clients.py::test_the_first_retry_after_a_refusal_is_admitted",
    ),
    "429 with Retry-After, and RateLimit headers.": (
        f"{_HEADERS}::test_policy_and_limit_are_told_under_the_rules_names",
        "request/test_older_headers.py::test_the_older_trio_tells_of_the_window_closest_to_exhaustion",
    ),
    "A decision waits at most 100 ms": (
        "faults/test_one_wait.py::test_what_a_silent_redis_is_asked_about_one_request_is_one_question",
        "faults/test_served.py::test_under_traffic_no_request_fails_and_nobody_asks_a_server_that_is_away",
    ),
    "after three failures in a row requests stop waiting at all until Redis is back": (
        f"{_DECIDE}::test_one_failure_is_a_hiccup_and_several_in_a_row_open_the_breaker",
        f"{_DECIDE}::test_once_the_breaker_is_open_no_request_touches_a_socket",
        f"{_SERVER}::test_a_server_in_trouble_fails_no_request_and_is_used_again_when_it_is_over",
    ),
    "By default they pass uncounted meanwhile": (f"{_DECIDE}::test_without_redis_requests_pass_and_one_log_line_says_so",),
    "choose refuse or local": (f"{_WITHOUT}::test_each_rule_answers_as_it_says",),
    "each client may then use its limit once more": (
        f"{_SERVER}::test_a_server_that_was_started_again_without_its_data_locks_nobody_out",
    ),
    "follows the limit or rule of that name; without one, every request passes and the log warns once": (
        f"{_DOORS}::test_a_named_rule_is_followed_where_code_names_it_and_nowhere_else",
        f"{_DOORS}::test_a_name_that_nobody_defined_lets_pass_with_one_warning",
    ),
    "block=False) # the view decides": (f"{_DOORS}::test_without_block_the_view_decides",),
    "# waits for its turn": (
        "test_api.py::test_acquire_waits_its_turn",
        "test_api.py::test_acquire_does_not_wait_for_a_turn_that_comes_too_late",
    ),
    "The report shows the last minutes without a collector": (
        "report/test_report.py::test_open_minutes_are_reported_without_a_collector",
    ),
    "For history, collect the counts every minute and clean up every hour.": (
        "counting/test_collecting.py::test_collecting_twice_changes_nothing",
        "test_tasks.py::test_a_worker_collects_cleans_and_sends_its_last_counts",
    ),
    "REDIS must be set unless the cache default is on Redis.": (
        f"{_README}::test_without_redis_in_the_settings_the_check_names_the_line",
    ),
    "Each permission opens its own pages and buttons.": (
        "admin/rules/test_permissions.py::test_nor_by_editing_a_rule_or_copying_one_that_is_enforced",
        "admin/overrides/test_release_page.py::test_it_needs_its_own_permission",
        "admin/overrides/test_override_admin.py::test_they_see_masked_identities_and_cannot_search_for_them",
        "admin/test_switch_page.py::test_it_needs_its_own_permission",
    ),
    "add celery[redis] yourself if Redis is your broker": (
        "project/test_requirements.py::test_the_extra_asks_for_celery_alone_whose_own_extras_choose_a_redis_py",
    ),
    "a site with its own Redis, workers and traffic; prints where to look; Ctrl-C ends it": (
        "testproject/test_demo.py::test_the_demo_answers_limits_and_ends_without_a_trace",
    ),
}

"""Every input that breaks limiters elsewhere, and the tests that show what it does to this one: `path::test`, from tests/.

Those of ADDRESS and SERVED run through gunicorn and uvicorn. An item without tests is about something that is not there.
"""

_WALK, _TRICKS, _DOORS = "serving/test_address_walk.py", "serving/test_path_tricks.py", "serving/test_doors_served.py"
_RULES, _LIST, _PERMISSIONS = (f"admin/rules/test_{name}.py" for name in ("rule_admin", "list", "permissions"))
_OVERRIDES, _REPORT = "admin/overrides/test_override_admin.py", "admin/report/test_report_admin.py"
_LOCKOUT = "together/test_confirm_page.py"
_ADDRESS, _SENT, _METHODS = "badinputs/test_address.py", "badinputs/test_identity.py", "badinputs/test_paths_and_methods.py"
_NUMBERS, _PAGES, _BROWSER = "badinputs/test_numbers.py", "badinputs/test_pages.py", "browser/test_markup_browser.py"
_SPELLINGS = "rules/test_path_variants.py"
_PLAIN, _BODY, _WORST, _WORST_SERVED = (
    "identity/test_request_attributes.py",
    "identity/test_body_fields.py",
    "badinputs/test_worst_strings.py",
    "serving/test_worst_strings_served.py",
)

ADDRESS: dict[str, tuple[str, ...]] = {
    "rotating X-Forwarded-For without configured proxies": (f"{_WALK}::test_who_comes_past_the_proxy_is_not_believed",),
    "a spoofed left part behind one trusted proxy": (
        f"{_WALK}::test_what_the_client_sent_itself_stands_left_and_changes_nothing",
        f"{_ADDRESS}::test_what_a_client_forges_left_of_it_changes_nothing_there_either",
    ),
    "two lines of X-Forwarded-For": (f"{_WALK}::test_two_lines_of_the_header_are_one_list",),
    "X-Forwarded-For from a peer that is not trusted": (f"{_WALK}::test_who_comes_past_the_proxy_is_not_believed",),
    "more hops declared than there are": (f"{_WALK}::test_more_proxies_declared_than_there_are_count_for_the_peer",),
    "`1.2.3.4,`, `,`, empty, spaces": (
        f"{_ADDRESS}::test_a_header_with_nothing_where_the_address_should_be_is_one_client",
        "identity/test_address.py::test_what_the_proxy_passed_on_as_junk_counts_for_the_proxy",
    ),
    "`unknown`, `_hidden`, `localhost`": (f"{_WALK}::test_junk_where_the_address_should_be_is_one_client_and_no_error",),
    "ports, brackets and quotes": (
        f"{_WALK}::test_a_port_behind_an_address_makes_no_other_client",
        f"{_WALK}::test_however_an_address_is_written_it_is_one_client",
    ),
    "mapped addresses: the same client, and two of them two": (
        f"{_WALK}::test_a_mapped_address_is_the_address",
        f"{_WALK}::test_two_mapped_addresses_are_two_clients",
    ),
    "rotation within a /64": (f"{_WALK}::test_addresses_of_one_network_of_64_bits_are_one_client",),
    "upper case, long and scoped IPv6": (f"{_WALK}::test_however_an_address_is_written_it_is_one_client",),
    "octal, hexadecimal and full-width digits": (
        f"{_WALK}::test_junk_where_the_address_should_be_is_one_client_and_no_error",
        "identity/test_address.py::test_other_ways_to_write_digits_are_no_address",
    ),
    "no REMOTE_ADDR, behind a unix socket": (
        f"{_WALK}::test_a_proxy_at_a_unix_socket_is_believed_where_proxies_are_trusted",
        f"{_ADDRESS}::test_without_an_address_of_the_peer_nobody_chooses_one",
    ),
    "thirty other headers that tell addresses": (
        f"{_WALK}::test_no_other_header_tells_an_address",
        f"{_WALK}::test_a_header_with_underscores_is_not_that_of_the_proxy",
    ),
    "uvicorn has rewritten REMOTE_ADDR already": (
        f"{_ADDRESS}::test_an_address_that_uvicorn_has_rewritten_is_taken_as_it_is",
        f"{_ADDRESS}::test_what_a_client_forges_left_of_it_changes_nothing_there_either",
    ),
}

SERVED: dict[str, tuple[str, ...]] = {
    "the header SCRIPT_NAME": (f"{_TRICKS}::test_no_spelling_of_a_path_passes_a_third_time",),
    "`/%6cogin/`, `/login%2f` that reach the view": (f"{_TRICKS}::test_no_spelling_of_a_path_passes_a_third_time",),
    "a target in absolute form, `//login/`": (f"{_TRICKS}::test_no_spelling_of_a_path_passes_a_third_time",),
    "routes that are loose regular expressions or ignore case": (
        f"{_TRICKS}::test_no_other_text_that_a_site_takes_for_the_same_page_passes_a_third_time",
    ),
    "another language, with translated words or a prefix; a page with and without a slash": (
        f"{_TRICKS}::test_no_other_text_that_a_site_takes_for_the_same_page_passes_a_third_time",
        f"{_SPELLINGS}::test_a_path_is_one_path_in_every_language",
        f"{_SPELLINGS}::test_a_path_whose_words_are_translated_is_one_path",
        f"{_SPELLINGS}::test_a_prefix_is_one_in_every_language",
        f"{_SPELLINGS}::test_a_page_with_and_without_a_slash_is_one",
    ),
    "a converter of the site's, derived from Django's or not": (
        f"{_TRICKS}::test_no_other_text_that_a_site_takes_for_the_same_page_passes_a_third_time",
        f"{_SPELLINGS}::test_a_converter_that_takes_several_texts_for_one_value_makes_one_path_of_them",
    ),
    "`%0a` where a regex rule has a dot": (
        f"{_TRICKS}::test_no_other_text_that_a_site_takes_for_the_same_page_passes_a_third_time",
        "rules/test_regex.py::test_a_dot_is_any_character_of_a_path_also_a_line_feed",
    ),
    "the redirect of APPEND_SLASH": (
        f"{_DOORS}::test_the_redirect_that_appends_a_slash_charges_nothing",
        f"{_TRICKS}::test_the_redirect_to_the_slash_is_not_the_page",
    ),
    "methods that nobody knows": (
        f"{_DOORS}::test_a_method_that_nobody_knows_counts_too",
        f"{_METHODS}::test_methods_that_nobody_knows_are_counted_with_all_others",
    ),
    "HEAD": (f"{_DOORS}::test_head_counts_as_get_and_is_told_the_same_without_a_body",),
    "X-HTTP-Method-Override": (
        f"{_METHODS}::test_a_header_that_overrides_the_method_neither_hides_a_post_nor_makes_one",
        f"{_METHODS}::test_nor_does_a_field_of_the_form_or_of_the_query",
    ),
    "twenty pipelined requests": (
        f"{_DOORS}::test_each_of_twenty_pipelined_requests_counts",
        f"{_METHODS}::test_twenty_pipelined_requests_of_several_methods_each_count",
    ),
    "a flood of paths that are not there: no key for each": (
        f"{_TRICKS}::test_a_flood_of_paths_that_are_not_there_leaves_no_key_for_each",
        f"{_DOORS}::test_a_flood_of_paths_that_do_not_exist_leaves_one_state_for_one_client",
    ),
    "a header of 7 kB": (f"{_SENT}::test_a_header_of_seven_kilobytes_is_one_client_with_a_short_key",),
    "a field of 1 MB": (f"{_SENT}::test_a_field_of_a_megabyte_is_answered_and_makes_no_long_key",),
    "NUL, CR, LF and tab in a header": (f"{_WORST_SERVED}::test_each_is_answered_and_a_client_that_comes_again_is_refused",),
    "a header that is missing or empty": (f"{_SENT}::test_a_header_that_is_missing_or_empty_counts_by_address",),
    "a header or field that is sent twice": (
        f"{_SENT}::test_a_header_that_is_sent_twice_is_one_value_and_the_order_is_part_of_it",
        f"{_SENT}::test_a_field_that_is_sent_twice_is_what_the_view_sees",
    ),
    "another Host each time": (f"{_SENT}::test_another_host_each_time_is_no_new_client",),
    "bytes that are no UTF-8": (f"{_SENT}::test_bytes_that_are_no_text_are_one_client_and_no_error",),
    "logging in does not reset the limit of the address": (
        f"{_SENT}::test_logging_in_does_not_begin_the_limit_of_the_address_anew",
    ),
    "the session's cookie dropped each time": (f"{_SENT}::test_dropping_or_making_up_cookies_is_no_new_client",),
}

IDENTITY: dict[str, tuple[str, ...]] = {
    '("a:b", "c") and ("a", "b:c")': (
        "identity/test_recipe.py::test_joined_parts_cannot_be_mistaken_for_each_other",
        "identity/test_recipe.py::test_different_parts_are_different_clients",
    ),
    "user 1, user names like addresses, anonymous 1": (
        "identity/test_recipe.py::test_a_user_named_like_an_address_is_not_that_address",
        f"{_PLAIN}::test_an_anonymous_user_is_missing_whatever_his_key_says",
    ),
    "braces": (f"{_WORST}::test_each_client_has_a_count_of_its_own_and_no_client_two",),
    "a key is bounded": ("identity/test_recipe.py::test_any_header_makes_a_short_key_and_no_error",),
    "NUL, CR, LF and tab: no header and no line of the log": (
        f"{_WORST}::test_each_client_has_a_count_of_its_own_and_no_client_two",
        f"{_WORST}::test_a_view_that_passes_them_on_is_answered",
    ),
    "NFC, NFD, case and blanks are one client where the rule says so": (
        "identity/test_sent_fields.py::test_where_the_rule_says_normalise_spellings_are_one_client",
        "identity/test_normalise.py::test_case_blanks_and_the_form_of_letters_make_no_other_client",
    ),
    "a field that is missing or empty": (f"{_BODY}::test_a_field_that_is_absent_or_empty_is_missing",),
    "a field that is sent twice": (
        "identity/test_sent_fields.py::test_of_what_is_sent_twice_what_a_view_sees_counts",
        f"{_BODY}::test_of_a_field_that_is_sent_twice_the_last_counts_which_is_what_a_view_sees",
    ),
    "a thousand random API keys from one address": (
        f"{_PLAIN}::test_a_thousand_made_up_api_keys_are_bounded_by_a_rule_for_the_address_beside_theirs",
        "checks/test_rows.py::test_a_rule_by_what_clients_choose_alone_is_a_warning",
    ),
    "a login as JSON under another type, or as a form": (
        f"{_BODY}::test_one_key_reads_a_login_that_a_view_takes_as_a_form_and_as_json",
    ),
    "an empty user name must not lock everybody out": (f"{_PLAIN}::test_an_empty_user_name_locks_nobody_else_out",),
    "a session's cookie that is made up": (
        f"{_PLAIN}::test_making_up_a_cookie_each_time_is_no_new_client_each_time",
        f"{_PLAIN}::test_dropping_the_cookie_each_time_is_no_new_client_each_time",
    ),
    "a flood of paths that are not there: no row for each": (
        f"{_METHODS}::test_a_flood_of_paths_that_are_not_there_grows_neither_redis_nor_the_database",
        f"{_PLAIN}::test_a_flood_of_paths_that_lead_nowhere_makes_one_key",
    ),
}

RULES_AND_PAGES: dict[str, tuple[str, ...]] = {
    "`(a+)+$`": (
        "rules/test_regex.py::test_the_pattern_that_hangs_other_engines_reads_a_long_text_once",
        "rules/test_regex.py::test_without_google_re2_the_line_to_install_it_is_told",
    ),
    "expressions that are too large, or too many, or take too long": (
        "rulebook/test_reading.py::test_expressions_that_are_too_much_together_cost_no_other_rule_anything",
        "rules/test_regex.py::test_a_pattern_that_is_too_large_is_named_with_what_to_write",
        "rules/test_regex.py::test_free_patterns_that_are_taken_one_by_one_are_together_no_more_work_than_one_path_may_be",
        "rules/test_regex.py::test_the_worst_paths_that_a_search_found_take_milliseconds",  # by `make faults`: it measures time
        "rules/test_regex.py::test_a_process_grows_by_few_megabytes_whatever_the_patterns",
        f"{_RULES}::test_a_regular_expression_is_tried_with_the_others_and_one_left_out_says_so_at_its_row",
    ),
    "limit 0, -1, 1e18, 1.5, NaN; period 0, -1, 1e12": (
        f"{_RULES}::test_an_error_names_value_and_remedy_and_loses_nothing_that_was_typed",
        f"{_RULES}::test_a_limit_of_zero_is_taken",
        f"{_NUMBERS}::test_a_limit_of_zero_refuses_all_and_says_so",
        f"{_NUMBERS}::test_a_limit_that_is_none",
        f"{_NUMBERS}::test_a_period_that_is_none",
        f"{_NUMBERS}::test_a_rate_that_is_none",
        f"{_NUMBERS}::test_a_field_of_another_kind_is_named_and_nothing_is_saved",
    ),
    "`10/week` is a week": (f"{_NUMBERS}::test_a_week_is_a_week_wherever_a_rate_is_written",),
    "`10/parsec` is an error": (
        f"{_NUMBERS}::test_a_rate_that_is_none",
        "limiter/test_rates.py::test_anything_else_is_named_with_the_remedy",
    ),
    "a rule that locks the admin out of /admin/": (
        f"{_LOCKOUT}::test_nothing_is_saved_before_they_say_that_they_know",
        "management/subcommands/test_mode.py::test_a_rule_that_locks_everybody_out_is_undone_from_the_command_line",
    ),
    "staff that may only look": (
        f"{_PAGES}::test_staff_that_may_only_look_is_forbidden_every_change",
        f"{_PAGES}::test_nor_does_any_action_of_a_list_run_for_them",
        f"{_PERMISSIONS}::test_they_cannot_save_add_or_delete",
    ),
    "every change is a POST with a token": (
        f"{_PAGES}::test_looking_at_any_page_changes_nothing_whatever_its_address_says",
        f"{_PAGES}::test_no_page_takes_a_post_without_a_token",
    ),
    "markup as identity, reason, description, message and rule": (
        f"{_BROWSER}::test_markup_that_people_and_clients_wrote_runs_nowhere",
        f"{_OVERRIDES}::test_what_people_wrote_is_shown_and_not_run",
        f"{_LIST}::test_what_people_wrote_is_shown_and_not_run",
        f"{_REPORT}::test_nothing_stored_is_ever_markup",
        "request/test_refusal.py::test_a_rules_message_is_read_in_every_form_and_run_in_none",
    ),
    "CR, LF and other letters in the name of a rule": (
        f"{_WORST}::test_as_the_name_of_a_rule",
        "models/test_rules.py::test_any_other_name_is_refused",
        "request/test_refusal.py::test_a_name_that_only_raw_sql_can_write_reaches_neither_header_nor_log",
    ),
    "filters and search on a million rows": (
        f"{_PAGES}::test_a_list_of_many_rows_is_a_page_of_them_for_as_few_questions_as_one_of_few",
    ),
    "cells of CSV that begin with = + - @ or a tab": ("admin/report/test_export.py::test_no_cell_begins_as_a_formula_does",),
    "webhooks of alerts to addresses within": (
        "contrib/alerts/test_models.py::test_a_webhook_to_an_internal_address_is_refused_when_it_is_saved",
        "contrib/alerts/test_public_addresses.py::test_what_is_internal_reserved_or_leads_there_is_not_public",
        "contrib/alerts/test_webhook.py::test_the_guard_refuses_loopback_by_itself",
        "contrib/alerts/test_webhook.py::test_redirects_are_not_followed",
    ),
    "a release in the admin without the right to it": (
        "admin/overrides/test_release_page.py::test_it_needs_its_own_permission",
        f"{_PAGES}::test_staff_that_may_only_look_is_forbidden_every_change",
    ),
    "an export in the admin without the right to it": (
        "admin/report/test_export.py::test_it_takes_both_permissions_and_masks_identities_without_a_third",
    ),
}

ITEMS = {**ADDRESS, **SERVED, **IDENTITY, **RULES_AND_PAGES}

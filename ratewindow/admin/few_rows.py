"""Lists that find the few rows that a search or a filter leaves by one walk, where Django counts, and then walks again."""

from collections.abc import Sequence
from typing import Any

from django.contrib.admin.views.main import ALL_VAR, ORDER_VAR, PAGE_VAR, ChangeList
from django.core.paginator import Paginator
from django.http import HttpRequest

MOST = 500
UNFILTERED = {ORDER_VAR, PAGE_VAR, ALL_VAR}  # query parameters that leave out no rows


class FewPaginator(Paginator):  # type: ignore[type-arg]
    """`few` are all rows, in no order, if they are few; None if there are more, or if all rows of the table are listed."""

    few: Sequence[Any] | None = None

    def __init__(self, request: HttpRequest, rows: Any, per_page: int) -> None:
        super().__init__(rows, per_page)
        if ORDER_VAR not in request.GET and not request.GET.keys() <= UNFILTERED:
            found = list(rows.order_by()[: MOST + 1])
            if len(found) <= MOST:
                self.few, self.count = found, len(found)


class FewChangeList(ChangeList):
    """Of a model admin whose paginator is a `FewPaginator`."""

    def get_results(self, request: HttpRequest) -> None:
        super().get_results(request)
        if self.paginator.few is not None:
            in_order = self.sorted_rows(self.paginator.few)
            begin = (self.page_num - 1) * self.list_per_page
            shows_all = self.show_all and self.can_show_all
            self.result_list: Any = in_order if shows_all else in_order[begin : begin + self.list_per_page]

    def sorted_rows(self, rows: Sequence[Any]) -> Sequence[Any]:
        raise NotImplementedError

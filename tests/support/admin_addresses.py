"""The pages that the admin of this app has, found by itself."""

from django.contrib import admin
from django.urls import URLPattern, reverse

# Addresses that end so take no GET.
POSTED_TO = tuple(f"/{name}/" for name in "end mode preview test".split())


def addresses() -> list[str]:
    """Every address that the admin of this app has."""
    found: list[str] = [reverse("admin:app_list", args=["ratewindow"])]
    for model, of_model in admin.site._registry.items():
        if model._meta.app_label != "ratewindow":
            continue
        for pattern in of_model.get_urls():
            if isinstance(pattern, URLPattern) and pattern.name and not pattern.name.endswith("_export"):  # which is a file
                first = model._default_manager.order_by("pk").first()
                assert first is not None
                arguments = [str(first.pk), "before"][: pattern.pattern.regex.groups]  # the second: what an edit restores
                found.append(reverse(f"admin:{pattern.name}", args=arguments))
    return list(dict.fromkeys(found))

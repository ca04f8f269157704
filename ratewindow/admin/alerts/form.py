"""The form of an alert channel, which shows the secret of its webhook once: before the channel is saved."""

from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from ratewindow.models import AlertChannel


class ChannelForm(forms.ModelForm):  # type: ignore[type-arg]
    class Meta:
        model = AlertChannel
        fields = "__all__"  # noqa: DJ007  # those of the admin's fieldsets
        help_texts = {
            "secret": _(
                "Signs what is sent, so that the receiver can check it. Copy it to the receiver now: it is not shown again. "
                "The database has it in plain text."
            )
        }

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if self.instance._state.adding or "secret" not in self.fields:
            return
        secret = self.fields["secret"]
        secret.required, self.initial["secret"] = False, ""
        secret.show_hidden_initial = False  # which Django does for fields with a function as their default
        secret.widget = forms.PasswordInput({"class": "vTextField", "autocomplete": "new-password"})
        secret.help_text = _(
            "Signs what is sent, so that the receiver can check it. Leave empty to keep the present one, which is not shown; "
            "enter another one to replace it. The database has it in plain text."
        )

    def clean_secret(self) -> str:
        secret: str = self.cleaned_data["secret"] or self.instance.secret
        return secret

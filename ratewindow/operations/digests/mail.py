"""A digest as a mail: plain text, HTML with its pictures inside, and the numbers as CSV."""

import io
from collections.abc import Iterator, Sequence
from email.message import Message, MIMEPart
from email.mime.image import MIMEImage
from email.mime.multipart import MIMEMultipart
from typing import Any

import django
from django.core.mail import EmailMultiAlternatives
from django.template.loader import render_to_string
from django.utils.translation import get_language, get_language_bidi, gettext, ngettext

from ratewindow.operations.digests.content import Digest
from ratewindow.operations.digests.picture import PASSED, REFUSED, WOULD_REFUSE, bars
from ratewindow.operations.digests.plain_text import plain_text
from ratewindow.operations.digests.spans import DAILY
from ratewindow.overrides.subjects import masked
from ratewindow.reporting.export import PARTS, file_name, write
from ratewindow.reporting.reading import Reading
from ratewindow.reporting.summary import number

PICTURE = "report@ratewindow"  # its Content-ID
_WIDTH, _HEIGHT = 1200, 320  # twice what is shown, for fine displays
MOST_BYTES = 2_000_000  # of a file; a larger one is left in the report


class DigestMail(EmailMultiAlternatives):
    """Its pictures stand beside the HTML that shows them, where all mail clients find them."""

    def message(self, *arguments: Any, **options: Any) -> Any:
        made: Message = super().message(*arguments, **options)
        if not self.attachments:
            return made
        bodies, *rest = _parts(made)
        text, html = _parts(bodies)
        pictures = [each for each in rest if each["Content-ID"]]
        bodies.set_payload([text, MIMEMultipart("related", None, [html, *pictures], type="text/html")])
        made.set_payload([bodies, *(each for each in rest if each not in pictures)])
        return made


def mail(digest: Digest, reading: Reading, to: Sequence[str], test: bool) -> DigestMail:
    subject = gettext("Rate limits, %(period)s: %(summary)s") % {"period": digest.short_title, "summary": digest.summary}
    files = list(_files(reading))
    about = _about(digest, files, test)
    context = {"digest": digest, "picture": PICTURE, "about": about, **_chart(digest)}
    made = DigestMail(
        " ".join(subject.split())[:200],
        plain_text(digest, about),
        None,
        list(to),
        headers={"Auto-Submitted": "auto-generated"},  # so that nobody's absence is answered
    )
    made.attach_alternative(render_to_string("ratewindow/digest.html", context), "text/html")
    if context["keys"]:
        made.attach(_inline(_picture(digest)))
    for name, content in files:
        if len(content) <= MOST_BYTES:
            made.attach(name, content, "text/csv")
    return made


def _parts(message: Any) -> list[Message]:
    return list(message.get_payload())


def _inline(png: bytes) -> MIMEPart | MIMEImage:
    if django.VERSION < (6, 0):
        image = MIMEImage(png, "png")
        image["Content-ID"] = f"<{PICTURE}>"
        image["Content-Disposition"] = "inline"
        return image
    part = MIMEPart()
    part.set_content(png, "image", "png", disposition="inline", cid=f"<{PICTURE}>")
    return part


def _picture(digest: Digest) -> bytes:
    columns = zip(digest.chart["passed"], digest.chart["would_refuse"], digest.chart["refused"], strict=True)
    painted = [((PASSED, passed - would), (WOULD_REFUSE, would), (REFUSED, refused)) for passed, would, refused in columns]
    return bars(painted, _WIDTH, _HEIGHT)


def _chart(digest: Digest) -> dict[str, Any]:
    """What stands around the picture as text."""
    chart = digest.chart
    sums = [passed + refused for passed, refused in zip(chart["passed"], chart["refused"], strict=True)]
    ticks = min(len(sums), 4 if digest.span.kind == DAILY else 7)
    return {
        "height": bar_height(chart["step"], max(sums, default=0)),
        "ticks": [chart["short"][len(sums) * tick // ticks] for tick in range(ticks)],
        "tick_width": 100 // max(1, ticks),
        "keys": [(name, label) for name, label in _keys() if any(chart[name])],
        "language": get_language() or "en",
        "direction": "rtl" if get_language_bidi() else "ltr",
        "side": "right" if get_language_bidi() else "left",
        "other_side": "left" if get_language_bidi() else "right",
    }


def _keys() -> Iterator[tuple[str, str]]:
    yield "passed", gettext("Passed")
    yield "would_refuse", gettext("Would refuse")
    yield "refused", gettext("Refused")


def bar_height(step_s: int, most: int) -> str:
    if step_s % 3600:
        minutes = step_s // 60
        text = ngettext(
            "Each bar is %(step)d minute, the highest is %(most)s.",
            "Each bar is %(step)d minutes, the highest is %(most)s.",
            minutes,
        )
        return text % {"step": minutes, "most": number(most)}
    hours = step_s // 3600
    text = ngettext(
        "Each bar is %(step)d hour, the highest is %(most)s.",
        "Each bar is %(step)d hours, the highest is %(most)s.",
        hours,
    )
    return text % {"step": hours, "most": number(most)}


def _files(reading: Reading) -> Iterator[tuple[str, str]]:
    """As the report exports them, masked."""
    for name, part in PARTS.items():
        file = io.StringIO()
        write(file, part, reading, masked)
        yield file_name(reading, name, "csv"), file.getvalue()


def _about(digest: Digest, files: Sequence[tuple[str, str]], test: bool) -> list[str]:
    """What the mail is, and how to change it."""
    lines = [
        gettext("Times are in %(zone)s. Clients are masked.") % {"zone": digest.zone},
        *([digest.against] if digest.against else []),
    ]
    for name, content in files:
        if len(content) > MOST_BYTES:
            lines.append(gettext("%s is too large for a mail: export it from the report.") % name)
    said = gettext("This is the digest of the alert channel %s. It is set up in the admin, Rate limits › Alert channels.")
    lines.append(said % digest.channel)
    if test:
        lines.append(gettext("Somebody has asked for it there; the regular ones come all the same."))
    return lines

"""How many clients were refused, in words."""

from django.utils.text import capfirst
from django.utils.translation import gettext, ngettext

from ratewindow.reporting.offenders import HowMany, Name, Offenders
from ratewindow.reporting.summary import number


def clients(many: HowMany) -> str:
    """``"1 client"``, ``"at least 1,000 clients"``."""
    if many.exact:
        text = ngettext("%(count)s client", "%(count)s clients", many.number)
    else:
        text = ngettext("at least %(count)s client", "at least %(count)s clients", many.number)
    return text % {"count": number(many.number)}


def of_several(name: Name) -> str:
    """``"2 clients"`` of an address, ``"network, 9 clients"`` of a network."""
    return clients(name.clients) if name.network else gettext("network, %s") % clients(name.clients)


def in_a_sentence(found: Offenders) -> str:
    """``"3 clients were refused, 1 of them signed in. 9 clients would have been refused."``"""
    sentences = []
    if many := found.refused:
        text = ngettext("%(clients)s was refused%(signed_in)s.", "%(clients)s were refused%(signed_in)s.", many.number)
        sentences.append(_filled(text, many, found.refused_signed_in))
    if many := found.would_refuse:
        text = ngettext(
            "%(clients)s would have been refused%(signed_in)s.", "%(clients)s would have been refused%(signed_in)s.", many.number
        )
        sentences.append(_filled(text, many, found.would_refuse_signed_in))
    return " ".join(sentences)


def _filled(text: str, many: HowMany, signed_in: HowMany) -> str:
    of_them = ""
    if signed_in:
        of_them = gettext(", %s of them signed in") if signed_in.exact else gettext(", at least %s of them signed in")
        of_them %= number(signed_in.number)
    return capfirst(text % {"clients": clients(many), "signed_in": of_them})

"""The site by ASGI."""

from django.core.asgi import get_asgi_application

from conformance.site import peer

application = peer.asgi(get_asgi_application())

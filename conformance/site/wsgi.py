"""The site by WSGI."""

from django.core.wsgi import get_wsgi_application

from conformance.site import peer

application = peer.wsgi(get_wsgi_application())

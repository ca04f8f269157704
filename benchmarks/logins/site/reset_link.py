"""Tells the link that the victim would get by mail, to reset the password."""

import json

import django


def main() -> None:
    django.setup()
    from django.contrib.auth import get_user_model
    from django.contrib.auth.tokens import default_token_generator
    from django.utils.encoding import force_bytes
    from django.utils.http import urlsafe_base64_encode

    from benchmarks.logins.site.names import VICTIM

    user = get_user_model().objects.get(username=VICTIM)
    uid, token = urlsafe_base64_encode(force_bytes(user.pk)), default_token_generator.make_token(user)
    print(json.dumps(f"/reset/{uid}/{token}/"))


if __name__ == "__main__":
    main()

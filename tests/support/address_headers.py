"""Headers in which some proxy or other tells an address, and which a client may send itself."""

NAMES = """CF-Connecting-IP CF-Connecting-IPv6 CF-Pseudo-IPv4 True-Client-IP X-Real-IP Forwarded Forwarded-For X-Forwarded
X-Client-IP Client-IP X-Cluster-Client-IP X-ProxyUser-IP Fastly-Client-IP X-Originating-IP X-Remote-IP X-Remote-Addr X-Host Via
Remote-Addr X-Azure-ClientIP X-Azure-SocketIP X-Envoy-External-Address X-Appengine-User-IP X-Appengine-Remote-Addr
Fly-Client-IP X-Nf-Client-Connection-Ip Do-Connecting-Ip X-Original-Forwarded-For X-Forwarded-For-Original X-Coming-From
WL-Proxy-Client-IP Proxy-Client-IP X-Sucuri-ClientIP Ali-CDN-Real-IP Incap-Client-IP""".split()

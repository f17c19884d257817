// A real SAML 2.0 identity provider (samlp) over TLS on loopback. It signs in ana@acme.example at once.
// Usage: node provider.mjs TLS_KEY.pem TLS_CERT.pem PORT SIGNING_KEY.pem SIGNING_CERT.pem POST_BACK_URL [SIGNS]:
// prints "ready" when it listens. Its sign-in page is /sso. SIGNS is assertion, response or both. POST /groups?A,B puts the user
// into these groups, which its attribute http://schemas.passportjs.com/groups names.
import { readFileSync } from 'node:fs';
import { createServer } from 'node:https';
import samlp from 'samlp';

const [tlsKey, tlsCert, port, key, cert, postBack, signs = 'assertion'] = process.argv.slice(2);
const user = {
  id: 'u-4711',
  displayName: 'Ana Lima',
  name: { givenName: 'Ana', familyName: 'Lima' },
  emails: [{ value: 'ana@acme.example' }],
};
let groups;
const signIn = samlp.auth({
  issuer: 'https://idp.example.com/metadata',
  key: readFileSync(key),
  cert: readFileSync(cert),
  // What an administrator enters at the provider; samlp takes the entity id for both otherwise.
  destination: postBack,
  recipient: postBack,
  signAssertion: signs !== 'response',
  signResponse: signs !== 'assertion',
  signatureAlgorithm: 'rsa-sha256',
  digestAlgorithm: 'sha256',
  getUserFromRequest: () => (groups ? { ...user, groups } : user),
  getPostURL: (_audience, _request, _req, callback) => callback(null, postBack),
});

createServer({ key: readFileSync(tlsKey), cert: readFileSync(tlsCert) }, (req, res) => {
  const url = new URL(req.url, `https://localhost:${port}`);
  if (req.method === 'POST' && url.pathname === '/groups') {
    groups = decodeURIComponent(url.search.slice(1)).split(',');
    res.end('changed\n');
    return;
  }
  if (url.pathname !== '/sso') {
    res.writeHead(404).end();
    return;
  }
  // What samlp expects of express.
  req.query = Object.fromEntries(url.searchParams);
  req.body = {};
  res.set = (name, value) => res.setHeader(name, value);
  res.send = (body) => res.end(body);
  signIn(req, res, (error) => res.writeHead(400).end(String(error)));
}).listen(Number(port), '127.0.0.1', () => console.log('ready'));

// A real OpenID provider (oidc-provider) that signs in whom its form names, for tests/system/sign_in_test.py.
// Usage: node sign_in_provider.mjs KEY.pem CERT.pem PORT REDIRECT_URIS [ISSUER]: prints "ready" when it listens.
// REDIRECT_URIS: with spaces between. ISSUER: its own address by default. The account "rose" has the address
// rose@acme.com. POST /rotate makes a new signing key; POST /groups?A,B puts the accounts into these groups, which the
// userinfo endpoint names.
import { generateKeyPairSync } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:https';
import Provider from 'oidc-provider';

const [key, cert, port, redirectUris, issuer] = process.argv.slice(2);
let kid = 0;
let groups;
function makeProvider() {
  const signing = generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey.export({ format: 'jwk' });
  kid += 1;
  return new Provider(issuer ?? `https://localhost:${port}`, {
    clients: [{ client_id: 'giftsync', client_secret: 'hush hush+%', redirect_uris: redirectUris.split(' ') }],
    claims: { openid: ['sub'], profile: ['name', 'groups'], email: ['email', 'email_verified'] },
    cookies: { keys: ['a key of this test'] },
    features: { devInteractions: { enabled: true } },
    findAccount: (context, id) => ({
      accountId: id,
      claims: () => ({ sub: id, name: 'Rose', email: `${id}@acme.com`, email_verified: true, groups }),
    }),
    jwks: { keys: [{ ...signing, kid: `k${kid}`, use: 'sig' }] },
    pkce: { required: () => true, methods: ['S256'] },
  });
}
let callback = makeProvider().callback();
createServer({ key: readFileSync(key), cert: readFileSync(cert) }, (request, response) => {
  if (request.method === 'POST' && request.url === '/rotate') {
    callback = makeProvider().callback();
    response.end('rotated\n');
    return;
  }
  if (request.method === 'POST' && request.url.startsWith('/groups?')) {
    groups = decodeURIComponent(request.url.slice('/groups?'.length)).split(',');
    response.end('changed\n');
    return;
  }
  callback(request, response);
}).listen(Number(port), '127.0.0.1', () => console.log('ready'));

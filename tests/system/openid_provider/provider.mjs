// A real OpenID provider (oidc-provider) over TLS on loopback, for tests/system/sso_test.py.
// Usage: node provider.mjs KEY.pem CERT.pem PORT [ISSUER]: prints "ready" when it listens. ISSUER
// defaults to its own address.
import { generateKeyPairSync } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:https';
import Provider from 'oidc-provider';

const [key, cert, port, issuer] = process.argv.slice(2);
const signing = generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey.export({ format: 'jwk' });
const provider = new Provider(issuer ?? `https://localhost:${port}`, {
  clients: [{ client_id: 'giftsync', client_secret: 'hush-hush', redirect_uris: ['https://login.example.com/login/callback'] }],
  cookies: { keys: ['a key of this test'] },
  jwks: { keys: [{ ...signing, kid: 'k1', use: 'sig' }] },
});
createServer({ key: readFileSync(key), cert: readFileSync(cert) }, provider.callback())
  .listen(Number(port), '127.0.0.1', () => console.log('ready'));

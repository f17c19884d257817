// What one would script instead of giftsync: POST /api/v1/gift_requests with fastify, and better-sqlite3 or pg. It checks key,
// body and item and writes the daemon's own rows durably before it answers; it mails and syncs nothing.
//
//   node server.mjs sqlite|postgresql usual|tuned DATABASE PORT
import { createHash } from 'node:crypto';

import fastify from 'fastify';

const [backend, way, database, port] = process.argv.slice(2);
const store = (await import(`./${backend}.mjs`))[way](database);
const server = fastify();

const text = (maxLength) => ({ type: 'string', maxLength });
const schema = {
  body: {
    type: 'object',
    required: ['gift_id', 'recipients'],
    properties: {
      gift_id: { type: 'integer', minimum: 1 },
      recipients: {
        type: 'array',
        minItems: 1,
        maxItems: 1,
        items: {
          type: 'object',
          required: ['email', 'message', 'gift_redeem_type'],
          properties: {
            email: { type: 'string', format: 'email', maxLength: 254 },
            first_name: text(255),
            last_name: text(255),
            message: text(10000),
            gift_redeem_type: { const: 'email' },
          },
        },
      },
    },
  },
};

server.post('/api/v1/gift_requests', { schema }, async (request, reply) => {
  const key = (request.headers.authorization ?? '').replace(/^Bearer /, '');
  const caller = await store.caller(createHash('sha256').update(key).digest('hex'));
  if (!caller) return reply.code(401).send({ code: 'refused_api_key' });
  const item = await store.item(request.body.gift_id);
  if (!item) return reply.code(400).send({ code: 'unknown_gift' });
  const [recipient] = request.body.recipients;
  const id = await store.create(caller, item, recipient);
  return reply.code(201).send({
    message: 'Gift request created.',
    data: { id, recipients: [{ recipient_transaction_id: id, email: recipient.email, status: 'sent' }] },
    warnings: [],
  });
});

await server.listen({ host: '127.0.0.1', port: Number(port) });
console.log('ready');
process.on('SIGTERM', () => process.exit(0));

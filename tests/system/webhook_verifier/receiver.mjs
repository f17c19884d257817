// Takes events of giftsync as far as npm's standardwebhooks verifies them: WEBHOOK_SECRET=whsec_... node receiver.mjs PORT
import { createServer } from "node:http";
import { Webhook } from "standardwebhooks";

const webhook = new Webhook(process.env.WEBHOOK_SECRET);

createServer(async (request, response) => {
  const parts = [];
  for await (const part of request) parts.push(part);
  try {
    const event = webhook.verify(Buffer.concat(parts).toString(), request.headers);
    console.log(JSON.stringify(event));
    response.writeHead(204).end();
  } catch (fault) {
    response.writeHead(401).end(fault.message);
  }
}).listen(Number(process.argv[2]), "127.0.0.1");

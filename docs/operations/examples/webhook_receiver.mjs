// Takes events of giftsync and verifies them (Standard Webhooks 1.0.0):
//   WEBHOOK_SECRET=whsec_... node webhook_receiver.mjs PORT
import { createHmac, timingSafeEqual } from "node:crypto";
import { createServer } from "node:http";

const key = Buffer.from(process.env.WEBHOOK_SECRET.replace(/^whsec_/, ""), "base64");
// Keep both in your database, together with what you make of the events.
const seen = new Set(); // the ids of events that were taken
const newest = new Map(); // the version of each gift that was taken last

function isGenuine(headers, body) {
  const stamp = headers["webhook-timestamp"] ?? "";
  if (!/^\d+$/.test(stamp) || Math.abs(Date.now() / 1000 - Number(stamp)) > 300) return false;
  const wanted = createHmac("sha256", key).update(`${headers["webhook-id"]}.${stamp}.`).update(body).digest();
  return (headers["webhook-signature"] ?? "").split(" ").some((one) => {
    const found = Buffer.from(one.replace(/^v1,/, ""), "base64");
    return one.startsWith("v1,") && found.length === wanted.length && timingSafeEqual(found, wanted);
  });
}

createServer(async (request, response) => {
  const parts = [];
  for await (const part of request) parts.push(part);
  const body = Buffer.concat(parts);
  const genuine = isGenuine(request.headers, body);
  if (genuine) {
    const event = JSON.parse(body);
    const gift = event.data.gift;
    const isRepeated = seen.has(request.headers["webhook-id"]);
    seen.add(request.headers["webhook-id"]);
    // Events of one gift may have the same version: the id alone shows a repeat.
    if (!isRepeated && (!gift || gift.version >= (newest.get(gift.recipient_transaction_id) ?? 0))) {
      if (gift) newest.set(gift.recipient_transaction_id, gift.version);
      console.log(JSON.stringify(event)); // your work: only store it here, and answer at once
    }
  }
  response.writeHead(genuine ? 204 : 401).end();
}).listen(Number(process.argv[2]), "127.0.0.1");

// What a caller does, by a client whose types openapi-typescript made from docs/openapi.yaml: sends a gift, reads it, is
// refused, and approves a held request. A member or code that the description lacks does not compile.
import createClient from "openapi-fetch";
import type { components, paths } from "./api.js";

declare const process: { argv: string[] };
const [baseUrl, key, approverKey] = process.argv.slice(2);
const sender = createClient<paths>({ baseUrl, headers: { Authorization: key } });
const approver = createClient<paths>({ baseUrl, headers: { Authorization: `Bearer ${approverKey}` } });

function expect(what: string, found: unknown, wanted: unknown): void {
  if (found !== wanted) throw new Error(`${what}: found ${JSON.stringify(found)}, wanted ${JSON.stringify(wanted)}`);
}

function to(email: string): components["schemas"]["RecipientByEmail"] {
  return { email, message: "Thank you!", gift_redeem_type: "email" };
}

async function send(emails: string[]) {
  const headers = { "Idempotency-Key": emails.join() };
  return sender.POST("/api/v1/gift_requests", { params: { header: headers }, body: { gift_id: 7, recipients: emails.map(to) } });
}

async function stateOf(id: number) {
  const { data } = await sender.GET("/api/v1/gift_requests/{id}", { params: { path: { id } } });
  return data?.data;
}

const sent = await send(["ada@example.com"]);
expect("the status of a gift", sent.response.status, 201);
const id = sent.data!.data.id;
expect("a repeat", (await send(["ada@example.com"])).data?.data.id, id);
const read = await stateOf(id);
expect("its state", read?.state, "sent");
expect("its recipient", read?.recipients[0]?.email, "ada@example.com");

// @ts-expect-error: gift_id is missing.
const refused = await sender.POST("/api/v1/gift_requests", { body: { recipients: [to("ada@example.com")] } });
const problem: components["schemas"]["Problem"] | undefined = refused.error;
expect("the code of a refusal", problem?.code, "invalid");
expect("its fault", problem?.errors?.[0]?.code satisfies components["schemas"]["Fault"]["code"] | undefined, "missing");

const two = await send(["kim@example.com", "lee@example.com"]);
expect("the status of two gifts", two.response.status, 202);
const held = await approver.GET("/api/v1/held_requests", { params: { query: { state: "held" } } });
expect("held requests", held.data?.data.map((one) => one.id).join(), String(two.data!.data.id));
const path = { id: held.data!.data[0]!.id };
const review = await approver.GET("/api/v1/held_requests/{id}", { params: { path } });
expect("its recipients", review.data?.data.recipients.length, 2);
const approve = (version: string) =>
  approver.POST("/api/v1/held_requests/{id}/approve", { params: { path, header: { "If-Match": version } }, body: { comment: "As agreed." } });
expect("the code of another version", (await approve('"other"')).error?.code, "content_changed");
expect("the decision", (await approve(review.response.headers.get("ETag")!)).data?.data.state, "sent");
expect("the state after it", (await stateOf(path.id))?.state, "sent");
console.log("done");

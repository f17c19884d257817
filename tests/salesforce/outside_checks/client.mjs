// node client.mjs URL: jsforce, a client that knows Salesforce, works with the fake org at URL as with a real one.
import assert from "node:assert/strict";
import jsforce from "jsforce";

const url = process.argv[2];
const admin = async (what, body) => (await fetch(`${url}/__org/${what}`, { method: "POST", body: JSON.stringify(body) })).json();
const { id: user } = await admin("users", { username: "integration@example.com", permission_set: "giftsync_Integration" });
await admin("sql", { sql: `INSERT INTO org_session (token, user_id, ends_at) VALUES ('token', '${user}', ${Date.now() + 1e8})` });
const org = new jsforce.Connection({ instanceUrl: url, accessToken: "token", version: "62.0", maxRequest: 1 });
const gift = (id, more = {}) => ({ RecipientTransactionId__c: id, Name: `Gift ${id}`, Record_Version__c: 1, ...more });

// Rows of a Collections call, in their order; a second one with the same key names the first one's record.
const made = await org.sobject("Gift_Record__c").create([gift(1), gift(2)]);
assert.deepEqual(made.map((row) => row.success), [true, true]);
const [again] = await org.sobject("Gift_Record__c").create([gift(1)]);
assert.equal(again.success, false);
assert.equal(again.errors[0].statusCode, "DUPLICATE_VALUE");
assert.match(again.errors[0].message, new RegExp(made[0].id.slice(0, 15)));

// Upserts say what they did; the package's rule refuses an older version.
const upserts = await org.sobject("Gift_Record__c").upsert([gift(2, { Record_Version__c: 5 }), gift(3)], "RecipientTransactionId__c");
assert.deepEqual(upserts.map((row) => row.created), [false, true]);
const [older] = await org.sobject("Gift_Record__c").update([{ Id: made[1].id, Record_Version__c: 4 }]);
assert.equal(older.errors[0].statusCode, "FIELD_CUSTOM_VALIDATION_EXCEPTION");
assert.match(older.errors[0].message, /GIFTSYNC:OLDER/);

// Pages are followed to the end; refusals have Salesforce's shape.
const many = Array.from({ length: 2200 }, (_, i) => gift(i + 100));
for (let i = 0; i < many.length; i += 200) await org.sobject("Gift_Record__c").create(many.slice(i, i + 200));
const found = await org.query("SELECT Id FROM Gift_Record__c", { autoFetch: true, maxFetch: 10000 });
assert.equal(found.records.length, 2203);
await assert.rejects(org.query("SELECT Nothing__c FROM Gift_Record__c"), { errorCode: "INVALID_FIELD" });

// Descriptions and the use of calls.
const description = await org.sobject("Gift_Record__c").describe();
const key = description.fields.find((field) => field.name === "RecipientTransactionId__c");
assert.ok(key.externalId && key.unique && key.idLookup);
assert.ok(org.limitInfo.apiUsage.used > 0);
assert.equal(org.limitInfo.apiUsage.limit, 15000);
console.log("jsforce works with the fake org");

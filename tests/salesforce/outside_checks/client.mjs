// node client.mjs URL [RECORDED]: jsforce, a client that knows Salesforce, works with the fake org at URL as with a real one.
// Its answers are compared with those of real orgs in the folder RECORDED, where it is given.
import assert from "node:assert/strict";
import { createPrivateKey, createSign, generateKeyPairSync } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import jsforce from "jsforce";

const [url, folder] = process.argv.slice(2);
const admin = async (what, body, method = "POST") =>
  (await fetch(`${url}/__org/${what}`, { method, body: method === "POST" ? JSON.stringify(body) : undefined })).json();
const recorded = (name) => folder && JSON.parse(readFileSync(join(folder, name), "utf8"));
const equals = (found, name) => folder && assert.deepEqual(found, recorded(name), name);
const keys = (found, name) => folder && assert.deepEqual(Object.keys(found).sort(), Object.keys(recorded(name)).sort(), name);
// The first error as the answer's JSON had it.
const refusal = async (call) => {
  const error = await call.then(() => assert.fail("not refused"), (one) => one);
  return { code: error.errorCode, error, answer: [{ message: error.message, errorCode: error.errorCode }] };
};
const passed = [];
async function check(name, run) {
  await run();
  passed.push(name);
}

const username = "integration@example.com";
const { publicKey, privateKey } = generateKeyPairSync("rsa", { modulusLength: 2048, publicKeyEncoding: { type: "spki", format: "pem" }, privateKeyEncoding: { type: "pkcs8", format: "pem" } });
await admin("users", { username, permission_set: "giftsync_Integration" });
await admin("settings", { consumer_key: "consumer", client_secret: "secret", run_as: username, certificate: publicKey });
const application = (clientSecret = "secret") => new jsforce.OAuth2({ loginUrl: url, clientId: "consumer", clientSecret });
const connection = (more = {}) => new jsforce.Connection({ loginUrl: url, instanceUrl: url, version: "62.0", ...more });
const assertion = (claims) => {
  const part = (value) => Buffer.from(JSON.stringify(value)).toString("base64url");
  const text = `${part({ alg: "RS256" })}.${part({ iss: "consumer", sub: username, aud: "https://login.salesforce.com", exp: Math.floor(Date.now() / 1000) + 120, ...claims })}`;
  return `${text}.${createSign("RSA-SHA256").update(text).sign(createPrivateKey(privateKey), "base64url")}`;
};
const jwt = (claims) => ({ grant_type: "urn:ietf:params:oauth:grant-type:jwt-bearer", assertion: assertion(claims) });

const org = connection({ oauth2: application(), maxRequest: 1 });
await check("tokens by client credentials and by signed assertions", async () => {
  const user = await org.authorize({ grant_type: "client_credentials" });
  assert.match(user.organizationId, /^00D\w{15}$/);
  const other = connection({ oauth2: application() });
  assert.equal((await other.authorize(jwt())).id, user.id);
  assert.equal((await other.query("SELECT Id FROM Organization")).records[0].Id, user.organizationId);
  const wrong = (await refusal(connection({ oauth2: application("wrong") }).authorize({ grant_type: "client_credentials" }))).error;
  assert.deepEqual([wrong.name, wrong.message], ["invalid_client", "invalid client credentials"]);
  const late = (await refusal(connection({ oauth2: application() }).authorize(jwt({ exp: 1 })))).error;
  assert.equal(late.name, "invalid_grant");
});

await check("versions and the use of calls", async () => {
  const versions = await org.request("/services/data");
  if (folder) assert.deepEqual(Object.keys(versions[0]).sort(), Object.keys(recorded("restforce/services_data_success_response.json")[0]).sort());
  assert.ok(versions.some((one) => one.version === "62.0" && one.url === "/services/data/v62.0"));
  assert.equal(org.limitInfo.apiUsage, undefined, "versions are not counted");
  await org.query("SELECT Id FROM Account");
  assert.equal(org.limitInfo.apiUsage.limit, 15000);
  const used = org.limitInfo.apiUsage.used;
  await org.query("SELECT Id FROM Account");
  assert.equal(org.limitInfo.apiUsage.used, used + 1);
  const limits = await org.limits();
  assert.equal(limits.DailyApiRequests.Max, 15000);
  assert.equal(limits.DailyApiRequests.Remaining, 15000 - org.limitInfo.apiUsage.used);
});

await check("single records: create, read, update, delete", async () => {
  const contacts = org.sobject("Contact");
  const made = await contacts.create({ LastName: "Dyer", Email: "dyer@example.com" });
  keys(made, "amp-labs/create-ok.json");
  const read = await contacts.retrieve(made.id);
  assert.deepEqual([read.attributes.type, read.LastName, read.FirstName], ["Contact", "Dyer", null]);
  assert.match(read.LastModifiedDate, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.000\+0000$/);
  assert.deepEqual(Object.keys(await contacts.retrieve(made.id, { fields: ["LastName"] })).sort(), ["Id", "LastName", "attributes"]);
  assert.equal((await contacts.update({ Id: made.id, FirstName: "Ana" })).success, true);
  assert.equal((await contacts.retrieve(made.id)).FirstName, "Ana");
  assert.equal((await contacts.destroy(made.id)).success, true);
  assert.equal((await refusal(contacts.retrieve(made.id))).code, "NOT_FOUND");
  assert.equal((await refusal(contacts.destroy(made.id))).code, "ENTITY_IS_DELETED");
  const gone = await org.query(`SELECT Id, IsDeleted FROM Contact WHERE Id = '${made.id}'`, { scanAll: true });
  assert.equal(gone.records[0].IsDeleted, true);
});

const gift = (id, more = {}) => ({ RecipientTransactionId__c: id, Name: `Gift ${id}`, Record_Version__c: 1, ...more });
const gifts = org.sobject("Gift_Record__c");
let made;
await check("Collections: rows in their order, allOrNone, duplicates, rules", async () => {
  made = await gifts.create([gift(1), gift(2)]);
  assert.deepEqual(made.map((row) => row.success), [true, true]);
  keys(made[0], "amp-labs/create-ok.json");
  const mixed = await gifts.create([gift(1), gift(4)], { allOrNone: false });
  assert.deepEqual(mixed.map((row) => row.success), [false, true]);
  assert.equal(mixed[0].errors[0].statusCode, "DUPLICATE_VALUE");
  assert.match(mixed[0].errors[0].message, new RegExp(`^duplicate value found: .* duplicates value on record with id: ${made[0].id.slice(0, 15)}$`));
  const undone = await gifts.create([gift(1), gift(5)], { allOrNone: true });
  assert.deepEqual(undone.map((row) => row.errors[0].statusCode), ["DUPLICATE_VALUE", "ALL_OR_NONE_OPERATION_ROLLED_BACK"]);
  assert.equal(await gifts.count({ RecipientTransactionId__c: 5 }), 0);
  const [older] = await gifts.update([{ Id: made[1].id, Record_Version__c: 0 }]);
  assert.equal(older.errors[0].statusCode, "FIELD_CUSTOM_VALIDATION_EXCEPTION");
  assert.match(older.errors[0].message, /GIFTSYNC:OLDER/);
  const contacts = await org.sobject("Contact").create([{ FirstName: "S" }, { LastName: "B" }], { allOrNone: true });
  equals(contacts, "amp-labs/batch_create_contacts_partial-but-allOrNone.json");
  // The integration user's permission set does not let it delete gift records.
  assert.equal((await gifts.destroy([mixed[1].id, made[0].id]))[0].errors[0].statusCode, "INSUFFICIENT_ACCESS_OR_READONLY");
  const lima = await org.sobject("Contact").create({ LastName: "Lima" });
  const [deleted, unknown] = await org.sobject("Contact").destroy([lima.id, "001RM000003oLrB000"]);
  assert.equal(deleted.success, true);
  if (folder) assert.deepEqual(unknown.errors, recorded("amp-labs/success-with-errors.json").errors);
  const read = await gifts.retrieve([made[0].id, "a0G5g0000000ZZZEA0"], { fields: ["Name"] });
  assert.deepEqual([read[0].Name, read[1]], ["Gift 1", null]);
});

await check("upserts by the external id, one by one and in Collections", async () => {
  const upserts = await gifts.upsert([gift(2, { Record_Version__c: 5 }), gift(3)], "RecipientTransactionId__c");
  assert.deepEqual(upserts.map((row) => [row.success, row.created]), [[true, false], [true, true]]);
  assert.equal(upserts[0].id, made[1].id);
  const single = await gifts.upsert(gift(2, { Record_Version__c: 6 }), "RecipientTransactionId__c");
  assert.deepEqual([single.id, single.created], [made[1].id, false]);
  const unknown = await refusal(org.sobject("Account").upsert({ Namez: "foo", Name: "Acme" }, "Namez"));
  equals(unknown.answer, "restforce/upsert_error_response.json");
  const { id } = await org.sobject("Contact").create({ LastName: "Lima", Email: "twice@example.com" });
  await org.sobject("Contact").create({ LastName: "Lima", Email: "twice@example.com" });
  const several = (await refusal(org.sobject("Contact").upsert({ LastName: "Diaz", Email: "twice@example.com" }, "Email"))).error;
  assert.equal(several.name, "MULTIPLE_CHOICES");
  assert.equal(several.data.length, 2);
  assert.ok(several.data[0].endsWith(`/sobjects/Contact/${id}`));
});

await check("a composite: references, an error in a part", async () => {
  const data = "/services/data/v62.0";
  const answer = await org.requestPost(`${data}/composite`, {
    allOrNone: false,
    collateSubrequests: false,
    compositeRequest: [
      { method: "POST", url: `${data}/sobjects/Account`, referenceId: "account", body: { Name: "Acme" } },
      { method: "POST", url: `${data}/composite/sobjects`, referenceId: "contacts", body: { allOrNone: false, records: [{ attributes: { type: "Contact" }, LastName: "Dyer", AccountId: "@{account.id}" }] } },
      { method: "GET", url: `${data}/query?q=${encodeURIComponent("SELECT LastName FROM Contact WHERE AccountId = '@{account.id}'").replaceAll("%40%7Baccount.id%7D", "@{account.id}")}`, referenceId: "found" },
      { method: "GET", url: `${data}/sobjects/Foo`, referenceId: "foo" },
    ],
  });
  assert.deepEqual(answer.compositeResponse.map((part) => [part.referenceId, part.httpStatusCode]), [["account", 201], ["contacts", 200], ["found", 200], ["foo", 404]]);
  assert.deepEqual(Object.keys(answer.compositeResponse[0]).sort(), ["body", "httpHeaders", "httpStatusCode", "referenceId"]);
  assert.equal(answer.compositeResponse[2].body.records[0].LastName, "Dyer");
  assert.deepEqual(answer.compositeResponse[3].body, [{ errorCode: "NOT_FOUND", message: "The requested resource does not exist" }]);
});

await check("queries: pages to the end, counts, order, refusals", async () => {
  const many = Array.from({ length: 2200 }, (_, i) => gift(i + 100));
  for (let i = 0; i < many.length; i += 200) await gifts.create(many.slice(i, i + 200));
  const first = await org.query("SELECT Id FROM Gift_Record__c");
  assert.deepEqual([first.totalSize, first.records.length, first.done], [2204, 2000, false]);
  assert.match(first.nextRecordsUrl, /\/services\/data\/v62\.0\/query\/01g\w+-2000$/);
  const rest = await org.queryMore(first.nextRecordsUrl);
  assert.deepEqual([rest.totalSize, rest.records.length, rest.done, rest.nextRecordsUrl], [2204, 204, true, undefined]);
  const all = await org.query("SELECT Id FROM Gift_Record__c", { autoFetch: true, maxFetch: 10000 });
  assert.equal(new Set(all.records.map((record) => record.Id)).size, 2204);
  assert.equal((await org.query("SELECT COUNT() FROM Gift_Record__c")).totalSize, 2204);
  assert.equal((await refusal(org.queryMore("/services/data/v62.0/query/01gRM000001nVOP-2000"))).code, "INVALID_QUERY_LOCATOR");
  const records = await gifts.find({ RecipientTransactionId__c: { $lte: 3 } }).sort({ RecipientTransactionId__c: -1 });
  assert.deepEqual(records.map((record) => record.RecipientTransactionId__c), [3, 2, 1]);
  equals((await refusal(org.query("SELECT Id,Name,BillingCity,IsDeleted FROM Accout"))).answer, "amp-labs/unknown-object.json");
  assert.equal((await refusal(org.query("SELECT Nothing__c FROM Gift_Record__c"))).code, "INVALID_FIELD");
  assert.equal((await refusal(org.query("SELECT Id FROM Contact WHERE"))).code, "MALFORMED_QUERY");
  // jsforce escapes quotes alone; a backslash of the text needs one more.
  const odd = "O'Hara \\ \"quoted\" İstanbul ı 🎁";
  await org.sobject("Contact").create({ LastName: odd });
  assert.equal((await org.sobject("Contact").find({ LastName: odd.replaceAll("\\", "\\\\") })).length, 1);
});

await check("refusals of writes in Salesforce's words", async () => {
  const accounts = org.sobject("Account");
  equals((await refusal(accounts.create({ Name: "A", AccountNumer: "1" }))).answer, "amp-labs/unknown-field.json");
  const { id } = await accounts.create({ Name: "A" });
  const readOnly = await refusal(accounts.update({ Id: id, MasterRecordId: "001000000000001AAA" }));
  if (folder) assert.equal(readOnly.error.message, recorded("amp-labs/invalid-field-upsert.json")[0].message);
  assert.equal(readOnly.code, "INVALID_FIELD_FOR_INSERT_UPDATE");
  equals((await refusal(org.requestPost("/services/data/v62.0/composite/sobjects", { records: [] }))).answer, "amp-labs/batch_create_contacts_err-bad-request.json");
  equals((await refusal(accounts.retrieve("23foo"))).answer, "restforce/sobject_find_error_response.json");
  equals((await refusal(org.sobject("Whizbang").describe())).answer, "restforce/sobject_describe_error_response.json");
});

await check("descriptions", async () => {
  const everything = await org.describeGlobal();
  assert.ok(everything.sobjects.some((object) => object.name === "Gift_Record__c" && object.custom && object.keyPrefix === made[0].id.slice(0, 3)));
  const description = await gifts.describe();
  const key = description.fields.find((field) => field.name === "RecipientTransactionId__c");
  assert.ok(key.externalId && key.unique && key.idLookup);
  const known = folder && recorded("restforce/sobject_describe_success_response.json");
  for (const name of folder ? Object.keys(known.fields[0]) : []) assert.ok(name in key, name);
});

await check("gzip both ways", async () => {
  const { accessToken } = org;
  const body = gzipSync(JSON.stringify({ LastName: "Packed" }));
  const headers = { Authorization: `Bearer ${accessToken}`, "Content-Type": "application/json", "Content-Encoding": "gzip", "Accept-Encoding": "gzip" };
  const answer = await fetch(`${url}/services/data/v62.0/sobjects/Contact`, { method: "POST", headers, body });
  assert.deepEqual([answer.status, answer.headers.get("content-encoding"), answer.headers.get("content-type")], [201, "gzip", "application/json;charset=UTF-8"]);
  assert.equal((await answer.json()).success, true);
  const plain = await fetch(`${url}/services/data/v62.0/sobjects/Contact`, { headers: { Authorization: `Bearer ${accessToken}`, "Accept-Encoding": "identity" } });
  assert.equal(plain.headers.get("content-encoding"), null);
});

await check("a session that ended is renewed once; an unknown one is refused", async () => {
  let renewals = 0;
  const renewing = connection({
    accessToken: org.accessToken,
    refreshFn: async (_, done) => {
      renewals += 1;
      const token = await application().requestToken({ grant_type: "client_credentials" });
      done(null, token.access_token);
    },
  });
  await admin("sessions", null, "DELETE");
  assert.equal((await renewing.query("SELECT Id FROM Organization")).totalSize, 1);
  assert.equal(renewals, 1);
  const refused = await refusal(connection({ accessToken: "no session" }).query("SELECT Id FROM Organization"));
  equals(refused.answer, "restforce/expired_session_response.json");
  assert.equal(refused.code, "INVALID_SESSION_ID");
});

await check("a used up quota", async () => {
  await org.authorize({ grant_type: "client_credentials" });
  await admin("settings", { api_limit: "1" });
  const refused = await refusal(org.query("SELECT Id FROM Organization"));
  assert.deepEqual([refused.code, refused.error.message], ["REQUEST_LIMIT_EXCEEDED", "TotalRequests Limit exceeded."]);
});

for (const name of passed) console.log(`jsforce: ${name}`);
console.log(`jsforce ${jsforce.VERSION ?? ""}: ${passed.length} checks passed${folder ? "" : ", without the recorded answers"}`);
